"""The points of an operation between which the daemon may be killed, each with a name.

In service they do nothing. The tests of recovery kill the daemon at every one of them: whoever adds
a step that changes the node adds its milestone, and with it the proof that a crash there is safe.
"""

from collections.abc import Callable
from typing import Literal

Milestone = Literal[
    "journal started",
    "record creating",
    "disk allocated",
    "disk made",
    "record present",
    "mounted",
    "container started",
    "command started",
    "command ended",
    "record deleting",
    "container ended",
    "unmounted",
    "disk removed",
    "effect done",
    "output kept",
    "journal finished",
]

OBSERVERS: list[Callable[[Milestone], None]] = []
"""Called with each milestone, in the thread of the operation."""


def reached(milestone: Milestone) -> None:
    """The node has changed; the change is as durable as it gets."""
    for observer in OBSERVERS:
        observer(milestone)
