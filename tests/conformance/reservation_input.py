"""Cases of requests about reservations: which rule is broken first, and with which numbers. Hadoop's sentences are not ours, so their hashes are not compared."""

from __future__ import annotations

import re
from typing import Any

from conformance.reservations import calculator_of, definition_of
from treadle.core.model.reservations import ReservationDefinition
from treadle.core.rules.reservations.plan import DAY
from treadle.core.rules.reservations.validation import Invalid, Known, Planned, Rule, deletion, listing, submission, update

QUOTED = {Rule.RESERVATION_UNKNOWN, Rule.WITHOUT_PLAN}
"""Rules whose message names the reservation: the numbers in Hadoop's are those of its id, 1 and the counter."""


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "reservation_input"


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    return {"results": [{name: value for name, value in one.items() if name != "message_sha256"} for one in found["results"]]}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    given = case["plan"]
    plan = Planned(given["capacity"], calculator_of(given.get("calculator", "memory")), given.get("max_periodicity", DAY))
    known = Known({given.get("queue", "plan"): plan}, case.get("known", {}))
    return {"results": [result(known, one, case.get("now", 1)) for one in case["requests"]]}


def result(known: Known, request: dict[str, Any], now: int) -> dict[str, Any]:
    name = None if request.get("id") is None else str(request["id"])
    definition = read(request)
    try:
        match request["op"]:
            case "submit":
                submission(known, name, request.get("queue"), definition, now)
            case "update":
                update(known, name, definition, now)
            case "delete":
                deletion(known, name)
            case _:
                listing(known, request.get("queue"), request.get("start", -1), request.get("end", -1))
    except Invalid as error:
        numbers = list(error.numbers)
        if error.rule in QUOTED:
            numbers = [1, int(name or "0")]
        if error.rule is Rule.PERIOD_INVALID and definition is not None:
            numbers = [int(one) for one in re.findall(r"-?\d+", definition.recurrence)]
        return {"error": "YarnException", "rule": error.rule.value, "numbers": numbers}
    return {"ok": True}


def read(request: dict[str, Any]) -> ReservationDefinition | None:
    """A definition as Hadoop's records hold it: a deadline below zero is none."""
    given = request.get("definition")
    return None if given is None else definition_of(given, given["arrival"], max(given["deadline"], 0))
