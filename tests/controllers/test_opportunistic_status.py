"""What objects say of opportunistic pods: what those of a queue have, and whether it is known what nodes use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.clusters import Cluster
from treadle.api.scheduler import SchedulerStatus
from treadle.controllers.removals import MOST
from treadle.core.events import NodeSampled, NodeSeen, RemovedLately, UsageKnown
from treadle.core.model.opportunistic import NodeWord, Removal, Threshold


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_what_opportunistic_pods_have_is_shown_of_their_queue_and_those_above(cluster: Cluster) -> None:
    for path in ("root", "root.a", "root.b"):
        cluster.create("Queue", path)
    uses = (("cpu", 2000), ("memory", 1 << 30))
    cluster.pod("idle", queue="root.a", cpu=0, memory=0, opportunistic=uses)
    cluster.plan()
    assert cluster.status("Queue", "root.a")["opportunistic"] == {"cpu": "2", "memory": "1Gi"}
    assert cluster.status("Queue", "root")["opportunistic"] == {"cpu": "2", "memory": "1Gi"}
    assert cluster.status("Queue", "root.b")["opportunistic"] is None
    assert not cluster.status("Queue", "root.a")["used"]


def test_where_it_cannot_be_had_what_nodes_use_the_scheduler_says_so(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"opportunistic": {"usage": {"source": "Metrics"}}})
    cluster.core.handle(UsageKnown(known=False, trouble="the API server does not serve metrics.k8s.io/v1beta1"), 0.0)

    assert cluster.ready("Scheduler", "treadle") == (
        "False",
        "UsageUnknown",
        (
            "spec.opportunistic.usage.source: it cannot be had what nodes use: the API server does not serve metrics.k8s.io/v1beta1; "
            "opportunistic pods are placed only where that was told lately"
        ),
    )
    cluster.core.handle(UsageKnown(known=True), 0.0)
    assert cluster.ready("Scheduler", "treadle") == (
        "True",
        "InForce",
        "spec.opportunistic.usage: of 1 nodes it is not known what they use, so they take no opportunistic pods",
    )
    cluster.core.handle(NodeSampled("n", (("cpu", 100),), 0.0), 0.0)
    assert cluster.ready("Scheduler", "treadle") == ("True", "InForce", "")


def test_who_does_not_tell_is_named_beside_how_many_nodes_are_unknown(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"opportunistic": {"usage": {"source": "Kubelets"}}})
    missing = "1 of 1 kubelets do not tell what is used: n: no route"
    cluster.core.handle(UsageKnown(known=True, trouble=missing), 0.0)
    words = f"spec.opportunistic.usage: of 1 nodes it is not known what they use, so they take no opportunistic pods: {missing}"
    assert cluster.ready("Scheduler", "treadle") == ("True", "InForce", words)
    cluster.core.handle(NodeSampled("n", (("cpu", 100),), 0.0), 0.0)
    assert cluster.ready("Scheduler", "treadle")[2] == f"spec.opportunistic.usage: {missing}"


def test_thresholds_of_a_node_that_do_not_count_are_told(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle")
    spec = cluster.core.state.nodes.specs[0]
    assert spec is not None
    word = NodeWord((("cpu", Threshold(300, 500)),))
    cluster.core.handle(NodeSeen(replace(spec, over_allocation=word)), 0.0)
    words = "1 nodes (n) have thresholds of usage in treadle.dev/over-allocation, which count for a spec.opportunistic.usage.source other than Requests"
    assert cluster.ready("Scheduler", "treadle") == ("True", "InForce", words)


def test_the_scheduler_keeps_for_the_next_one_which_nodes_opportunistic_pods_had_to_leave(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle")
    kept = (Removal("ns/a", "n", 100.9, 2), Removal("ns/a", "m", 50.0, 1))
    cluster.core.handle(RemovedLately(kept), 0.0)
    status = cluster.status("Scheduler", "treadle")
    assert status["removals"] == [
        {"application": "ns/a", "node": "m", "until": "1970-01-01T00:00:50Z", "times": 1},
        {"application": "ns/a", "node": "n", "until": "1970-01-01T00:01:40Z", "times": 2},
    ]
    assert SchedulerStatus.model_validate(status).removals is not None
    another = Cluster()
    body = another.server.create("Scheduler", "treadle")
    another.ledger.seen("Scheduler", {**body, "status": status})
    assert another.core.view.removals() == [Removal("ns/a", "m", 50.0, 1), Removal("ns/a", "n", 100.0, 2)]
    assert another.status("Scheduler", "treadle")["removals"] == status["removals"]


def test_those_are_kept_that_count_for_the_longest(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle")
    cluster.core.handle(RemovedLately(tuple(Removal("ns/a", f"n{at}", float(at), 1) for at in range(MOST + 9))), 0.0)
    found = {one["node"] for one in cluster.status("Scheduler", "treadle")["removals"]}
    assert found == {f"n{at}" for at in range(9, MOST + 9)}


@pytest.mark.parametrize(
    "odd",
    [
        "x",
        [None, 3, {}],
        [{"application": "a", "node": "n", "until": "soon", "times": 1}],
        [{"application": "a", "node": 3, "until": "2026-01-01T00:00:00Z", "times": 1}],
        [{"application": "a", "node": "n", "until": "2026-01-01T00:00:00Z", "times": "many"}],
    ],
)
def test_what_somebody_else_has_written_there_is_passed_over(cluster: Cluster, odd: object) -> None:
    body = cluster.server.create("Scheduler", "treadle")
    cluster.ledger.seen("Scheduler", {**body, "status": {"removals": odd}})
    assert cluster.core.view.removals() == []
