"""The program of a set says what it should: its best answers are those that a look at every answer finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from treadle.core.rules.constraints.formulas import Counted, Described, Every, Formula, Some, TooLarge
from treadle.core.rules.constraints.patterns import Ground, Item
from treadle.core.rules.constraints.program import Ceiling, Place, Statement, Worth, worth
from treadle.runtime.solver import Highs

NODE, RACK = 0, 1
CPU = 0


def ground(
    free: list[int],
    racks: list[int] | None = None,
    here: list[list[int]] | None = None,
    costs: list[list[int]] | None = None,
    items: int = 1,
    says: list[list[bool]] | None = None,
) -> Ground:
    """Nodes with one type of resource; what is on them is in their racks too."""
    nodes = len(free)
    racks = racks or [0] * nodes
    counted = np.array(here or [], dtype=np.int64).reshape(-1, nodes)
    there: dict[tuple[int, int], dict[int, int]] = {}
    for count, row in enumerate(counted.tolist()):
        for node, number in enumerate(row):
            if number and racks[node] >= 0:
                in_rack = there.setdefault((count, RACK), {})
                in_rack[racks[node]] = in_rack.get(racks[node], 0) + number
    return Ground(
        free=np.array([free], dtype=np.int64),
        admits=np.ones((items, nodes), dtype=np.bool_),
        says=np.array(says or [], dtype=np.bool_).reshape(-1, nodes),
        domains=np.array([range(nodes), racks], dtype=np.int64),
        here=counted,
        costs=np.array(costs or [[0] * nodes] * items, dtype=np.int64).reshape(items, nodes),
        there=there,
    )


def solved(items: list[Item], on: Ground, ceilings: tuple[Ceiling, ...] = (), before: list[int] | None = None) -> list[Place]:
    statement = Statement(items, with_large(items, on), ceilings, before or [0] * len(items))
    if not statement.columns:
        return []
    solution = Highs().solve(statement.program, 10.0)
    assert solution.outcome == "best", solution
    return statement.read(solution.values)


def with_large(items: list[Item], on: Ground) -> Ground:
    return replace(on, large=((CPU, max(item.demand[0][1] for item in items)),))


def number(places: list[Place]) -> int:
    return len(places)


def test_pods_that_keep_apart_go_to_nodes_of_their_own() -> None:
    apart = Item(3, ((CPU, 1),), counts=frozenset({0}), rule=Counted(0, NODE, most=0))
    places = solved([apart], ground([4, 4], here=[[0, 0]]))

    assert sorted(places) == [(0, 0), (0, 1)]


def test_two_that_each_need_the_other_are_placed_together() -> None:
    first = Item(1, ((CPU, 1),), counts=frozenset({0}), rule=Counted(1, NODE, least=1))
    second = Item(1, ((CPU, 1),), counts=frozenset({1}), rule=Counted(0, RACK, least=1))
    places = solved([first, second], ground([1, 2], here=[[0, 0], [0, 0]], items=2))

    assert sorted(places) == [(0, 1), (1, 1)]


def test_no_more_than_a_queue_may_have() -> None:
    assert number(solved([Item(5, ((CPU, 2),))], ground([10, 10]), (Ceiling((2,), 7),))) == 3


def test_of_equal_answers_wishes_are_heeded_and_then_room_for_large_pods() -> None:
    small, large = Item(1, ((CPU, 1),)), Item(1, ((CPU, 3),))
    wishing = ground([3, 4], items=2, costs=[[0, 50], [0, 0]])

    assert sorted(solved([small, large], wishing)) == [(0, 0), (1, 1)]
    assert solved([Item(1, ((CPU, 1),)), Item(0, ((CPU, 3),))], ground([3, 4, 1], items=2)) in ([(0, 1)], [(0, 2)])


def test_alike_nodes_are_one_class_whatever_room_does_not_matter() -> None:
    apart = Item(3, ((CPU, 1),), counts=frozenset({0}), rule=Counted(0, NODE, most=0))
    statement = Statement([apart], ground([2 + node % 50 for node in range(5_000)], here=[[0] * 5_000]), (), [0])

    assert len({id(column.within) for column in statement.columns}) == 1


def test_what_is_too_large_is_said() -> None:
    items = [Item(20, ((CPU, 1),)) for _ in range(4)]
    with pytest.raises(TooLarge, match="ways to have pods of the set on one node"):
        Statement(items, ground([50], items=4), (), [0] * 4)


def test_an_answer_that_is_none_is_refused() -> None:
    statement = Statement([Item(2, ((CPU, 1),))], ground([1, 1]), (), [0])

    assert number(statement.read([2])) == 2
    for wrong in ([3], [-1], [1, 1], []):
        with pytest.raises(ValueError, match=r"nodes of a class|below zero|values for"):
            statement.read(wrong)


COUNTS = 2
atoms = st.builds(
    lambda count, scope, bounds: Counted(count, scope, *bounds),
    st.integers(0, COUNTS - 1),
    st.sampled_from([NODE, RACK]),
    st.sampled_from([(1, None), (0, 0), (0, 1), (1, 2), (2, None), (0, None)]),
) | st.just(Described(0))
formulas = st.just(Every()) | st.recursive(
    atoms,
    lambda parts: st.builds(
        lambda kind, found: kind(tuple(found)), st.sampled_from([Every, Some]), st.lists(parts, min_size=1, max_size=2)
    ),
    max_leaves=3,
)
sets = st.lists(
    st.builds(
        lambda count, size, counts, rule, level, alone: (count, size, counts, rule, level, alone),
        st.integers(1, 2),
        st.integers(1, 2),
        st.frozensets(st.integers(0, COUNTS - 1)),
        formulas,
        st.integers(0, 1),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)
nodes = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 1), st.integers(0, 1), st.integers(0, 1), st.booleans(), st.sampled_from([0, 30])),
    min_size=1,
    max_size=3,
)  # fmt: skip


def holds(formula: Formula, count_in, says: bool) -> bool:
    match formula:
        case Counted(count, scope, least, most):
            there = count_in(count, scope)
            return (least <= 0 or there >= least) and (most is None or there <= most)
        case Described():
            return says
        case Every(parts):
            return all(holds(part, count_in, says) for part in parts)
        case Some(parts):
            return any(holds(part, count_in, says) for part in parts)


def allowed(items: list[Item], on: Ground, places: list[Place]) -> bool:
    """Whether an answer is one, read plainly."""
    free, racks, here = on.free[0].tolist(), on.domains[RACK].tolist(), on.here.tolist()
    for node in range(len(on)):
        mine = [item for item, at in places if at == node]
        if any(items[item].demand[0][1] for item in mine) and sum(items[item].demand[0][1] for item in mine) > free[node]:
            return False
        if any(other in items[item].clashes for at, item in enumerate(mine) for other in mine[at + 1 :]):
            return False
    for at, (item, node) in enumerate(places):
        others = [place for number, place in enumerate(places) if number != at]

        def count_in(count: int, scope: int, node: int = node, others: list[Place] = others) -> int:
            if scope == RACK and racks[node] < 0:
                return 0
            within = [node] if scope == NODE else [other for other in range(len(on)) if racks[other] == racks[node]]
            return sum(here[count][other] for other in within) + sum(
                count in items[other].counts for other, where in others if where in within
            )

        if not holds(items[item].rule, count_in, bool(on.says[0][node])):
            return False
    return True


@settings(max_examples=examples(150), deadline=None)
@given(sets, nodes, st.integers(0, 8))
def test_the_best_answer_is_as_good_as_the_best_of_all_answers(drawn, places_of, most: int) -> None:  # type: ignore[no-untyped-def]
    items = [
        Item(count, ((CPU, size),), level, counts, rule, frozenset({number}) if alone else frozenset())
        for number, (count, size, counts, rule, level, alone) in enumerate(drawn)
    ]
    on = ground(
        [room for room, *_ in places_of],
        [rack for _, rack, *_ in places_of],
        [[one[2] for one in places_of], [one[3] for one in places_of]],
        [[one[5] if number == 0 else 0 for one in places_of] for number in range(len(items))],
        len(items),
        [[one[4] for one in places_of]],
    )
    ceiling = Ceiling(tuple(item.demand[0][1] for item in items), most)
    pods = [number for number, item in enumerate(items) for _ in range(item.count)]
    on = with_large(items, on)
    best = Worth(0, 0, 0)
    for answer in product([None, *range(len(on))], repeat=len(pods)):
        found = [(item, node) for item, node in zip(pods, answer, strict=True) if node is not None]
        if sum(items[item].demand[0][1] for item, _ in found) <= most and allowed(items, on, found):
            best = max(best, worth(items, on, found))

    places = solved(items, on, (ceiling,))

    assert allowed(items, on, places)
    assert worth(items, on, places) == best
    assert places == solved(items, on, (ceiling,)), "the same program has the same answer"
