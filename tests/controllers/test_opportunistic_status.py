"""What objects say of opportunistic pods: what those of a queue have, and whether it is known what nodes use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.clusters import Cluster
from treadle.core.events import NodeSampled, NodeSeen, UsageKnown
from treadle.core.model.opportunistic import NodeWord, Threshold


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
