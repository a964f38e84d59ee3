"""What became of an Application's pods: counted once, also over a change of leader, and the Application is over when it has had none for a while."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from core.builders import Scenario
from treadle.api.labels import APPLICATION, ROLE
from treadle.controllers.ledger import Entry
from treadle.kube import wire
from treadle.runtime.endings import SETTLED, Endings


def ended(name: str, made: int = 0, application: str = "app", scheduler: str = "treadle", **more: Any) -> wire.EndedPod:
    labels = {APPLICATION: application, **more.pop("labels", {})}
    created = datetime.fromtimestamp(1_900_000_000 + made, UTC)
    meta = wire.Metadata(name=name, namespace="ns", uid=name, labels=labels, creation_timestamp=created, **more)
    return wire.EndedPod(meta, wire.EndedSpec(scheduler))


class World:
    """A core without pods, a clock, and an Application's object whose status is written as it is said."""

    def __init__(self) -> None:
        self.scenario, self.now, self.known, self.wanted = Scenario().node("n"), 0.0, True, 0
        self.objects = {"ns/app"}
        self.entry = Entry("Application", "ns", "app", uid="1")
        self.endings = self.process()

    def process(self) -> Endings:
        """Another process."""
        return Endings(lambda: self.scenario.core.view, lambda: self.known, self.objects.__contains__, self.ask, lambda: self.now)

    def ask(self) -> None:
        self.wanted += 1

    def take(self, *pods: wire.EndedPod, succeeded: bool = True) -> None:
        self.endings.take([("MODIFIED", pod) for pod in pods], succeeded=succeeded)

    def gone(self, *pods: wire.EndedPod) -> None:
        self.endings.take([("DELETED", pod) for pod in pods], succeeded=True)

    def look(self, after: float = 0.0) -> tuple[str | None, int, int]:
        """What is said now, which is written."""
        self.now += after
        said = self.endings.status(self.entry)
        pods = {"succeeded": said["succeeded"] or 0, "failed": said["failed"] or 0}
        self.entry.status |= {"pods": pods, **({"phase": said["phase"]} if said["phase"] else {})}
        return said["phase"], pods["succeeded"], pods["failed"]

    def runs(self, name: str = "p") -> None:
        self.scenario.pod(name, "root.q", application="app", node="n")
        self.entry.status["phase"] = "Running"

    def stops(self, name: str = "p") -> None:
        self.scenario.gone(name)


@pytest.fixture
def world() -> World:
    return World()


def test_an_application_is_over_when_it_has_had_no_pod_for_a_while(world: World) -> None:
    world.runs()
    world.take(ended("a"), ended("b"))
    assert world.look() == (None, 2, 0)
    world.stops()
    world.take(ended("p"))
    assert world.look() == (None, 3, 0)
    assert world.look(SETTLED - 1) == (None, 3, 0)
    assert world.look(1) == ("Finished", 3, 0)
    assert world.wanted == 4


def test_it_ends_as_the_pod_that_ended_last(world: World) -> None:
    world.take(ended("a"), succeeded=False)
    world.take(ended("b"))
    world.look()
    assert world.look(SETTLED) == ("Finished", 1, 1)
    world.take(ended("c"), succeeded=False)
    assert world.look() == ("Failed", 1, 2)


def test_it_ends_as_its_master_where_one_is_marked(world: World) -> None:
    world.take(ended("driver", labels={ROLE: "master"}))
    world.take(ended("executor"), succeeded=False)
    world.look()
    assert world.look(SETTLED) == ("Finished", 1, 1)


def test_with_its_next_pod_it_is_alive_again(world: World) -> None:
    world.take(ended("a"))
    world.look()
    assert world.look(SETTLED) == ("Finished", 1, 0)
    world.runs("next")
    assert world.look() == (None, 1, 0)
    world.stops("next")
    assert world.look() == (None, 1, 0)
    world.take(ended("next"), succeeded=False)
    world.look()
    assert world.look(SETTLED) == ("Failed", 1, 1)


def test_nothing_is_over_of_which_nothing_is_known(world: World) -> None:
    world.look()
    assert world.look(SETTLED) == (None, 0, 0), "it has had no pods yet, or all were deleted"


def test_pods_that_were_deleted_and_lists_that_tell_again_change_no_count(world: World) -> None:
    pods = [ended("a"), ended("b")]
    world.take(*pods)
    world.take(*pods)
    assert world.look() == (None, 2, 0)
    world.gone(*pods)
    assert world.look(SETTLED) == ("Finished", 2, 0)
    world.take(ended("stopped", deletion_timestamp=datetime.now(UTC)), succeeded=False)
    assert world.look() == ("Finished", 2, 0), "somebody stopped it"


def test_pods_of_other_schedulers_and_of_other_applications_do_not_count(world: World) -> None:
    world.take(ended("theirs", scheduler="default-scheduler"), ended("other", application="other"))
    world.take(wire.EndedPod(wire.Metadata(name="plain", namespace="ns", uid="plain"), wire.EndedSpec("treadle")))
    assert world.look() == (None, 0, 0)


@pytest.mark.parametrize("left", [0, 1, 3])
def test_another_leader_goes_on_with_what_is_written(world: World, left: int) -> None:
    """Of three pods that ended ``left`` are still there; another one ends while nobody leads."""
    pods = [ended(name, at) for at, name in enumerate("abc")]
    world.take(*pods[:2])
    world.take(pods[2], succeeded=False)
    world.look()
    assert world.look(SETTLED) == ("Failed", 2, 1)
    world.endings, world.known = world.process(), False
    assert world.look() == ("Failed", 2, 1), "what is written stands until all is told"
    world.take(*pods[:2][:left])
    world.take(*pods[2:][: max(0, left - 2)], succeeded=False)
    world.known = True
    assert world.look() == ("Failed", 2, 1)
    world.take(ended("d", 9))
    assert world.look(SETTLED) == ("Finished", 3, 1)


def test_a_copy_that_stood_by_counts_nothing_twice(world: World) -> None:
    other = world.process()
    for name in "abc":
        world.take(ended(name))
        other.take([("MODIFIED", ended(name))], succeeded=True)
    world.look()
    world.endings = other
    assert world.look() == (None, 3, 0)
    world.take(ended("d"))
    assert world.look() == (None, 4, 0)
    other.led()
    assert world.look() == (None, 4, 0), "and when it leads once more"


def test_of_what_had_ended_before_anybody_looked_the_pod_that_was_made_last_counts(world: World) -> None:
    world.known = False
    world.take(ended("late", 9), ended("early", 1))
    world.take(ended("middle", 5), succeeded=False)
    world.known = True
    world.look()
    assert world.look(SETTLED) == ("Finished", 2, 1)


def test_another_object_of_the_same_name_has_the_pods_that_are_there(world: World) -> None:
    pods = [ended("a"), ended("b")]
    world.take(*pods)
    world.look()
    world.gone(pods[0])
    world.entry = Entry("Application", "ns", "app", uid="2")
    assert world.look() == (None, 1, 0)


def test_what_has_no_object_is_forgotten(world: World) -> None:
    for number in range(3000):
        one = ended(f"p{number}", application=f"app-{number}")
        world.take(one)
        world.gone(one)
    world.take(ended("mine"))
    assert len(world.endings._of) < 1100
    assert world.look() == (None, 1, 0)
