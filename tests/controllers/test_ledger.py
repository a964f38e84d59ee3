"""What users wrote, as last seen: by level, in any order, with the last good version in force."""

from __future__ import annotations

import pytest

from controllers.bodies import Json, Server
from treadle.controllers.ledger import Entry, Ledger
from treadle.core.events import (
    ApplicationGone,
    ApplicationSeen,
    Event,
    QueueGone,
    QueueSeen,
    RemovedLately,
    ReservationSeen,
    SchedulerSeen,
)
from treadle.core.model import SchedulerSpec
from treadle.core.model.opportunistic import Removal


class Book:
    """A ledger for the scheduler ``treadle`` and the events that it emitted."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.ledger = Ledger("treadle", self.events.append)
        self.server = Server()

    def entry(self, kind: str, name: str, namespace: str = "") -> Entry:
        return self.ledger.entries[kind, namespace, name]

    def weights(self) -> list[float]:
        return [event.queue.weight for event in self.events if isinstance(event, QueueSeen)]

    def serving(self) -> SchedulerSpec:
        return next(event.scheduler for event in reversed(self.events) if isinstance(event, SchedulerSeen))


@pytest.fixture
def book() -> Book:
    return Book()


def weight(value: str) -> Json:
    return {"fair": {"weight": value}}


# -- levels, not edges


def test_a_queue_is_seen_once_however_often_it_is_told(book: Book) -> None:
    queue = book.server.create("Queue", "root.a", weight("2"))
    for _ in range(3):
        book.ledger.seen("Queue", queue)

    assert book.weights() == [2.0]


def test_an_edit_is_seen(book: Book) -> None:
    queue = book.server.create("Queue", "root.a", weight("2"))
    book.ledger.seen("Queue", queue)
    book.ledger.seen("Queue", book.server.edit(queue, weight("3")))

    assert book.weights() == [2.0, 3.0]


def test_a_change_of_the_status_alone_is_no_change_of_the_queue_but_is_remembered(book: Book) -> None:
    queue = book.server.create("Queue", "root.a", weight("2"))
    book.ledger.seen("Queue", queue)
    book.ledger.seen("Queue", book.server.status(queue, {"state": "Running"}))

    assert book.weights() == [2.0]
    assert book.entry("Queue", "root.a").status == {"state": "Running"}


def test_a_late_word_does_not_undo_a_newer_one(book: Book) -> None:
    old = book.server.create("Queue", "root.a", weight("2"))
    new = book.server.edit(old, weight("3"))
    book.ledger.seen("Queue", new)
    book.ledger.seen("Queue", old)

    assert book.weights() == [3.0]


def test_a_deletion_is_told(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a"))
    book.ledger.gone("Queue", "", "root.a")

    assert book.events[-1] == QueueGone("root.a")
    assert book.ledger.entries == {}


def test_the_deletion_of_what_was_never_seen_is_nothing(book: Book) -> None:
    book.ledger.gone("Queue", "", "root.a")

    assert book.events == []


def test_an_applications_events_carry_its_namespace(book: Book) -> None:
    book.ledger.seen(
        "Application", book.server.create("Application", "nightly", {"queue": "root.a", "priority": 4}, namespace="etl")
    )
    book.ledger.gone("Application", "etl", "nightly")

    seen, gone = book.events
    assert isinstance(seen, ApplicationSeen)
    assert (seen.application.id, seen.application.queue, seen.application.priority) == ("etl/nightly", "root.a", 4)
    assert gone == ApplicationGone("etl/nightly")


def test_a_reservation_is_told_of_with_what_its_status_keeps(book: Book) -> None:
    body = book.server.create(
        "Reservation",
        "nightly",
        {
            "queue": "root.a",
            "arrival": "2026-12-01T01:00:00Z",
            "deadline": "2026-12-01T05:00:00Z",
            "expression": {
                "interpreter": "All",
                "requests": [{"demand": {"cpu": "4"}, "count": 2, "concurrency": 1, "duration": "1h"}],
            },
        },
        namespace="etl",
    )
    book.ledger.seen("Reservation", body)

    (told,) = book.events
    assert isinstance(told, ReservationSeen)
    assert (told.reservation.id, told.reservation.queue, told.decided) == ("etl/nightly", "root.a", None)
    assert book.entry("Reservation", "nightly", "etl").problems == []


# -- successors of the same name


def test_a_successor_is_seen_anew(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a", weight("2"), uid="one"))
    book.ledger.seen("Queue", book.server.create("Queue", "root.a", weight("3"), uid="two"))

    assert book.weights() == [2.0, 3.0]


def test_the_late_end_of_a_predecessor_does_not_remove_its_successor(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a", uid="one"))
    book.ledger.seen("Queue", book.server.create("Queue", "root.a", uid="two"))
    book.ledger.gone("Queue", "", "root.a", uid="one")

    assert book.entry("Queue", "root.a").uid == "two"
    assert QueueGone("root.a") not in book.events


def test_a_late_word_about_a_predecessor_does_not_overwrite_its_successor(book: Book) -> None:
    old = book.server.create("Queue", "root.a", weight("2"), uid="one")
    book.ledger.seen("Queue", book.server.create("Queue", "root.a", weight("3"), uid="two"))
    book.ledger.seen("Queue", old)

    assert book.weights() == [3.0]
    assert book.entry("Queue", "root.a").uid == "two"


# -- lists


def test_a_list_tells_of_deletions_that_no_event_told(book: Book) -> None:
    kept, lost = (book.server.create("Queue", name) for name in ("root.kept", "root.lost"))
    for queue in (kept, lost):
        book.ledger.seen("Queue", queue)
    book.ledger.listed("Queue", [kept], book.server.version())

    assert book.events[-1] == QueueGone("root.lost")
    assert [name for _, _, name in book.ledger.entries] == ["root.kept"]


def test_a_list_of_one_kind_says_nothing_of_another(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a"))
    book.ledger.listed("Application", [], book.server.version())

    assert len(book.ledger.entries) == 1


def test_what_was_made_while_a_list_was_on_its_way_is_not_taken_for_deleted(book: Book) -> None:
    version = book.server.version()
    book.ledger.seen("Queue", book.server.create("Queue", "root.new"))
    book.ledger.listed("Queue", [], version)

    assert QueueGone("root.new") not in book.events
    book.ledger.listed("Queue", [], book.server.version())
    assert book.events[-1] == QueueGone("root.new")


def test_a_list_older_than_an_event_does_not_undo_it(book: Book) -> None:
    old = book.server.create("Queue", "root.a", weight("2"))
    version = book.server.version()
    book.ledger.seen("Queue", book.server.edit(old, weight("3")))
    book.ledger.listed("Queue", [old], version)

    assert book.weights() == [3.0]


def test_a_list_without_a_version_is_taken_at_its_word(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a"))
    book.ledger.listed("Queue", [])

    assert book.events[-1] == QueueGone("root.a")


# -- what is wrong with an object


def test_an_invalid_edit_leaves_the_last_good_version_in_force(book: Book) -> None:
    queue = book.server.create("Queue", "root.a", weight("2"))
    book.ledger.seen("Queue", queue)
    bad = book.server.edit(queue, {"fair": {"weight": "-1"}})
    book.ledger.seen("Queue", bad)
    entry = book.entry("Queue", "root.a")

    assert book.weights() == [2.0]
    assert entry.model is not None
    assert entry.generation == 2
    assert "weight" in entry.problems[0]

    book.ledger.seen("Queue", book.server.edit(bad, weight("5")))
    assert book.weights() == [2.0, 5.0]
    assert entry.problems == []


def test_an_object_that_was_never_valid_has_nothing_in_force(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a", {"fair": {"maxResources": {"cpu": "lots"}}}))

    assert book.events == []
    assert book.entry("Queue", "root.a").model is None
    assert book.entry("Queue", "root.a").problems


@pytest.mark.parametrize(
    "body", [{}, {"metadata": {}}, {"metadata": {"name": "root.a"}, "spec": []}, {"metadata": {"name": "root.a"}, "status": 5}]
)
def test_an_object_that_makes_no_sense_raises_nothing(book: Book, body: Json) -> None:
    book.ledger.seen("Queue", body)


def test_fields_that_are_not_acted_on_yet_are_noted(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", {"fair": {"localityThresholdNode": "0.5"}}))

    assert book.entry("Scheduler", "treadle").not_acted_on == ["spec.fair.localityThresholdNode"]


# -- names: one Scheduler for each


def aliases(*names: str) -> Json:
    return {"aliases": list(names)}


def test_without_an_object_the_scheduler_serves_its_own_name(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "other"))

    assert book.serving().names == {"treadle"}


def test_aliases_are_served(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", aliases("yunikorn", "volcano")))

    assert book.serving().names == {"treadle", "yunikorn", "volcano"}


def test_settings_are_taken_over(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", {"nodes": {"scoring": "Spread"}}))

    assert book.serving().scoring == "Spread"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_that_want_an_alias_the_older_has_it_whichever_is_seen_first(book: Book, order: tuple[int, int]) -> None:
    bodies = [
        book.server.create("Scheduler", "treadle", aliases("yunikorn"), created="2026-01-02T00:00:00Z"),
        book.server.create("Scheduler", "elder", aliases("yunikorn"), created="2026-01-01T00:00:00Z"),
    ]
    for index in order:
        book.ledger.seen("Scheduler", bodies[index])

    assert book.serving().names == {"treadle"}
    assert book.entry("Scheduler", "treadle").taken == {"yunikorn": "elder"}
    assert book.entry("Scheduler", "elder").taken == {}


def test_of_two_of_the_same_age_the_first_by_name_has_it(book: Book) -> None:
    for name in ("treadle", "abacus"):
        book.ledger.seen("Scheduler", book.server.create("Scheduler", name, aliases("yunikorn"), created="2026-01-01T00:00:00Z"))

    assert book.entry("Scheduler", "treadle").taken == {"yunikorn": "abacus"}


def test_a_scheduler_that_is_called_so_goes_before_any_alias(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", aliases("newcomer"), created="2026-01-01T00:00:00Z"))
    assert book.serving().names == {"treadle", "newcomer"}
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "newcomer", created="2026-02-01T00:00:00Z"))

    assert book.serving().names == {"treadle"}
    assert book.entry("Scheduler", "treadle").taken == {"newcomer": "newcomer"}


def test_an_invalid_scheduler_has_its_own_name_all_the_same(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", aliases("newcomer")))
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "newcomer", {"discipline": "Chaos"}))

    assert book.serving().names == {"treadle"}


def test_an_alias_is_free_again_when_its_owner_is_gone(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "elder", aliases("yunikorn")))
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", aliases("yunikorn")))
    book.ledger.gone("Scheduler", "", "elder")

    assert book.serving().names == {"treadle", "yunikorn"}
    assert book.entry("Scheduler", "treadle").taken == {}


def test_when_the_object_is_gone_the_defaults_are_back(book: Book) -> None:
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "treadle", {"aliases": ["x"], "nodes": {"scoring": "Spread"}}))
    book.ledger.gone("Scheduler", "", "treadle")

    assert book.serving() == SchedulerSpec("treadle")


def test_settings_that_did_not_change_are_not_told_again(book: Book) -> None:
    body = book.server.create("Scheduler", "treadle", aliases("x"))
    book.ledger.seen("Scheduler", body)
    count = len(book.events)
    book.ledger.seen("Scheduler", book.server.create("Scheduler", "unrelated"))
    book.ledger.seen("Scheduler", book.server.edit(body, aliases("x")))

    assert len(book.events) == count


# -- where an object lives


def test_the_path_of_an_object_is_its_url(book: Book) -> None:
    book.ledger.seen("Queue", book.server.create("Queue", "root.a"))
    book.ledger.seen("Application", book.server.create("Application", "b", namespace="etl"))

    assert book.entry("Queue", "root.a").path == "/apis/treadle.dev/v1alpha1/queues/root.a"
    assert book.entry("Application", "b", "etl").path == "/apis/treadle.dev/v1alpha1/namespaces/etl/applications/b"


def test_what_the_status_of_the_scheduler_remembers_is_told_once_and_only_of_the_one_that_is_served(book: Book) -> None:
    kept = {"removals": [{"application": "ns/a", "node": "n", "until": "1970-01-01T00:01:40Z", "times": 2}]}
    for name in ("treadle", "other"):
        body = book.server.create("Scheduler", name)
        for _ in range(2):
            book.ledger.seen("Scheduler", {**body, "status": kept})
    told = [event for event in book.events if isinstance(event, RemovedLately)]
    assert told == [RemovedLately((Removal("ns/a", "n", 100.0, 2),))]
