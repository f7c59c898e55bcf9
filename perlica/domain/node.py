"""Nodes as values: what is thought of one, and how long one must be silent to be lost.

The rule that makes a verdict from looks is `perlica.sandboxes.node_loss`.
"""

from dataclasses import dataclass
from enum import StrEnum


class NodeState(StrEnum):
    """`observed`: some looks failed, which means nothing yet.

    `silent` and `unreachable` were silent for the whole time, the latter while a control answered:
    both keep their slots until an Owner writes the node off. `absent` is positive evidence.
    """

    alive = "alive"
    observed = "observed"
    silent = "silent"
    unreachable = "unreachable"
    absent = "absent"
    written_off = "written_off"


ANSWERING = frozenset({NodeState.alive, NodeState.observed})
"""Nodes that are thought to be there."""
GIVEN_UP = frozenset({NodeState.silent, NodeState.unreachable})
"""Nodes that an Owner may write off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRule:
    """When silence counts (docs/facts/kubernetes.md); all by the observer's own monotonic clock."""

    loss_after_s: float = 900.0
    least_looks: int = 20
    longest_gap_s: float = 60.0
