"""Applications live for as long as they may: then their pods are deleted and none is started any more."""

from __future__ import annotations

import pytest

from core.builders import replaced
from core.clusters import Cluster
from treadle.core.effects import Expire
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.model import ApplicationSpec


class Mortal(Cluster):
    """One queue with a maximum lifetime, one with a default, one without."""

    def tree(self) -> Mortal:
        self.capacity()
        self.share("root.short", "30%", max_lifetime=60.0).share(
            "root.default", "30%", default_lifetime=100.0, max_lifetime=200.0
        )
        self.share("root.long", "40%").nodes(1, cpu=20, memory=40)
        return self

    def says(self, name: str, queue: str = "", lifetime: float | None = None, created: float | None = None) -> Mortal:
        self.tell(ApplicationSeen(ApplicationSpec(f"ns/{name}", queue, lifetime=lifetime, created=created)))
        return self

    def look(self) -> list[str]:
        """Plan, and return who is deleted."""
        self.confirm(self.plan())
        return [effect.uid for effect in self.effects if isinstance(effect, Expire)]


@pytest.fixture
def cluster() -> Mortal:
    return Mortal().tree()


def test_pods_of_an_application_are_deleted_when_the_maximum_of_its_queue_is_over(cluster: Mortal) -> None:
    cluster.pods(2, "p", "root.short").settle(1)
    cluster.now = 59.0
    assert cluster.look() == []
    timer = cluster.core.next_timer()
    assert timer == 62.0, "one looks every three seconds"
    cluster.now = timer
    assert cluster.look() == ["p-0", "p-1"]


def test_a_deletion_names_the_pod_and_its_queue_and_is_asked_again_while_the_pod_stays(cluster: Mortal) -> None:
    cluster.pod("p", "root.short").settle(1)
    cluster.now = 63.0
    cluster.plan()
    (effect,) = [effect for effect in cluster.effects if isinstance(effect, Expire)]
    assert (effect.uid, effect.namespace, effect.name, effect.queue) == ("p", "ns", "p", "root.short")
    assert effect.application == "ns/app"
    assert effect.why == "was to live 60 s (maximumApplicationLifetime of queue root.short)"
    assert cluster.wait(3).look() == []
    assert cluster.wait(30).look() == ["p"]
    cluster.tell(PodSeen(replaced(cluster.core.state.pods["p"].spec, deleting=True)))
    assert cluster.wait(60).look() == [], "it is on its way out"


def test_waiting_pods_stay_and_are_told_why(cluster: Mortal) -> None:
    cluster.pods(1, "p", "root.short").pod("large", "root.short", cpu=50).settle(1)
    cluster.now = 63.0
    assert cluster.look() == ["p-0"]
    cluster.pod("late", "root.short")
    assert cluster.plan() == []
    expected = (
        "LifetimeOver",
        (
            "application ns/app was to live 60 s (maximumApplicationLifetime of queue root.short); "
            "that is over, and no pod of it is started any more"
        ),
    )
    assert cluster.why("large") == cluster.why("late") == expected


def test_an_application_that_names_no_lifetime_has_the_default_of_its_queue(cluster: Mortal) -> None:
    cluster.pod("p", "root.default").settle(1)
    cluster.now = 98.0
    assert cluster.look() == []
    cluster.now = 101.0
    assert cluster.look() == ["p"]


def test_an_applications_own_lifetime_is_held_down_to_the_maximum(cluster: Mortal) -> None:
    cluster.says("longer", "root.default", 150.0).says("endless", "root.default", 1000.0)
    cluster.pod("l", "root.default", "longer").pod("e", "root.default", "endless").settle(1)
    cluster.now = 149.0
    assert cluster.look() == []
    cluster.now = 152.0
    assert cluster.look() == ["l"]
    cluster.gone("l")
    cluster.now = 199.0
    assert cluster.look() == []
    cluster.now = 202.0
    assert cluster.look() == ["e"]


def test_an_applications_own_lifetime_holds_under_the_fair_discipline_too(cluster: Mortal) -> None:
    cluster.scheduler(discipline="Fair").says("app", "root.short", 30.0)
    cluster.pod("p", "root.short").settle(1)
    cluster.now = 33.0
    assert cluster.look() == ["p"]


def test_the_time_counts_from_when_the_object_was_made_or_the_first_known_pod(cluster: Mortal) -> None:
    cluster.now = 100.0
    cluster.says("app", "root.short", created=50.0)
    cluster.pod("p", "root.short", created=99.0)
    cluster.pod("new", "root.short", "other", created=99.0).pod("old", "root.short", "other", created=45.0).settle(1)
    cluster.now = 104.0
    assert cluster.look() == []
    cluster.now = 107.0
    assert cluster.look() == ["new", "old"]
    cluster.now = 110.0
    assert cluster.look() == ["p"]


def test_clocks_may_begin_at_different_times(cluster: Mortal) -> None:
    cluster.core.state.settings.epoch = 1_700_000_000.0
    cluster.pod("p", "root.short", created=1_700_000_000.0).settle(1)
    cluster.now = 59.0
    assert cluster.look() == []
    cluster.now = 62.0
    assert cluster.look() == ["p"]


def test_an_application_whose_lifetime_is_raised_goes_on(cluster: Mortal) -> None:
    cluster.pod("large", "root.short", cpu=50).settle(1)
    cluster.now = 63.0
    cluster.look()
    assert cluster.why("large")[0] == "LifetimeOver"
    cluster.share("root.short", "30%", max_lifetime=600.0).wait(3).look()
    assert cluster.why("large")[0] == "Unschedulable"


def test_nobody_is_looked_at_where_there_are_no_lifetimes() -> None:
    cluster = Cluster().capacity()
    assert isinstance(cluster, Cluster)
    cluster.share("root.a", "100%").nodes(1).pod("p", "root.a").settle(2)
    assert not cluster.core.state.lifetimes.active
    assert cluster.core.next_timer() is None
