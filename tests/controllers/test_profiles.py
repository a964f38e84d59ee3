"""Queues that say their amounts in resource profiles: they mean what the Scheduler says now."""

from __future__ import annotations

import pytest

from controllers.bodies import Json, Server
from treadle.controllers.ledger import Entry, Ledger
from treadle.core.events import Event, QueueSeen, SchedulerSeen
from treadle.core.model import Limit

SMALL = {"resourceProfiles": {"small": {"cpu": "500m", "memory": "1Gi"}}}
FOUR = {"fair": {"maxResources": {"profile.treadle.dev/small": 4}}}


class Book:
    """A ledger for the scheduler ``treadle`` and the events that it emitted."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.ledger = Ledger("treadle", self.events.append)
        self.server = Server()

    def seen(self, kind: str, name: str, spec: Json, namespace: str = "") -> Json:
        body = self.server.create(kind, name, spec, namespace=namespace)
        self.ledger.seen(kind, body)
        return body

    def edit(self, kind: str, body: Json, spec: Json) -> Json:
        body = self.server.edit(body, spec)
        self.ledger.seen(kind, body)
        return body

    def entry(self, kind: str, name: str, namespace: str = "") -> Entry:
        return self.ledger.entries[kind, namespace, name]

    def maxima(self) -> list[dict[str, int]]:
        return [
            {name: limit.value for name, limit in one.queue.maximum.items()} for one in self.events if isinstance(one, QueueSeen)
        ]


@pytest.fixture
def book() -> Book:
    return Book()


def test_a_queue_gets_what_its_profiles_have(book: Book) -> None:
    book.seen("Scheduler", "treadle", SMALL)
    book.seen("Queue", "root.a", FOUR)
    assert book.maxima() == [{"cpu": 2000, "memory": 4 << 30}]
    assert not book.entry("Queue", "root.a").problems


def test_a_queue_that_was_seen_before_the_scheduler_waits_for_it(book: Book) -> None:
    book.seen("Queue", "root.a", FOUR)
    assert book.maxima() == []
    words = "spec.fair.maxResources: 'small' is not in spec.resourceProfiles of the Scheduler: it has none"
    assert book.entry("Queue", "root.a").problems == [words]
    book.seen("Scheduler", "treadle", SMALL)
    assert book.maxima() == [{"cpu": 2000, "memory": 4 << 30}]
    assert not book.entry("Queue", "root.a").problems


def test_an_edited_profile_is_followed_by_those_that_name_it_alone(book: Book) -> None:
    scheduler = book.seen("Scheduler", "treadle", SMALL)
    book.seen("Queue", "root.a", FOUR)
    book.seen("Queue", "root.b", {"fair": {"maxResources": {"cpu": 1}}})
    book.events.clear()
    book.edit("Scheduler", scheduler, {"resourceProfiles": {"small": {"cpu": "1"}}})
    assert book.maxima() == [{"cpu": 4000}]


def test_an_edit_of_something_else_tells_queues_nothing(book: Book) -> None:
    scheduler = book.seen("Scheduler", "treadle", SMALL)
    book.seen("Queue", "root.a", FOUR)
    book.events.clear()
    book.edit("Scheduler", scheduler, {**SMALL, "fair": {"preemption": True}})
    assert book.maxima() == []


def test_a_queue_whose_profile_goes_keeps_what_it_had(book: Book) -> None:
    scheduler = book.seen("Scheduler", "treadle", SMALL)
    book.seen("Queue", "root.a", FOUR)
    book.events.clear()
    book.edit("Scheduler", scheduler, {"resourceProfiles": {"large": {"cpu": 8}}})
    assert book.maxima() == []
    entry = book.entry("Queue", "root.a")
    assert entry.problems == [
        "spec.fair.maxResources: 'small' is not in spec.resourceProfiles of the Scheduler: allowed are large"
    ]
    assert entry.model is not None


def test_the_profiles_of_another_scheduler_are_not_meant(book: Book) -> None:
    book.seen("Scheduler", "other", SMALL)
    book.seen("Queue", "root.a", FOUR)
    assert book.maxima() == []


def test_a_scheduler_that_goes_takes_its_profiles_with_it(book: Book) -> None:
    book.seen("Scheduler", "treadle", SMALL)
    book.seen("Queue", "root.a", FOUR)
    book.ledger.gone("Scheduler", "", "treadle")
    assert book.entry("Queue", "root.a").problems


def test_a_scheduler_may_say_its_own_settings_in_its_profiles(book: Book) -> None:
    book.seen("Scheduler", "treadle", {**SMALL, "fair": {"queueMaxResourcesDefault": {"profile.treadle.dev/small": 2}}})
    spec = next(one.scheduler for one in reversed(book.events) if isinstance(one, SchedulerSeen))
    assert spec.fair.queue_max_default == {"cpu": Limit(1000), "memory": Limit(2 << 30)}
    assert spec.profiles == {"small": {"cpu": 500, "memory": 1 << 30}}


def test_a_scheduler_that_names_a_profile_it_does_not_have_is_refused(book: Book) -> None:
    book.seen("Scheduler", "treadle", {**SMALL, "nodes": {"headroom": {"profile.treadle.dev/large": 1}}})
    words = "spec.nodes.headroom: 'large' is not in spec.resourceProfiles of the Scheduler: allowed are small"
    assert book.entry("Scheduler", "treadle").problems == [words]


def test_an_application_and_a_reservation_are_looked_at_as_well(book: Book) -> None:
    request = {"demand": {"profile.treadle.dev/small": 1}, "count": 1, "duration": "1h"}
    times = {"arrival": "2026-12-01T01:00:00Z", "deadline": "2026-12-01T05:00:00Z"}
    book.seen("Reservation", "r", {"queue": "root.a", **times, "expression": {"requests": [request]}}, "ns")
    book.seen("Application", "a", {"gangs": [{"name": "g", "minMember": 1, "demand": {"profile.treadle.dev/small": 1}}]}, "ns")
    (said,) = book.entry("Reservation", "r", "ns").problems
    assert said.startswith("spec.expression.requests.0.demand: 'small'")
    (said,) = book.entry("Application", "a", "ns").problems
    assert said.startswith("spec.gangs.0.demand: 'small'")
    book.seen("Scheduler", "treadle", SMALL)
    assert not book.entry("Reservation", "r", "ns").problems
    assert not book.entry("Application", "a", "ns").problems
