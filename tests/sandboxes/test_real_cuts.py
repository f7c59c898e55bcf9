"""Cuts of what a real sandbox says: the daemon keeps a margin, protection comes before the cut."""

from collections.abc import Callable, Iterator

import pytest

from perlica.domain.sandbox import SandboxImage
from tests.protection.made import TOKENS, Dice
from tests.protection.test_pieces import shows_of
from tests.sandboxd.process import Daemon
from tests.sandboxes.real import NODE, client_of, delete_all, demo_image
from tests.sandboxes.rig import Rig
from tests.sandboxes.test_cuts import LIMIT, log_with, read_on

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]
PART = 60_000
"""So much is written at once: a file is put together from parts."""


@pytest.fixture
def real(daemon: Daemon, make_rig: Callable[..., Rig]) -> Iterator[Rig]:
    """A rig over the real daemon, with one sandbox."""
    held = demo_image(daemon)
    image = SandboxImage(
        reference=held.reference, digest=held.digest, introduction="busybox", revision=1
    )
    rig = make_rig(backends={NODE: client_of(daemon)}, image=image)
    rig.create("main")
    yield rig
    delete_all(daemon)


def put(rig: Rig, path: str, content: str) -> None:
    """A file as commands of the sandbox make it."""
    for at in range(0, len(content), PART):
        part = content[at : at + PART]
        rig.call("sandbox_exec", sandbox="main", argv=["tee", "-a", path], stdin=part)


@pytest.mark.parametrize("edge", ["head", "tail"])
def test_a_token_over_the_cut_of_a_real_output_is_hidden(real: Rig, edge: str) -> None:
    token, size = TOKENS["gitlab"](Dice(21)), 500_000
    put(real, "/out", log_with(token, LIMIT // 2 if edge == "head" else size - LIMIT // 2, size))

    said = real.run("cat", "/out")

    assert shows_of(token, said) is None
    assert "⟦凭据:gitlab_token:1⟧" in said
    assert f"the middle of {size} bytes is left out" in said


def test_a_real_log_is_read_on_as_advised_without_its_token(real: Rig) -> None:
    token = TOKENS["gitlab"](Dice(22))
    log = log_with(token, LIMIT, 200_000)
    put(real, "/out", log)

    whole = "".join(read_on(real, "/out"))

    assert whole == log.replace(token, "⟦凭据:gitlab_token:1⟧")
