"""What a request about a reservation must say, rule by rule and in YARN's order (worked examples of ``TestReservationInputValidator``)."""

from __future__ import annotations

import pytest

from core.rules.reservations.plans import ask, size
from treadle.core.model.reservations import Interpreter, ReservationDefinition
from treadle.core.rules.capacity.calculators import MemoryOnly
from treadle.core.rules.reservations.validation import Invalid, Known, Planned, Rule, deletion, listing, submission, update

PLAN = Planned(size(10), MemoryOnly(2, (0, 1)))
KNOWN = Known({"plan": PLAN}, {"r1": "plan", "r2": "gone"})
GOOD = ask(1, 5, (1, 1, 3))


def test_what_is_right_has_a_plan() -> None:
    assert submission(KNOWN, "new", "plan", GOOD, 1) is PLAN
    assert update(KNOWN, "r1", GOOD, 1) is PLAN
    assert deletion(KNOWN, "r1") is PLAN
    assert listing(KNOWN, "plan", -1, -1) is PLAN


@pytest.mark.parametrize(
    ("definition", "rule", "numbers"),
    [
        (None, Rule.DEFINITION_MISSING, ()),
        (ask(1, 0, (1, 1, 3)), Rule.DEADLINE_PAST, (0,)),
        (ReservationDefinition(1, 5), Rule.NO_REQUESTS, ()),
        (ask(1, 3, (1, 1, 4)), Rule.TOO_SHORT, (2, 1, 3, 4)),
        (ask(1, 5, (1, 1, 3), (1, 1, 2), interpreter=Interpreter.ORDER), Rule.TOO_SHORT, (4, 1, 5, 5)),
        (ask(1, 5, (11, 11, 3)), Rule.GANG_TOO_LARGE, (11264, 11, 10240, 10)),
        (ask(1, 5, (1, 1, 3), recurrence=-1234), Rule.PERIOD_NEGATIVE, (-1234,)),
        (ask(1, 50, (1, 1, 3), recurrence=10), Rule.PERIOD_TOO_SHORT, (49, 10)),
        (ask(1, 5, (1, 1, 3), recurrence=43_200_001), Rule.PERIOD_NO_DIVISOR, (86_400_000, 43_200_001)),
    ],
)
def test_the_first_rule_that_is_broken_is_told_with_its_numbers(
    definition: ReservationDefinition | None, rule: Rule, numbers: tuple[int, ...]
) -> None:
    with pytest.raises(Invalid) as told:
        submission(KNOWN, "new", "plan", definition, 1)
    assert (told.value.rule, told.value.numbers) == (rule, numbers)


@pytest.mark.parametrize("text", ["", "x", "123abc", " 5", "1_0", "9223372036854775808"])
def test_a_period_is_a_whole_number(text: str) -> None:
    definition = ReservationDefinition(1, 5, GOOD.requests, recurrence=text)
    with pytest.raises(Invalid, match="is no period in ms") as told:
        submission(KNOWN, "new", "plan", definition, 1)
    assert told.value.rule is Rule.PERIOD_INVALID


def test_one_of_several_need_not_fit() -> None:
    submission(KNOWN, "new", "plan", ask(1, 5, (1, 1, 3), (11, 11, 9), interpreter=Interpreter.ANY), 1)


def test_names_and_queues() -> None:
    for rule, call in (
        (Rule.ID_MISSING, lambda: submission(KNOWN, None, "plan", GOOD, 1)),
        (Rule.QUEUE_MISSING, lambda: submission(KNOWN, "new", "", GOOD, 1)),
        (Rule.QUEUE_UNKNOWN, lambda: submission(KNOWN, "new", "other", GOOD, 1)),
        (Rule.ID_MISSING, lambda: update(KNOWN, None, GOOD, 1)),
        (Rule.RESERVATION_UNKNOWN, lambda: deletion(KNOWN, "r5")),
        (Rule.WITHOUT_PLAN, lambda: deletion(KNOWN, "r2")),
        (Rule.INTERVAL, lambda: listing(KNOWN, "other", 10, 0)),
        (Rule.QUEUE_UNKNOWN, lambda: listing(KNOWN, "other", 0, 10)),
    ):
        with pytest.raises(Invalid) as told:
            call()
        assert told.value.rule is rule
