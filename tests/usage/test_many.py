"""Asking many: who fails, is slow or gone keeps no others from being heard."""

from __future__ import annotations

import asyncio

import pytest

from treadle.usage.many import AT_ONCE, Failed, ask, in_words, patience


async def test_no_more_than_a_few_are_asked_at_once_and_all_in_the_end() -> None:
    now, most = 0, 0

    async def one(name: str) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return name.upper()

    found, failed = await ask([f"n{number}" for number in range(100)], one, 60.0)
    assert (len(found), failed, most) == (100, {}, AT_ONCE)
    assert found["n7"] == "N7"


async def test_who_did_not_answer_before_is_asked_last_and_not_waited_for_for_ever() -> None:
    asked = []

    async def one(name: str) -> int:
        asked.append(name)
        if name.startswith("dead"):
            await asyncio.Event().wait()
        return 1

    dead = {f"dead{number}" for number in range(AT_ONCE)}
    found, failed = await ask([*sorted(dead), "a", "b"], one, 0.05, dead)
    assert set(found) == {"a", "b"}
    assert asked[:2] == ["a", "b"]
    assert set(failed.values()) == {"no answer within 0.05 s"}
    assert failed.keys() == dead


async def test_an_error_that_nobody_expects_is_not_hidden() -> None:
    async def one(_: str) -> int:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await ask(["a"], one, 60.0)


async def test_who_fails_is_named_with_why() -> None:
    async def one(name: str) -> int:
        raise Failed(f"{name} has no sample")

    found, failed = await ask(["a", "b", "c", "d"], one, 60.0)
    assert found == {}
    words = "4 of 9 agents do not tell what is used: a: a has no sample; b: b has no sample; c: c has no sample; and 1 more"
    assert in_words(failed, 9, "agents") == words
    assert in_words({}, 9, "agents") == ""


def test_answers_are_waited_for_for_a_part_of_the_age_of_samples() -> None:
    assert (patience(60.0), patience(1.0)) == (15.0, 2.0)
