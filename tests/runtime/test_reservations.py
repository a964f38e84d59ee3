"""Decisions on reservations are written at the version of the object that was read: what another leader promised is not overwritten."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.bodies import Json
from controllers.clusters import Cluster
from treadle.core.events import ReservationLost
from treadle.kube.patcher import Write
from treadle.runtime.statuses import Statuses

SPEC: Json = {
    "queue": "root.plan",
    "arrival": "1970-01-01T01:00:00Z",
    "deadline": "1970-01-01T03:00:00Z",
    "expression": {"requests": [{"demand": {"cpu": "5"}, "count": 1, "duration": "1h"}]},
}


class Written:
    """A patcher that keeps what it was given."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    def submit(self, key: str, write: Write) -> None:
        assert key
        self.writes.append(write)


class Book(Cluster):
    """A cluster whose statuses are written."""

    def __init__(self) -> None:
        super().__init__()
        self.patcher = Written()
        self.statuses = Statuses(self.core, self.ledger, self.patcher, refresh=lambda: None)  # type: ignore[arg-type]
        self.create("Queue", "root.plan", {"reservations": {}})

    def decided(self) -> Write:
        """Let the reservation be decided, and return what is written."""
        self.plan()
        self.statuses.write_reservation("ns/r")
        return self.patcher.writes.pop()

    def phase(self) -> str:
        found: str = self.status("Reservation", "r", "ns")["phase"]
        return found


@pytest.fixture
def book() -> Book:
    book = Book()
    book.create("Reservation", "r", SPEC, namespace="ns")
    return book


def answered(write: Write, code: int) -> None:
    assert write.done is not None
    write.done(code)


def test_a_decision_is_written_at_once_at_the_version_that_was_read(book: Book) -> None:
    write = book.decided()
    body: Any = write.body
    assert write.path == "/apis/treadle.dev/v1alpha1/namespaces/ns/reservations/r/status"
    assert body["metadata"] == {"resourceVersion": book.bodies["r"]["metadata"]["resourceVersion"]}
    assert (body["status"]["phase"], body["status"]["plannedGeneration"]) == ("Accepted", 1)


def test_what_follows_of_a_decision_that_was_written_needs_no_version(book: Book) -> None:
    answered(book.decided(), 200)
    book.statuses.write_reservation("ns/r")
    assert book.patcher.writes == []
    book.core.plan(3600.0)
    book.statuses.write_reservation("ns/r")
    body: Any = book.patcher.writes.pop().body
    assert body["status"] == {"phase": "Active", "nextStart": None, "queue": body["status"]["queue"]}
    assert "metadata" not in body


def test_a_decision_that_met_another_version_is_taken_back_until_that_is_seen(book: Book) -> None:
    told: list[object] = []
    emit = book.ledger._emit
    book.ledger._emit = lambda event: (told.append(event), emit(event))[1]  # type: ignore[method-assign,func-returns-value]
    answered(book.decided(), 409)
    assert told == [ReservationLost("ns/r")]
    book.plan()
    assert book.phase() == "Pending"
    other = Book()
    other.create("Reservation", "r", {**SPEC, "arrival": "1970-01-01T02:00:00Z"}, namespace="ns")
    other.plan()
    theirs = {key: value for key, value in other.status("Reservation", "r", "ns").items() if value is not None}
    book.ledger.seen("Reservation", book.server.status(book.bodies["r"], theirs))
    book.plan()
    assert book.status("Reservation", "r", "ns")["allocations"] == theirs["allocations"]


def test_nothing_is_written_of_what_is_not_there(book: Book) -> None:
    book.statuses.write_reservation("ns/nobody")
    assert book.patcher.writes == []
