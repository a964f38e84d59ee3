"""What the status of a Reservation keeps: decisions are read back as they were written, by whoever leads next."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.bodies import Json
from controllers.clusters import Cluster, condition
from treadle.api.reservation import ReservationStatus
from treadle.controllers.plans import plan_text
from treadle.controllers.reservations import decision_of, duration, milliseconds, rfc3339, status_of
from treadle.core.events import ReservationGone, ReservationLost, ReservationSeen
from treadle.core.model.reservations import Decision, PlanSpec, Promise
from treadle.core.views.reservations import ReservationFigures

TAKES: Json = {"fair": {"weight": "1"}, "reservations": {"policy": "NoOverCommit"}}


def reservation(cpu: str = "5", hours: str = "1h", **fields: Any) -> Json:
    return {
        "queue": "root.plan",
        "arrival": "1970-01-01T01:00:00Z",
        "deadline": "1970-01-01T03:00:00Z",
        "expression": {"requests": [{"demand": {"cpu": cpu}, "count": 1, "duration": hours}]},
        **fields,
    }


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.create("Queue", "root.plan", TAKES)
    return cluster


def decided(cluster: Cluster, name: str = "r") -> Json:
    """The status after a pass, which is put into the object as the API server would have it."""
    cluster.plan()
    status = {key: value for key, value in cluster.status("Reservation", name, "ns").items() if value is not None}
    ReservationStatus.model_validate(status)
    return status


def test_an_accepted_one_says_what_it_is_promised_and_when(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(), namespace="ns")
    status = decided(cluster)
    assert condition(status, "Ready") == ("True", "Promised", "")
    assert condition(status, "NotActedOn")[0] == "False"
    assert {key: status[key] for key in ("phase", "plannedGeneration", "allocations", "nextStart")} == {
        "phase": "Accepted",
        "plannedGeneration": 1,
        "allocations": [{"start": "1970-01-01T01:00:00Z", "end": "1970-01-01T02:00:00Z", "demand": {"cpu": "5"}}],
        "nextStart": "1970-01-01T01:00:00Z",
    }
    assert status["accepted"] == {
        "generation": 1,
        "time": "1970-01-01T00:00:01Z",
        "queue": "root.plan",
        "user": "ns",
        "arrival": "1970-01-01T01:00:00Z",
        "deadline": "1970-01-01T03:00:00Z",
    }


def test_a_refused_one_says_the_rule_and_the_numbers(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(cpu="50"), namespace="ns")
    status = decided(cluster)
    assert (status["phase"], "accepted" in status) == ("Rejected", False)
    words = "spec.expression.requests: the largest gang asks for cpu 50, and queue root.plan has cpu 10"
    assert condition(status, "Ready") == ("False", "GangTooLarge", words)


def test_one_that_comes_again_is_kept_once(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(recurrence="6h"), namespace="ns")
    status = decided(cluster)
    assert status["accepted"]["period"] == "6h"
    assert len(status["allocations"]) == 1


@pytest.mark.parametrize(
    "spec",
    [
        reservation(),
        reservation(recurrence="24h", arrival="1969-12-25T23:30:00Z", deadline="1969-12-26T01:45:00Z"),
        reservation(recurrence="2h", hours="2h"),
        reservation(recurrence="0 3 * * *", timeZone="Europe/Berlin"),
        reservation(recurrence="30 */2 * * *", timeZone="Australia/Lord_Howe", arrival="1970-01-01T02:00:00Z"),
        reservation(cpu="50"),
        reservation(cpu="333m", hours="17m30s"),
        reservation(
            expression={
                "requests": [{"demand": {"cpu": "4"}, "count": 4, "concurrency": 4, "minimumConcurrency": 1, "duration": "30m"}]
            }
        ),
    ],
)
def test_a_decision_is_read_as_it_was_written(cluster: Cluster, spec: Json) -> None:
    cluster.create("Reservation", "r", spec, namespace="ns")
    status = decided(cluster)
    figures = cluster.core.view.reservation("ns/r")
    assert figures is not None
    assert decision_of(status) == figures.decided


def test_the_decision_on_an_update_that_was_refused_is_read_as_it_was_written(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(), namespace="ns")
    cluster.plan()
    cluster.edit("r", reservation(cpu="50"))
    status = decided(cluster)
    figures = cluster.core.view.reservation("ns/r")
    assert figures is not None
    assert decision_of(status) == figures.decided
    assert condition(status, "Ready")[2].endswith("; what was promised before stands")
    assert (status["phase"], status["accepted"]["generation"], status["plannedGeneration"]) == ("Accepted", 1, 2)


@pytest.mark.parametrize(
    "status",
    [
        {},
        *(
            {
                "plannedGeneration": 1,
                "accepted": {
                    "generation": 1,
                    "time": "1970-01-01T00:00:01Z",
                    "queue": "root.plan",
                    "arrival": "1970-01-01T00:00:01Z",
                    "deadline": "1970-01-01T00:00:02Z",
                    "period": "1h",
                    "starts": starts,
                },
            }
            for starts in (["1m"], ["0s", "1h"], ["0s", "5m", "5m"], ["0s", "5m", "1m"])
        ),
        {"plannedGeneration": "x"},
        {"plannedGeneration": 1, "accepted": {"generation": 1}},
        {"plannedGeneration": 1, "allocations": [{"start": "now", "end": "then", "demand": {}}]},
        {
            "plannedGeneration": 1,
            "accepted": {
                "generation": 1,
                "time": "1970-01-01T00:00:01Z",
                "queue": "root.plan",
                "arrival": "1970-01-01T00:00:01Z",
                "deadline": "1970-01-01T00:00:01Z",
            },
            "allocations": [{"start": "1970-01-01T00:00:01Z", "end": "1970-01-01T00:00:02Z", "demand": {"cpu": "much"}}],
        },
    ],
)
def test_a_status_that_makes_no_sense_keeps_nothing(status: Json) -> None:
    assert decision_of(status) is None


def calendar(recurrence: str = "0 3 * * *", time_zone: str = "Europe/Berlin", **fields: Any) -> Json:
    return reservation(recurrence=recurrence, timeZone=time_zone, **fields)


def test_times_of_a_calendar_are_promised_by_summer_time_and_without(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", calendar(), namespace="ns")
    status = decided(cluster)
    assert condition(status, "Ready") == ("True", "Promised", "")
    assert condition(status, "NotActedOn")[0] == "False"
    assert status["allocations"] == [{"start": "1970-01-01T01:00:00Z", "end": "1970-01-01T03:00:00Z", "demand": {"cpu": "5"}}]
    accepted = {name: status["accepted"][name] for name in ("arrival", "deadline", "period", "starts")}
    assert accepted == {
        "arrival": "1970-01-01T01:00:00Z",
        "deadline": "1970-01-01T03:00:00Z",
        "period": "24h",
        "starts": ["0s", "1h"],
    }
    assert status["nextStart"] == "1970-01-01T01:00:00Z"


def test_a_week_is_a_cycle_of_a_queue_that_says_so(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", calendar("0 3 * * 1-5", "UTC"), namespace="ns")
    reason, words = condition(decided(cluster), "Ready")[1:]
    assert (reason, "does not divide the longest period of queue root.plan, which is 24h" in words) == ("PeriodNoDivisor", True)
    cluster.edit("root.plan", {**TAKES, "reservations": {**TAKES["reservations"], "maximumPeriod": "168h"}})
    cluster.edit("r", calendar("0 3 * * 1-5", "UTC", hours="30m"))
    status = decided(cluster)
    assert [one["start"] for one in status["allocations"]] == [
        "1970-01-01T03:00:00Z",  # a Thursday
        "1970-01-02T03:00:00Z",
        "1970-01-05T03:00:00Z",
        "1970-01-06T03:00:00Z",
        "1970-01-07T03:00:00Z",
    ]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (calendar("0 3 1 * *"), "spec.recurrence: '0 3 1 * *' says 1 for the day of the month, which must be *"),
        (calendar("daily"), "spec.recurrence: 'daily' is neither a period nor a cron expression of five fields"),
        (calendar(time_zone="Mars/Olympus"), "spec.timeZone: 'Mars/Olympus' is no time zone"),
    ],
)
def test_what_is_no_calendar_is_invalid_and_leaves_what_was_promised(cluster: Cluster, spec: Json, words: str) -> None:
    cluster.create("Reservation", "r", spec, namespace="ns")
    status = decided(cluster)
    assert (status["phase"], condition(status, "Ready")[1], words in condition(status, "Ready")[2]) == (
        "Pending",
        "Invalid",
        True,
    )
    cluster.edit("r", calendar())
    assert decided(cluster)["phase"] == "Accepted"
    cluster.edit("r", spec)
    status = decided(cluster)
    assert (status["phase"], status["accepted"]["starts"]) == ("Accepted", ["0s", "1h"])
    assert (condition(status, "Ready")[1], words in condition(status, "Ready")[2]) == ("LastGoodInForce", True)
    other = Cluster()
    other.create("Queue", "root.plan", TAKES)
    body = other.server.status(
        other.server.edit(other.server.create("Reservation", "r", calendar(), namespace="ns"), spec), status
    )
    other.ledger.seen("Reservation", body)  # a restart: what is promised is known from the status alone
    other.plan()
    figures, before = other.core.view.reservation("ns/r"), cluster.core.view.reservation("ns/r")
    assert figures is not None
    assert before is not None
    assert (figures.phase, figures.next_start, figures.decided) == (before.phase, before.next_start, before.decided)


def test_a_time_zone_beside_a_period_is_not_acted_on_and_nobody_reads_it(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(recurrence="24h", timeZone="Mars/Olympus"), namespace="ns")
    status = decided(cluster)
    assert (status["phase"], condition(status, "NotActedOn")[::2]) == (
        "Accepted",
        ("True", "accepted but not acted on yet: spec.timeZone"),
    )


def test_the_plan_shows_each_time(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", calendar("0 3,9 * * *", "UTC"), namespace="ns")
    body = cluster.server.status(cluster.bodies["r"], decided(cluster))
    queue = {"metadata": {"name": "root.plan"}, "status": {"steadyFairShare": {"cpu": "10"}}}
    text = plan_text(queue, [body], 0, milliseconds("1970-01-02T12:00:00Z"))
    assert [line[:20] for line in text.splitlines() if line.endswith("ns/r")] == [
        "1970-01-01T03:00:00Z",
        "1970-01-01T09:00:00Z",
        "1970-01-02T03:00:00Z",
        "1970-01-02T09:00:00Z",
    ]


# -- the ledger


def events_of(cluster: Cluster) -> list[Any]:
    told: list[Any] = []
    emit = cluster.ledger._emit

    def note(event: Any) -> None:
        told.append(event)
        emit(event)

    cluster.ledger._emit = note  # type: ignore[method-assign]
    return told


def test_what_a_status_keeps_is_told_when_it_changes_and_no_other_change_of_it(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(), namespace="ns")
    status, told = decided(cluster), events_of(cluster)
    body = cluster.server.status(cluster.bodies["r"], status)
    cluster.ledger.seen("Reservation", body)
    cluster.ledger.seen("Reservation", cluster.server.status(body, {**status, "nextStart": None}))
    assert [(type(event), event.decided.generation) for event in told] == [(ReservationSeen, 1)]


def test_a_version_that_makes_no_sense_leaves_what_was_promised(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(), namespace="ns")
    cluster.plan()
    cluster.edit("r", reservation(cpu="-1"))
    status = decided(cluster)
    assert (status["phase"], condition(status, "Ready")[1]) == ("Accepted", "LastGoodInForce")
    assert status["allocations"]


def test_one_that_is_gone_is_told_so(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(), namespace="ns")
    told = events_of(cluster)
    cluster.delete("Reservation", "r", "ns")
    assert told == [ReservationGone("ns/r")]


def test_one_whose_decision_was_not_written_is_told_again_with_the_next_word_of_it(cluster: Cluster) -> None:
    cluster.create("Reservation", "r", reservation(), namespace="ns")
    cluster.plan()
    told = events_of(cluster)
    cluster.ledger.unwritten(cluster.ledger.entries["Reservation", "ns", "r"])
    assert told == [ReservationLost("ns/r")]
    cluster.plan()
    assert cluster.status("Reservation", "r", "ns")["phase"] == "Pending"
    cluster.ledger.seen("Reservation", cluster.server.status(cluster.bodies["r"], {}))
    cluster.plan()
    assert cluster.status("Reservation", "r", "ns")["phase"] == "Accepted"


# -- words


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (1_796_086_800_123, "2026-12-01T01:00:00.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_written_and_read(time: int, text: str) -> None:
    assert (rfc3339(time), milliseconds(text)) == (text, time)


@pytest.mark.parametrize(("time", "text"), [(0, "0s"), (90_061_001, "25h1m1s1ms"), (86_400_000, "24h"), (60_000, "1m")])
def test_lengths_of_time_are_written(time: int, text: str) -> None:
    assert duration(time) == text


# -- queues


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"reservations": {"window": "1s"}}, "spec.reservations.window: '1s' is not between 10m and 720h"),
        (
            {"reservations": {"fromHistory": {"timeZone": "Mars/Olympus"}}},
            "spec.reservations.fromHistory.timeZone: 'Mars/Olympus' is no time zone; allowed are names of the time zone database such as Europe/Berlin",
        ),
        ({"reservations": {"leadTime": "2h"}}, "spec.reservations.leadTime: '2h' is not between 0s and 1h"),
        ({"reservations": {"maximumPeriod": "1m"}}, "spec.reservations.maximumPeriod: '1m' is not between 10m and 768h"),
        (
            {"reservations": {}, "fair": {"schedulingPolicy": "fifo"}},
            "spec.fair.schedulingPolicy: 'fifo' is for leaf queues, and one that takes reservations holds queues; allowed are drf, fair",
        ),
        (
            {"reservations": {}, "capacity": {"autoCreation": {"enabled": True}}},
            "spec.capacity.autoCreation.enabled: no queues are made below one that takes reservations but for these",
        ),
    ],
)
def test_a_queue_that_cannot_take_reservations_in_this_way_says_why(cluster: Cluster, spec: Json, words: str) -> None:
    cluster.create("Queue", "root.odd", spec)
    assert cluster.ready("Queue", "root.odd") == ("False", "Invalid", words)


def test_what_a_queue_says_of_its_plan_is_what_the_core_has(cluster: Cluster) -> None:
    said = {
        "agent": "Greedy",
        "smoothness": 3,
        "favorEarlyAllocation": False,
        "policy": "CapacityOverTime",
        "window": "2h",
        "instantaneousMaxCapacity": 50,
        "averageCapacity": 25,
        "moveOnExpiry": False,
        "leadTime": "30s",
        "enforcementWindow": "10m",
        "replanAfter": "0s",
        "maximumPeriod": "168h",
    }
    cluster.create("Queue", "root.full", {"reservations": said})
    cluster.plan()
    hour = 3_600_000
    assert cluster.core.state.plans.of["root.full"].spec == PlanSpec(
        "Greedy", 3, False, "CapacityOverTime", 2 * hour, 0.5, 0.25, False, hour // 6, 0, 30_000, 168 * hour
    )
    assert condition(cluster.status("Queue", "root.full"), "NotActedOn")[0] == "False"


def test_intervals_of_partitions_are_read_back_as_they_were_written() -> None:
    steps = ((1000, 2000, (("cpu", 2000), ("gpu:cpu", 500), ("gpu:nvidia.com/gpu", 1))), (2000, 3000, (("big:memory", 1 << 30),)))
    promise = Promise(1, "root.plan", "ann", 1, 1000, 4000, 0, steps, more=((3000, 4000, (("gpu:cpu", 1000),)),))
    written = status_of(ReservationFigures("Accepted", Decision(1, promise), 1000, "", "", ""))
    assert [(one.get("partition", ""), one["demand"]) for one in written["allocations"]] == [
        ("", {"cpu": "2"}),
        ("gpu", {"cpu": "500m", "nvidia.com/gpu": "1"}),
        ("big", {"memory": "1Gi"}),
    ]
    kept = decision_of({name: value for name, value in written.items() if value is not None})
    assert kept is not None
    assert kept.promise == promise
