"""In front of which reservations room is kept, how much, and until when: those that are promised more soon, or were a moment ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.forms import when
from treadle.core.kernel.reservations.memory import Coming
from treadle.core.rules.reservations.over_time import most

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.rules.reservations.over_time import Amounts
    from treadle.core.rules.reservations.plan import Reservation


def coming(state: State, one: PlanInForce, given: Mapping[str, Amounts], now: int) -> list[Coming]:
    """Return for which reservations of a plan something is kept now: as much as they are promised more of, and are ``given`` of their plan by now."""
    lead, found = one.spec.lead, []
    for identity, guaranteed in given.items():
        rises = list(_rises(one.plan.reservations[identity], now, lead)) if lead else []
        if not rises:
            continue
        wanted = rises[0][1]
        for _, value in rises[1:]:
            wanted = most(wanted, value)
        first, last = rises[0][0], rises[-1][0]
        times = first, when(state, first), when(state, last + lead)
        for partition, amounts in one.dimensions.parts(tuple(min(pair) for pair in zip(wanted, guaranteed, strict=True))):
            if any(amounts):
                found.append(Coming(identity, one.children[identity], *times, amounts, partition))
    return found


def _rises(each: Reservation, now: int, lead: int) -> Iterator[tuple[int, Amounts]]:
    """Yield when a reservation is promised more than before, from ``lead`` ago until ``lead`` ahead, and what of it it still has, or will have."""
    before = each.at(now - lead)
    for start, _, said in each.segments(now - lead, now + lead + 1):
        value = said if each.active(start) else each.shape.nothing
        if any(new > old for new, old in zip(value, before, strict=True)):
            yield start, value if start > now else tuple(min(pair) for pair in zip(value, each.at(now), strict=True))
        before = value
