"""When a node is lost: a verdict from looks, by the rule of docs/facts/kubernetes.md. Pure.

The node watch feeds it one reading after the other. A look that fails is an observation and never a
loss; an absent node is known by two good looks that say so; an unreachable one was silent in every
good look for the whole time, without a gap, while a control showed that the observer itself was not
cut off. Time is the observer's own monotonic clock: what peers' clocks say is only ever compared
with what they said before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from perlica.domain.node import LossRule, NodeState
from perlica.protection import JsonValue

ABSENT_LOOKS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """What the node daemon's own channel said: `identity` where it answered, else a fault."""

    fault: str = ""
    identity: str = ""

    @property
    def is_up(self) -> bool:
        """Whether the daemon answered as the node that was meant."""
        return not self.fault


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node as the Kubernetes API shows it; `renewed` is its lease's renewTime, as text."""

    uid: str
    machine_id: str
    system_uuid: str
    ready: Literal["True", "False", "Unknown"]
    renewed: str
    is_out_of_service: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReading:
    """One authenticated read: the node (None for 404) and the renewTime of a control lease.

    `control_renewed` is None when the control could not be read: then a 404 proves nothing.
    """

    node: ClusterNode | None
    control_renewed: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFault:
    """The API could not be asked: time-out, 401, 403, 429, 5xx, anything."""

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at one node at `at_s` (monotonic).

    `is_controlled`: another node's channel answered at the same time. `cluster` is None where no
    Kubernetes API is known.
    """

    at_s: float
    channel: Channel
    is_controlled: bool = False
    cluster: ClusterReading | ClusterFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """An unbroken run of looks that found the node silent."""

    since_s: float
    last_s: float
    looks: int = 1

    def lasts(self, rule: LossRule) -> bool:
        """Whether it is as long as the rule wants it."""
        is_long = self.last_s - self.since_s >= rule.loss_after_s
        return is_long and self.looks >= rule.least_looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What earlier looks at a node amount to, since it was last seen alive.

    `known` is the node's identity. `down` counts every look at which nothing answered, `silent`
    only the good ones; `control_seen_s` is when a control last showed that the observer sees.
    """

    known: tuple[str, ...] = ()
    last_s: float | None = None
    down: Silence | None = None
    silent: Silence | None = None
    absent_looks: int = 0
    absent_because: str = ""
    renewed: str = ""
    control_renewed: str = ""
    control_seen_s: float | None = None
    control_looks: int = 0

    def evidence(self) -> Mapping[str, JsonValue]:
        """What a verdict rests on, for the books; it says nothing while the node is alive."""
        if self.down is None and not self.absent_looks:
            return {}
        return {
            "down_s": round(self.down.last_s - self.down.since_s) if self.down else 0,
            "down_looks": self.down.looks if self.down else 0,
            "silent_s": round(self.silent.last_s - self.silent.since_s) if self.silent else 0,
            "silent_looks": self.silent.looks if self.silent else 0,
            "absent_looks": self.absent_looks,
            "absent_because": self.absent_because,
            "control_looks": self.control_looks,
            "lease_renewed": self.renewed,
        }


def advance(watch: Watch, reading: Reading, rule: LossRule) -> Watch:
    """The watch after one more look."""
    if watch.last_s is not None and reading.at_s - watch.last_s > rule.longest_gap_s:
        watch = Watch(known=watch.known)
    if reading.channel.is_up:
        return _hear_daemon(watch, reading)
    watch = replace(watch, last_s=reading.at_s, down=_longer(watch.down, reading.at_s))
    match reading.cluster:
        case ClusterReading() as cluster:
            return _hear_cluster(watch, reading, cluster, rule)
        case None if reading.is_controlled:
            return _silent(_with_control(watch, reading.at_s), reading.at_s, rule)
        case _:
            return watch


def judge(watch: Watch, rule: LossRule) -> NodeState:
    """What the node is thought to be; `written_off` is never a verdict, only an Owner's word."""
    if watch.absent_looks >= ABSENT_LOOKS:
        return NodeState.absent
    if watch.silent is not None and watch.silent.lasts(rule) and _is_control_fresh(watch, rule):
        return NodeState.unreachable
    if watch.down is not None and watch.down.lasts(rule):
        return NodeState.silent
    if watch.down is not None or watch.absent_looks:
        return NodeState.observed
    return NodeState.alive


