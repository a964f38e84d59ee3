"""YARN's REST of reservations over HTTP: each sentence of its rules, what is written, and what its clients are told of the decision."""

from __future__ import annotations

from typing import Any

import pytest

from rest.reviewing import HOUR, ID, NAME, NOW, ROBOT, SECOND, Rest, definition, queue, submission

NOW_MS = NOW * SECOND


def requests(*each: dict[str, Any], interpreter: int = 1) -> dict[str, Any]:
    return {"reservation-request-interpreter": interpreter, "reservation-request": list(each)}


def request(cores: int = 1, hours: int = 1, **changes: Any) -> dict[str, Any]:
    return {"capability": {"memory": 1024 * cores, "vCores": cores}, "num-containers": 1, "duration": hours * HOUR, **changes}


def defined(**changes: Any) -> dict[str, Any]:
    return submission(**{"reservation-definition": definition(**changes)})


# -- ids


async def test_new_ids_are_hadoops_and_count(rest: Rest) -> None:
    answers = [await rest.ask("POST", "/new-reservation") for _ in range(2)]
    assert [(status, said) for status, said, _ in answers] == [
        (200, {"reservation-id": f"reservation_{NOW_MS}_0001"}),
        (200, {"reservation-id": f"reservation_{NOW_MS}_0002"}),
    ]
    assert rest.stored() == []


# -- the rules

