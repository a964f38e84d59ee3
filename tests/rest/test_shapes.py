"""Definitions of YARN's clients and Reservations say the same, to the byte, the thousandth and the millisecond."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.api.objects import parse
from treadle.rest import forms, shapes
from treadle.rest.answers import Refused

MIB = 1 << 20


def capability(**said: Any) -> forms.Capability:
    return forms.read(msgspec.json.encode(said), forms.Capability)


def named(*amounts: tuple[str, int, str]) -> dict[str, Any]:
    each = [{"name": name, "value": value, "units": units} for name, value, units in amounts]
    return {"resourceInformations": {"resourceInformation": each}}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (capability(memory=1024, vCores=2), {"memory": 1024 * MIB, "cpu": 2000}),
        (capability(memory="1024", vCores="2"), {"memory": 1024 * MIB, "cpu": 2000}),
        (capability(memory=1), {"memory": MIB, "cpu": 0}),
        (
            capability(memory=1024, vCores=1, **named(("nvidia.com/gpu", 2, ""))),
            {"memory": 1024 * MIB, "cpu": 1000, "nvidia.com/gpu": 2},
        ),
        (capability(**named(("memory-mb", 3, "Gi"), ("vcores", 1500, "m"))), {"memory": 3072 * MIB, "cpu": 1500}),
        (
            capability(memory=2, vCores=2, **named(("memory-mb", MIB + 1, ""), ("vcores", 1001, "m"))),
            {"memory": MIB + 1, "cpu": 1001},
        ),
    ],
)
def test_what_a_container_has(said: forms.Capability, meant: dict[str, int]) -> None:
    assert shapes.demand(said, "capability") == meant


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (capability(memory=-1), "capability.memory: -1 is below 0"),
        (capability(vCores=-2), "capability.vCores: -2 is below 0"),
        (capability(memory=1024, **named(("memory-mb", 2, "Gi"))), "2Gi of memory-mb is not what is said of it elsewhere"),
        (capability(**named(("vcores", 1, ""), ("vcores", 2, ""))), "2 of vcores is not what is said of it elsewhere"),
        (capability(**named(("gpu", 1, "p"))), ".units: 'p' is not one of Gi, G"),
        (capability(**named(("gpu", -1, ""))), ".value: -1 is below 0"),
        (capability(**named(("gpu", 1 << 62, "Ki"))), "is out of range"),
    ],
)
def test_amounts_that_contradict_or_cannot_be_counted_are_refused(said: forms.Capability, words: str) -> None:
    with pytest.raises(Refused) as told:
        shapes.demand(said, "capability")
    assert told.value.status == 400
    assert words.replace("Gi, G", "G, Gi") in told.value.message


requests = st.fixed_dictionaries(
    {
        "capability": st.fixed_dictionaries({"memory": st.integers(0, 1 << 40), "vCores": st.integers(1, 1 << 20)}),
        "num-containers": st.integers(1, 1000).map(lambda count: count * 6),
        "min-concurrency": st.sampled_from([1, 2, 3, 6]),
        "duration": st.integers(1, 1 << 40),
    }
)
definitions = st.fixed_dictionaries(
    {
        "arrival": st.integers(0, 1 << 43),
        "deadline": st.integers((1 << 43) + 1, 1 << 44),
        "reservation-name": st.text(max_size=40),
        "priority": st.integers(-1, (1 << 31) - 1),
        "recurrence-expression": st.integers(0, 1 << 40).map(str),
        "reservation-requests": st.fixed_dictionaries(
            {
                "reservation-request-interpreter": st.integers(0, 3),
                "reservation-request": st.lists(requests, min_size=1, max_size=4),
            }
        ),
    }
)


@given(definitions)
def test_a_definition_is_the_same_after_it_was_an_object(said: dict[str, Any]) -> None:
    read = forms.read(msgspec.json.encode(said), forms.Definition)
    body = shapes.body("r", "ns", "root.plan", read)
    shown = shapes.definition(parse("Reservation", body))
    for one in shown["reservation-requests"]["reservation-request"]:
        assert one["capability"].pop("resourceInformations")
    assert shown == said
    again = forms.read(msgspec.json.encode(shapes.definition(parse("Reservation", body))), forms.Definition)
    assert shapes.body("r", "ns", "root.plan", again) == body


def definition(**changes: Any) -> forms.Definition:
    request = {"capability": {"memory": 1024, "vCores": 1}, "num-containers": 4, "min-concurrency": 2, "duration": 1000}
    request |= changes.pop("request", {})
    said = {"arrival": 0, "deadline": 10_000, "reservation-requests": {"reservation-request": request}, **changes}
    return forms.read(msgspec.json.encode(said), forms.Definition)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (definition(arrival=1 << 62), f"arrival: {1 << 62} ms after 1970 is not a time before the year 10000"),
        (definition(deadline=1 << 47), "spec.deadline"),
        (definition(arrival=10_000), "spec.arrival: arrival must be before deadline"),
        (definition(priority=-2), "spec.priority: -2"),
        (definition(request={"duration": 0}), "reservation-request[0].duration: 0 is not above 0"),
        (definition(request={"capability": {}}), "reservation-request[0].capability: asks for nothing"),
        (definition(request={"num-containers": 3}), "spec.expression.requests.0.count: count must be a multiple of concurrency"),
        (definition(request={"num-containers": 0}), "spec.expression.requests.0.count: 0"),
    ],
)
def test_what_an_object_cannot_say_is_refused_with_its_field(said: forms.Definition, words: str) -> None:
    with pytest.raises(Refused) as told:
        shapes.body("r", "ns", "root.plan", said)
    assert told.value.status == 400
    assert words in told.value.message


def test_amounts_that_are_no_whole_ones_are_shown_rounded_up_and_exactly() -> None:
    shown = shapes.capability([("memory", MIB + 1), ("cpu", 1001), ("example.com/x", 7)])
    assert (shown["memory"], shown["vCores"]) == (2, 2)
    assert shown["resourceInformations"]["resourceInformation"] == [
        {"name": "memory-mb", "value": MIB + 1, "units": ""},
        {"name": "vcores", "value": 1001, "units": "m"},
        {"name": "example.com/x", "value": 7, "units": ""},
    ]


def test_times_of_a_calendar_are_shown_as_they_are_written() -> None:
    body = shapes.body("r", "ns", "root.plan", definition())
    calendar = parse("Reservation", {**body, "spec": {**body["spec"], "recurrence": "0 3 * * 1-5", "timeZone": "Europe/Berlin"}})
    assert shapes.definition(calendar)["recurrence-expression"] == "0 3 * * 1-5"
    assert shapes.unsaid(calendar) == "spec.recurrence with times of a calendar"
    assert shapes.unsaid(parse("Reservation", body)) == ""
