"""Figures that a run of the tests shows although pytest captures what tests print."""

from collections.abc import Callable, Iterable

import pytest

Say = Callable[[str], None]


def printer(config: pytest.Config) -> Say:
    """Writes a line past the capture, on a line of its own."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        if capture is None:
            print(text)
            return
        with capture.global_and_fixture_disabled():
            print(f"\n{text}", flush=True)

    return say


def say_all(say: Say, lines: Iterable[str]) -> None:
    """Several lines, together."""
    say("\n".join(lines))