SUBMIT: list[tuple[dict[str, Any], str]] = [
    (submission(**{"reservation-id": None}), "Reservation id cannot be null. Please try again specifying a valid reservation id by creating a new reservation id."),
    (submission(queue=None), "The queue is not specified. Please try again with a valid reservable queue."),
    (submission(queue="root.other"), "The specified queue: root.other is not managed by reservation system. Please try again with a valid reservable queue."),
    (submission(**{"reservation-definition": None}), "Missing reservation definition. Please try again by specifying a reservation definition."),
    (defined(deadline=NOW_MS), f"The specified deadline: {NOW_MS} is the past. Please try again with deadline in the future."),
    (defined(deadline=-5), "The specified deadline: 0 is the past. Please try again with deadline in the future."),
    (defined(**{"reservation-requests": None}), "No resources have been specified to reserve. Please try again by specifying the resources to reserve."),
    (defined(**{"reservation-requests": requests()}), "No resources have been specified to reserve. Please try again by specifying the resources to reserve."),
    (
        defined(arrival=NOW_MS + 2, deadline=NOW_MS + HOUR),
        f"The time difference ({HOUR - 2}) between arrival ({NOW_MS + 2}) and deadline ({NOW_MS + HOUR}) must  be greater or equal to the minimum resource duration ({HOUR})",
    ),
    (
        defined(**{"reservation-requests": requests(request(**{"num-containers": 11, "min-concurrency": 11}))}),
        "The size of the largest gang in the reservation definition (<memory:11264, vCores:11>) exceed the capacity available (<memory:10240, vCores:10> )",
    ),
    (defined(**{"recurrence-expression": "123abc"}), "Invalid period 123abc. Please try again with a non-negative long value as period."),
    (defined(**{"recurrence-expression": "-1234"}), "Negative Period : -1234. Please try again with a non-negative long value as period."),
    (
        defined(**{"recurrence-expression": HOUR}),
        f"Duration of the requested reservation: {4 * HOUR} is greater than the recurrence: {HOUR}. Please try again with a smaller duration.",
    ),
    (
        defined(**{"recurrence-expression": 43_200_001}),
        "The maximum periodicity: 86400000 must be divisible by the recurrence expression provided: 43200001. Please try again with a recurrence expression that satisfies this requirement.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), SUBMIT)
async def test_a_rule_that_is_broken_is_told_in_hadoops_words_and_nothing_is_written(
    rest: Rest, body: dict[str, Any], message: str
) -> None:
    assert await rest.refusal("POST", "/submit", body) == (400, message)
    assert rest.stored() == []


async def test_the_first_rule_that_is_broken_is_told(rest: Rest) -> None:
    worst = {"deadline": 1, "recurrence-expression": "x", "reservation-requests": None}
    bodies = (
        {"reservation-definition": worst},
        {"reservation-id": ID, "reservation-definition": worst},
        {"reservation-id": ID, "queue": "other", "reservation-definition": worst},
        {"reservation-id": ID, "queue": "root.plan", "reservation-definition": worst},
        {"reservation-id": ID, "queue": "root.plan", "reservation-definition": {**worst, "deadline": 2 * NOW_MS}},
        {
            "reservation-id": ID,
            "queue": "root.plan",
            "reservation-definition": definition(**{"recurrence-expression": "x", "arrival": 2 * NOW_MS}),
        },
    )
    told = [(await rest.refusal("POST", "/submit", body))[1][:28] for body in bodies]
    assert told == [
        "Reservation id cannot be nul",
        "The queue is not specified. ",
        "The specified queue: other i",
        "The specified deadline: 1 is",
        "No resources have been speci",
        "The time difference (-189998",
    ]


async def test_of_what_is_enough_with_any_one_request_neither_length_nor_size_are_asked(rest: Rest) -> None:
    body = defined(**{"reservation-requests": requests(request(), request(cores=11, hours=9), interpreter=0)})
    assert (await rest.ask("POST", "/submit", body))[0] == 202


@pytest.mark.parametrize("path", ["/update", "/delete"])
async def test_updates_and_deletions_need_a_reservation_with_a_plan(rest: Rest, path: str) -> None:
    body = {"reservation-definition": definition()} if path == "/update" else {}
    assert await rest.refusal("POST", path, body) == (
        400,
        "Missing reservation id. Please try again by specifying a reservation id.",
    )
    body["reservation-id"] = ID
    unknown = f"The specified reservation with ID: {ID} is unknown. Please try again with a valid reservation."
    assert await rest.refusal("POST", path, body) == (400, unknown)
    await rest.ask("POST", "/submit", submission())
    rest.ledger.gone("Queue", "", "root.plan", "root.plan")
    without = f"The specified reservation: {ID} is not associated with any valid plan. Please try again with a valid reservation."
    assert await rest.refusal("POST", path, body) == (400, without)


@pytest.mark.parametrize(
    ("body", "message"), [case for case in SUBMIT if case[0]["reservation-id"] and case[0]["queue"] == "root.plan"]
)
async def test_an_update_is_checked_like_a_submission(rest: Rest, body: dict[str, Any], message: str) -> None:
    await rest.ask("POST", "/submit", submission())
    (before,) = rest.stored()
    update = {key: value for key, value in body.items() if key != "queue"}
    assert await rest.refusal("POST", "/update", update) == (400, message)
    assert rest.stored() == [before]


async def test_the_words_of_lists(rest: Rest) -> None:
    refusals = {
        "?queue=": "The queue is not specified. Please try again with a valid reservable queue.",
        "": "The specified queue: default is not managed by reservation system. Please try again with a valid reservable queue.",
        "?queue=root.plan&start-time=5&end-time=4": "The specified end time must be greater than the specified start time.",
    }
    assert {query: await rest.refusal("GET", f"/list{query}") for query in refusals} == {
        query: (400, message) for query, message in refusals.items()
    }


# -- submitting


async def test_a_submission_becomes_a_reservation_that_says_the_same(rest: Rest) -> None:
    status, said, headers = await rest.ask("POST", "/submit", submission())
    assert (status, said) == (202, None)
    assert headers["Location"] == f"{rest.url}/ws/v1/cluster/reservation/list?queue=root.plan&reservation-id={ID}"
    (made,) = rest.stored()
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == (NAME, "etl")
    assert made["metadata"]["annotations"] == {
        "treadle.dev/user": ROBOT,
        "treadle.dev/groups": "system:serviceaccounts",
        "treadle.dev/submitted-by": ROBOT,
        "treadle.dev/submitted-by-groups": "system:serviceaccounts",
        "treadle.dev/reservation-name": "nightly report",
    }
    assert made["spec"] == {
        "queue": "root.plan",
        "arrival": "2030-03-17T18:46:40Z",
        "deadline": "2030-03-17T22:46:40Z",
        "recurrence": "24h",
        "priority": 3,
        "expression": {
            "interpreter": "All",
            "requests": [{"demand": {"memory": "1Gi", "cpu": "1"}, "count": 4, "concurrency": 2, "duration": "1h"}],
        },
    }


async def test_a_refusal_is_told_with_its_cause_and_leaves_nothing_behind(rest: Rest) -> None:
    rest.decide = Rest.refuse
    assert await rest.refusal("POST", "/submit", submission()) == (400, "NoRoom: there is none")
    assert rest.stored() == []


async def test_what_is_not_decided_in_time_is_told_so_and_the_same_request_tells_what_became_of_it(rest: Rest) -> None:
    rest.decide = lambda _: None
    status, message = await rest.refusal("POST", "/submit", submission())
    assert (status, message) == (
        503,
        f"reservation {ID} is written and was not decided on within 10 s: it may be accepted yet; the same request again tells what became of it",
    )
    assert rest.clock <= 10
    rest.decide = Rest.accept
    assert (await rest.ask("POST", "/submit", submission()))[0] == 202
    assert len(rest.stored()) == 1


async def test_the_same_submission_again_changes_nothing_and_another_one_is_refused(rest: Rest) -> None:
    assert (await rest.ask("POST", "/submit", submission()))[0] == 202
    (before,) = rest.stored()
    assert (await rest.ask("POST", "/submit", submission()))[0] == 202
    other = request(hours=2, **{"num-containers": 4, "min-concurrency": 2})
    status, message = await rest.refusal("POST", "/submit", defined(**{"reservation-requests": requests(other)}))
    assert status == 400
    assert message.startswith(
        f"Reservation allocation already exists with the reservation id {ID}, but a different reservation definition"
    )
    assert rest.stored() == [before]


async def test_an_object_that_is_deleted_before_anything_is_decided_is_told_so(rest: Rest) -> None:
    rest.decide = lambda served: [served.api.delete("reservations", NAME, "etl") for _ in served.stored()] and None
    assert await rest.refusal("POST", "/submit", submission()) == (400, "it was deleted before anything was decided")


@pytest.mark.parametrize(("said", "meant"), [("plan", "root.plan"), ("root.plan", "root.plan"), ("late", "root.a.late")])
async def test_a_queue_may_be_named_by_its_last_name_where_that_is_clear(rest: Rest, said: str, meant: str) -> None:
    rest.ledger.seen("Queue", queue("root.a.late"))
    assert (await rest.ask("POST", "/submit", submission(queue=said)))[0] == 202
    assert rest.stored()[0]["spec"]["queue"] == meant


async def test_a_name_that_several_queues_have_is_none(rest: Rest) -> None:
    for path in ("root.a.late", "root.b.late"):
        rest.ledger.seen("Queue", queue(path))
    status, message = await rest.refusal("POST", "/submit", submission(queue="late"))
    assert (status, message[:25]) == (400, "The specified queue: late")


async def test_an_id_that_is_none_is_not_found(rest: Rest) -> None:
    wrong = submission(**{"reservation-id": "nightly"})
    assert await rest.refusal("POST", "/submit", wrong) == (404, "The specified reservation id is invalid: nightly")
    assert (await rest.refusal("GET", "/list?queue=root.plan&reservation-id=No_Id"))[0] == 404


# -- updating and deleting


async def test_an_update_replaces_the_definition_and_keeps_whose_it_is(rest: Rest) -> None:
    await rest.ask("POST", "/submit", submission())
    rest.token = "alice"
    changed = definition(
        priority=-1, **{"recurrence-expression": "0", "reservation-name": "", "reservation-requests": requests(request(cores=2))}
    )
    status, said, _ = await rest.ask("POST", "/update?namespace=etl", {"reservation-id": ID, "reservation-definition": changed})
    assert (status, said) == (200, {})
    (made,) = rest.stored()
    assert set(made["spec"]) == {"queue", "arrival", "deadline", "expression"}
    assert made["spec"]["expression"]["requests"][0] == {
        "demand": {"memory": "2Gi", "cpu": "2"},
        "count": 1,
        "concurrency": 1,
        "duration": "1h",
    }
    assert set(made["metadata"]["annotations"]) == {
        "treadle.dev/user",
        "treadle.dev/groups",
        "treadle.dev/submitted-by",
        "treadle.dev/submitted-by-groups",
    }
    assert made["metadata"]["annotations"]["treadle.dev/user"] == ROBOT
    assert made["status"]["plannedGeneration"] == 2


async def test_an_update_that_is_refused_says_that_what_was_promised_stands(rest: Rest) -> None:
    await rest.ask("POST", "/submit", submission())
    rest.decide = Rest.refuse
    body = {"reservation-id": ID, "reservation-definition": definition(priority=1)}
    assert await rest.refusal("POST", "/update", body) == (400, "NoRoom: there is none; what was promised before stands")
    _, said, _ = await rest.ask("GET", "/list?queue=root.plan")
    (listed,) = said["reservations"]
    assert (listed["treadle"]["in-force"], listed["treadle"]["why-not"]) == (
        False,
        "NoRoom: there is none; what was promised before stands",
    )


async def test_an_object_that_says_more_than_a_definition_can_is_not_updated(rest: Rest) -> None:
    await rest.ask("POST", "/submit", submission())
    made = rest.api.get("reservations", NAME, "etl")
    rest.api.update("reservations", {**made, "spec": {**made["spec"], "recurrence": "0 3 * * *", "timeZone": "Europe/Berlin"}})
    status, message = await rest.refusal("POST", "/update", {"reservation-id": ID, "reservation-definition": definition()})
    assert status == 400
    assert (
        message
        == f"reservation {ID} has spec.recurrence with times of a calendar, which a definition cannot say: edit the Reservation etl/{NAME}"
    )


async def test_objects_of_any_name_are_listed_updated_and_deleted_by_it(rest: Rest) -> None:
    await rest.ask("POST", "/submit", submission())
    made = rest.api.get("reservations", NAME, "etl")
    rest.api.create(
        "reservations",
        {"metadata": {"name": "report", "annotations": made["metadata"]["annotations"]}, "spec": made["spec"]},
        "etl",
    )
    rest.accept()
    _, said, _ = await rest.ask("GET", "/list?queue=plan")
    assert {one["reservation-id"] for one in said["reservations"]} == {ID, "report"}
    update = {"reservation-id": "report", "reservation-definition": definition(priority=9)}
    assert (await rest.ask("POST", "/update", update))[0] == 200
    assert (await rest.ask("POST", "/delete", {"reservation-id": "report"}))[:2] == (200, {})
    assert [one["metadata"]["name"] for one in rest.stored()] == [NAME]


# -- listing


async def test_a_list_has_hadoops_shape(rest: Rest) -> None:
    await rest.ask("POST", "/submit", submission())
    _, said, _ = await rest.ask("GET", "/list?queue=root.plan&include-resource-allocations=true")
    gib = {
        "resourceInformation": [{"name": "memory-mb", "value": 1024, "units": "Mi"}, {"name": "vcores", "value": 1, "units": ""}]
    }
    capability = {"memory": 1024, "vCores": 1, "resourceInformations": gib}
    asked = definition()
    asked["reservation-requests"]["reservation-request"][0]["capability"] = capability
    assert said == {
        "reservations": [
            {
                "acceptance-time": 1_899_997_200_000,
                "user": ROBOT,
                "reservation-id": ID,
                "reservation-definition": asked,
                "resource-allocations": [{"startTime": asked["arrival"], "endTime": asked["deadline"], "resource": capability}],
                "treadle": {"namespace": "etl", "name": NAME, "phase": "Accepted", "in-force": True},
            }
        ]
    }
    again = {"reservation-id": ID, "reservation-definition": said["reservations"][0]["reservation-definition"]}
    assert (await rest.ask("POST", "/submit", {"queue": "root.plan", **again}))[0] == 202  # what is listed may be sent again
    _, said, _ = await rest.ask("GET", "/list?queue=root.plan")
    assert "resource-allocations" not in said["reservations"][0]


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("", True),
        ("&start-time=-7&end-time=-3", True),
        (f"&end-time={NOW_MS + HOUR - 1}", False),
        (f"&end-time={NOW_MS + HOUR}", True),
        (f"&start-time={NOW_MS + 5 * HOUR - 1}", True),
        (f"&start-time={NOW_MS + 5 * HOUR}", False),
        (f"&start-time={NOW_MS + 5 * HOUR}&reservation-id={ID}", True),
        ("&reservation-id=reservation_1_0001", False),
    ],
)
async def test_what_is_listed_has_a_time_in_common_with_the_interval_or_the_id(rest: Rest, query: str, listed: bool) -> None:
    await rest.ask("POST", "/submit", defined(**{"recurrence-expression": "0"}))
    _, said, _ = await rest.ask("GET", f"/list?queue=root.plan{query}")
    assert bool(said["reservations"]) is listed


