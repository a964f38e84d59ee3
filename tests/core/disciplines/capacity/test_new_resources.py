"""Resource types that appear, and go, while the capacity discipline shares."""

from __future__ import annotations

from core.clusters import Cluster


def test_a_type_that_only_a_bound_pod_has_does_not_disturb_the_limits_of_its_user() -> None:
    cluster = Cluster().capacity().share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=10)
    assert isinstance(cluster, Cluster)
    cluster.node("gpu", cpu=2, resources={"nvidia.com/gpu": 2})
    cluster.pod("g", "root.a", "g", user="ann", resources={"nvidia.com/gpu": 1}).settle(1)
    cluster.without_node("gpu").wait(1.0).plan()
    cluster.pods(10, "p", "root.a", "p", user="ann")
    assert len(cluster.plan()) > 1
    assert cluster.why("p-9")[0] == "UserLimit"


def test_a_type_that_a_waiting_pod_brings_is_counted_at_once() -> None:
    cluster = Cluster().capacity().share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=10)
    assert isinstance(cluster, Cluster)
    cluster.pods(3, "p", "root.a", "p", user="ann").settle(1)
    cluster.pod("odd", "root.a", "odd", user="bob", resources={"example.com/fpga": 1})
    cluster.pods(3, "q", "root.a", "q", user="ann")
    assert len(cluster.plan()) > 0
    assert cluster.why("odd")[0] == "Unschedulable"
