"""Breaking one guarantee on purpose turns exactly the lines red that speak of it."""

from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

# Without the index the kernel knows neither which files are hard links, nor which upper layer is
# in use, nor which image it belongs to; the power-loss writer sees the links break as well.
INDEX_OFF = {
    "rootfs.options",
    "rootfs.hard-links",
    "conflict.second-mount",
    "conflict.other-image",
    "power.cuts",
    "power.flushes",
}
# Where fsync does nothing, what was acknowledged is lost; and such a mount cannot be repeated.
VOLATILE = {"power.cuts", "power.flushes", "conflict.other-image"}
# What capabilities and the user namespace do not stop; which address families there are besides
# depends on the kernel.
ONLY_BY_FILTER = {
    f"escape.{what}"
    for what in (
        "make-a-user-namespace",
        "clone-into-a-user-namespace",
        "clone3-into-a-user-namespace",
        "trace-its-init-process",
        "read-another-processs-memory",
        "take-a-descriptor-from-another-process",
        "use-a-keyring",
        "switch-address-randomisation-off",
        "talk-to-the-packet-filter",
    )
}
EXPECTED = {
    "nothing": set[str](),
    "index-off": INDEX_OFF,
    "volatile": VOLATILE,
    "no-flock": {"conflict.lock"},
    "wrong-squashfs": {"image.squashfs"},
}


def red_lines(outcomes: dict[str, str]) -> set[str]:
    return {key for key, outcome in outcomes.items() if outcome == "fail"}


@pytest.mark.evidence(18)
@pytest.mark.parametrize("sabotage", sorted(EXPECTED))
def test_a_broken_guarantee_turns_exactly_its_lines_red(
    sabotaged: Callable[[str], dict[str, str]], sabotage: str
) -> None:
    outcomes = sabotaged(sabotage)

    assert red_lines(outcomes) == EXPECTED[sabotage]
    assert len(outcomes) > 200


@pytest.mark.evidence(18)
@pytest.mark.parametrize("sabotage", ["seccomp-off"])
def test_without_a_system_call_filter_only_escapes_turn_red(
    sabotaged: Callable[[str], dict[str, str]], sabotage: str
) -> None:
    red = red_lines(sabotaged(sabotage))

    assert {key.partition(".")[0] for key in red} == {"escape"}
    assert red >= ONLY_BY_FILTER
    assert "escape.mount-a-file-system" not in red