async def test_what_comes_again_is_listed_for_each_of_its_windows(rest: Rest) -> None:
    await rest.ask("POST", "/submit", submission())
    for hours, listed in ((24 * 9 + 3, True), (24 * 9 + 6, False)):
        at = NOW_MS + hours * HOUR
        _, said, _ = await rest.ask("GET", f"/list?queue=root.plan&start-time={at}&end-time={at + 1}")
        assert bool(said["reservations"]) is listed


async def test_nothing_is_listed_that_nothing_is_promised_to(rest: Rest) -> None:
    rest.decide = lambda _: None
    await rest.ask("POST", "/submit", submission())
    assert (await rest.ask("GET", "/list?queue=root.plan"))[1] == {"reservations": []}


# -- what is no request


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body is not JSON: Input data was truncated"),
        (b"[]", "the body is not what is read here: Expected `object`, got `array`"),
        (submission(deadline=1), "the body is not what is read here: Object contains unknown field `deadline`"),
        (
            defined(arrival="soon"),
            "the body is not what is read here: Expected `int`, got `str` - at `$.reservation-definition.arrival`",
        ),
        (
            defined(**{"reservation-requests": requests(request(), interpreter=4)}),
            "reservation-request-interpreter: 4 is not one of 0 (any), 1 (all), 2 (in order), 3 (in order without gaps)",
        ),
    ],
)
async def test_what_cannot_be_read_is_named(rest: Rest, body: Any, message: str) -> None:
    assert await rest.refusal("POST", "/submit", body) == (400, message)


