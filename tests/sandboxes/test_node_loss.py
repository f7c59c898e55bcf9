"""When a node is lost: the rule of evidence by itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.domain.node import LossRule, NodeState
from perlica.sandboxes.node_loss import (
    Channel,
    ClusterFault,
    ClusterNode,
    ClusterReading,
    Reading,
    Watch,
    advance,
    judge,
)

RULE = LossRule(loss_after_s=900, least_looks=20, longest_gap_s=60)
UP, DOWN = Channel(), Channel(fault="sandboxd_unreachable")
Cluster = ClusterReading | ClusterFault | None


def look(
    at_s: float, channel: Channel = DOWN, cluster: Cluster = None, *, controlled: bool = False
) -> Reading:
    return Reading(at_s=at_s, channel=channel, cluster=cluster, is_controlled=controlled)


def judged(readings: Sequence[Reading], rule: LossRule = RULE) -> NodeState:
    watch = Watch()
    for reading in readings:
        watch = advance(watch, reading, rule)
    return judge(watch, rule)


def node(
    ready: str = "Unknown", renewed: str = "t0", uid: str = "u1", *, gone: bool = False
) -> ClusterNode:
    return ClusterNode(
        uid=uid,
        machine_id="m1",
        system_uuid="s1",
        ready=ready,  # type: ignore[arg-type]
        renewed=renewed,
        is_out_of_service=gone,
    )


def frozen(at_s: float, *, moves: bool = True) -> Reading:
    """One look at a node whose kubelet is silent, with a control lease that moves or not."""
    control = f"c{int(at_s)}" if moves else "c0"
    return look(at_s, cluster=ClusterReading(node=node(), control_renewed=control))


KNOWN = look(0, UP, ClusterReading(node=node("True"), control_renewed="c"))
GONE = ClusterReading(node=None, control_renewed="c1")


def test_a_single_failed_look_is_an_observation() -> None:
    assert judged([look(0, UP), look(30)]) is NodeState.observed


def test_a_node_that_answers_again_is_alive_whatever_was_before() -> None:
    silence = [look(30.0 * n, controlled=True) for n in range(40)]

    assert judged([*silence, look(1200, UP)]) is NodeState.alive


def test_fifteen_minutes_of_silence_with_a_control_are_unreachable() -> None:
    silence = [look(30.0 * n, controlled=True) for n in range(31)]

    assert judged(silence[:-1]) is NodeState.observed
    assert judged(silence) is NodeState.unreachable


def test_without_any_control_it_is_only_called_silent() -> None:
    assert judged([look(30.0 * n) for n in range(40)]) is NodeState.silent


def test_a_control_that_was_seen_long_ago_is_none() -> None:
    silence = [look(30.0 * n, controlled=n < 31) for n in range(60)]

    assert judged(silence[:31]) is NodeState.unreachable
    assert judged(silence) is NodeState.silent


def test_twenty_looks_are_needed_however_long_it_took() -> None:
    few = [look(55.0 * n, controlled=True) for n in range(19)]

    assert judged(few) is NodeState.observed


def test_a_gap_of_more_than_a_minute_begins_anew() -> None:
    first = [look(30.0 * n, controlled=True) for n in range(29)]
    after = [look(29 * 30.0 + 61 + 30.0 * n, controlled=True) for n in range(29)]

    assert judged([*first, *after]) is NodeState.observed


def test_a_missing_node_is_absent_after_two_good_reads() -> None:
    assert judged([KNOWN, look(30, cluster=GONE)]) is NodeState.observed
    assert judged([KNOWN, look(30, cluster=GONE), look(60, cluster=GONE)]) is NodeState.absent


def test_a_missing_node_proves_nothing_where_the_control_cannot_be_read() -> None:
    blind = ClusterReading(node=None, control_renewed=None)

    assert judged([KNOWN, *(look(30.0 * n, cluster=blind) for n in range(1, 5))]) is (
        NodeState.observed
    )


@pytest.mark.parametrize(
    "changed",
    [node("True", uid="u2"), node("Unknown", uid="u2"), node("True", gone=True), node(gone=True)],
)
def test_another_identity_or_the_taint_is_absence_at_once(changed: ClusterNode) -> None:
    read = ClusterReading(node=changed, control_renewed="c1")

    assert judged([KNOWN, look(30, cluster=read), look(60, cluster=read)]) is NodeState.absent


def test_a_daemon_that_answers_keeps_its_node_whatever_the_cluster_says() -> None:
    reads = [look(30.0 * n, UP, GONE) for n in range(1, 5)]

    assert judged([KNOWN, *reads]) is NodeState.alive


def test_a_daemon_that_was_installed_anew_is_another_node() -> None:
    old, new = Channel(identity="first"), Channel(identity="second")

    assert judged([look(0, old), look(30, new)]) is NodeState.observed
    assert judged([look(0, old), look(30, new), look(60, new)]) is NodeState.absent


def test_a_frozen_api_server_is_no_loss_of_a_node() -> None:
    """The controller itself says Unknown, and no lease moves: docs/facts/kubernetes.md."""
    looks = [frozen(30.0 * n, moves=False) for n in range(40)]

    assert judged([KNOWN, *looks]) is not NodeState.unreachable


def test_a_silent_kubelet_while_other_leases_move_is_unreachable() -> None:
    looks = [frozen(30.0 * n) for n in range(1, 35)]

    assert judged([KNOWN, *looks]) is NodeState.unreachable


def test_a_lease_that_moves_once_begins_anew() -> None:
    looks = [frozen(30.0 * n) for n in range(1, 30)]
    renewed = look(900, cluster=ClusterReading(node=node(renewed="t1"), control_renewed="c900"))

    assert judged([KNOWN, *looks, renewed]) is NodeState.alive


def test_ready_false_means_that_the_kubelet_still_reports() -> None:
    read = ClusterReading(node=node("False"), control_renewed="c")

    assert judged([KNOWN, *(look(30.0 * n, cluster=read) for n in range(1, 60))]) is NodeState.alive


@given(
    st.lists(
        st.tuples(
            st.floats(0.1, 200),
            st.sampled_from(
                [None, ClusterFault(code="503"), ClusterReading(node=None, control_renewed=None)]
            ),
        ),
        max_size=120,
    )
)
def test_looks_that_failed_never_lose_a_node(steps: list[tuple[float, Cluster]]) -> None:
    at_s, readings = 0.0, [look(0, UP)]
    for step_s, cluster in steps:
        at_s += step_s
        readings.append(look(at_s, cluster=cluster))

    assert judged(readings) in {NodeState.alive, NodeState.observed, NodeState.silent}


@given(st.lists(st.sampled_from([GONE, ClusterFault(code="500"), None]), max_size=40))
def test_absence_needs_two_reads_that_say_so(clusters: list[Cluster]) -> None:
    watch = advance(Watch(), KNOWN, RULE)
    said = 0
    for number, cluster in enumerate(clusters, start=1):
        watch = advance(watch, look(30.0 * number, cluster=cluster), RULE)
        said += cluster == GONE
        if judge(watch, RULE) is NodeState.absent:
            assert said >= 2