def _is_control_fresh(watch: Watch, rule: LossRule) -> bool:
    """Whether the good looks go on until now, and the control with them."""
    if watch.last_s is None or watch.silent is None or watch.control_seen_s is None:
        return False
    oldest_s = min(watch.silent.last_s, watch.control_seen_s)
    return watch.last_s - oldest_s <= rule.longest_gap_s


def _longer(silence: Silence | None, at_s: float) -> Silence:
    if silence is None:
        return Silence(since_s=at_s, last_s=at_s)
    return replace(silence, last_s=at_s, looks=silence.looks + 1)


def _silent(watch: Watch, at_s: float, rule: LossRule) -> Watch:
    """One more good look that found it silent; a gap between good looks begins anew."""
    silence = watch.silent
    if silence is not None and at_s - silence.last_s > rule.longest_gap_s:
        silence = None
    return replace(watch, silent=_longer(silence, at_s), absent_looks=0, absent_because="")


def _with_control(watch: Watch, at_s: float) -> Watch:
    return replace(watch, control_seen_s=at_s, control_looks=watch.control_looks + 1)


def _hear_daemon(watch: Watch, reading: Reading) -> Watch:
    """The daemon answers: whatever the cluster says, what it holds is there.

    An identity other than the known one means that the node was installed anew.
    """
    now = _identity_of(reading)
    if not _is_same_node(watch.known, now):
        return _absent(Watch(known=watch.known), watch, reading, "identity_changed")
    return Watch(known=now or watch.known, last_s=reading.at_s)


def _hear_cluster(watch: Watch, reading: Reading, cluster: ClusterReading, rule: LossRule) -> Watch:
    node = cluster.node
    if node is None and cluster.control_renewed is None:
        return watch
    watch = _hear_control_lease(watch, reading, cluster)
    reason = _absence_in(watch, node)
    if reason or node is None:
        return _absent(watch, watch, reading, reason)
    if node.ready != "Unknown" or (watch.renewed and node.renewed != watch.renewed):
        # Ready=False too: the kubelet still reports, the node is there.
        known = _identity_of(reading)
        return Watch(known=known, last_s=reading.at_s, renewed=node.renewed)
    return _silent(replace(watch, renewed=node.renewed), reading.at_s, rule)


def _hear_control_lease(watch: Watch, reading: Reading, cluster: ClusterReading) -> Watch:
    """A control lease that moved shows that API server and observer are well."""
    renewed = cluster.control_renewed
    if renewed is None:
        return watch
    has_moved = bool(watch.control_renewed) and renewed != watch.control_renewed
    watch = replace(watch, control_renewed=renewed)
    return _with_control(watch, reading.at_s) if has_moved else watch


def _absence_in(watch: Watch, node: ClusterNode | None) -> str:
    """Why the read says that the node we knew is gone, "" when it does not."""
    if node is None:
        return "not_found"
    if node.is_out_of_service:
        return "out_of_service"
    is_same = not watch.known or _is_same(watch.known, _cluster_identity(node))
    return "" if is_same else "identity_changed"


def _absent(base: Watch, watch: Watch, reading: Reading, reason: str) -> Watch:
    return replace(
        base,
        last_s=reading.at_s,
        absent_looks=watch.absent_looks + 1,
        absent_because=reason,
    )


def _identity_of(reading: Reading) -> tuple[str, ...]:
    """Who the node says it is: by the cluster, by its daemon; () where nobody says."""
    match reading.cluster:
        case ClusterReading(node=ClusterNode() as node):
            return (*_cluster_identity(node), reading.channel.identity)
        case _:
            identity = reading.channel.identity
            return ("", "", "", identity) if identity else ()


def _cluster_identity(node: ClusterNode) -> tuple[str, ...]:
    return (node.uid, node.machine_id, node.system_uuid)


def _is_same_node(known: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """The daemon's own identity decides where it has one; a new Node object alone loses nothing."""
    daemons = (known[-1], now[-1]) if known and now else ("", "")
    if all(daemons):
        return daemons[0] == daemons[1]
    return _is_same(known, now)


def _is_same(known: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether no part that both know differs."""
    pairs = zip(known, now, strict=False)
    return all(not before or not after or before == after for before, after in pairs)