async def test_xml_is_neither_read_nor_written(rest: Rest) -> None:
    xml = {"headers": {"Content-Type": "application/xml"}}
    assert await rest.refusal("POST", "/submit", b"<x/>", **xml) == (
        415,
        "Content-Type: 'application/xml' is not read here; allowed is application/json",
    )
    assert await rest.refusal("GET", "/list?queue=root.plan", headers={"Accept": "application/xml"}) == (
        406,
        "Accept: 'application/xml' cannot be answered; what is said here is application/json",
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?queue=root.plan&user=x", "user: unknown parameter; allowed are namespace, queue, reservation-id, start-time, end-time, include-resource-allocations"),
        ("?queue=root.plan&start-time=soon", "start-time: 'soon' is not a whole number of ms since the epoch"),
        ("?queue=root.plan&include-resource-allocations=yes", "include-resource-allocations: 'yes' is neither true nor false"),
        ("?queue=root.plan&namespace=No", "namespace: 'No' is not the name of a namespace"),
    ],
)  # fmt: skip
async def test_a_parameter_that_makes_no_sense_is_named(rest: Rest, query: str, message: str) -> None:
    assert await rest.refusal("GET", f"/list{query}") == (400, message)


async def test_plans_of_other_sizes_are_told_as_they_are(rest: Rest) -> None:
    rest.ledger.seen("Queue", queue(version=2, memory="524800Ki", cpu="1500m"))
    _, message = await rest.refusal("POST", "/submit", submission())
    assert "(<memory:2048, vCores:2>) exceed the capacity available (<memory:512.5, vCores:1.5> )" in message


async def test_a_queue_of_which_nothing_is_told_yet_is_no_reason_to_refuse_for_ever(rest: Rest) -> None:
    new = queue("root.new")
    rest.ledger.seen("Queue", {**new, "status": {}})
    status, message = await rest.refusal("POST", "/submit", submission(queue="root.new"))
    assert (status, message) == (503, "queue root.new has nothing that can be promised, or it is not told yet what it has")


async def test_a_resource_that_the_plan_has_nothing_of_is_left_to_the_scheduler(rest: Rest) -> None:
    named = {"resourceInformations": {"resourceInformation": {"name": "example.com/gpu", "value": 3}}}
    body = defined(**{"reservation-requests": requests(request(capability={"memory": 1, "vCores": 1, **named}))})
    assert (await rest.ask("POST", "/submit", body))[0] == 202
    assert rest.stored()[0]["spec"]["expression"]["requests"][0]["demand"] == {
        "memory": "1Mi",
        "cpu": "1",
        "example.com/gpu": "3",
    }
