"""What objects say of mapping rules that can place nobody, and of applications whose lifetime is over."""

from __future__ import annotations

import pytest

from controllers.clusters import Cluster
from core.builders import a_pod
from treadle.core.events import PodSeen


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_rule_that_places_nobody_is_told_until_its_queue_exists(cluster: Cluster) -> None:
    rules = [{"type": "user", "matches": "*", "policy": "custom", "customPlacement": "root.late"}]
    cluster.create("Scheduler", "treadle", {"discipline": "Capacity", "capacity": {"mappingRules": rules}})
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "1w"}})
    cluster.plan()
    assert cluster.ready("Scheduler", "treadle") == (
        "False",
        "RulePlacesNobody",
        "spec.capacity: mapping rule 1: queue root.late does not exist, and none may be made there; what it matches goes by its fallback",
    )
    cluster.create("Queue", "root.late", {"capacity": {"guaranteed": "1w"}})
    cluster.plan()
    assert cluster.ready("Scheduler", "treadle") == ("True", "InForce", "")


def test_an_application_whose_lifetime_is_over_is_killed(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a")
    cluster.create("Application", "short", {"lifetime": "1m"}, namespace="ns")
    made = cluster.core.state.explicit["ns/short"].created
    assert made is not None
    cluster.core.state.settings.epoch = made
    cluster.core.handle(PodSeen(a_pod("p", "root.a", "short")), 0.0)
    cluster.plan()
    assert cluster.status("Application", "short", "ns")["phase"] == "Running"
    cluster.core.plan(70.0)
    assert cluster.status("Application", "short", "ns")["phase"] == "Killed"
    ready, reason, message = cluster.ready("Application", "short", "ns")
    assert (ready, reason) == ("False", "LifetimeOver")
    assert message.startswith("application ns/short was to live 60 s (lifetime of the Application)")
