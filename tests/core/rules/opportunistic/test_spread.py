"""Nodes for opportunistic containers from a list alone: keys take turns, and no node is used twice unless it is named."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.requests import ANY, Asked, Key, Outstanding, Sizes
from treadle.core.rules.opportunistic.spread import Offered, Spread

SIZES = Sizes((1024, 1), (8192, 8), (512, 1))
NODES = [Offered("h1", "/r1"), Offered("h2", "/r1"), Offered("h3", "/r2")]


def asked(count: int, place: str = ANY, priority: int = 1, size: tuple[int, int] = (1024, 1)) -> Asked:
    return Asked(Key(priority), place, size, count)


def wanted(*lines: Asked) -> Outstanding:
    found = Outstanding(SIZES)
    found.ask(lines)
    return found


def placed(application: Outstanding, nodes: list[Offered] = NODES, most: int = -1) -> list[tuple[str, int]]:
    return [(one.node, one.key.priority) for one in Spread(most).allocate(application, nodes)]


def test_each_node_is_used_once() -> None:
    application = wanted(asked(5))
    assert placed(application) == [("h1", 1), ("h2", 1), ("h3", 1)]
    assert placed(application) == [("h1", 1), ("h2", 1)], "the next call uses them again"


def test_keys_take_turns() -> None:
    assert placed(wanted(asked(2, priority=1), asked(1, priority=2))) == [("h1", 2), ("h2", 1), ("h3", 1)]


def test_the_cap_holds_for_the_call() -> None:
    assert placed(wanted(asked(3)), most=2) == [("h1", 1), ("h2", 1)]


def test_a_named_node_is_used_as_often_as_it_is_named() -> None:
    assert placed(wanted(asked(3, "h2"), asked(3))) == [("h2", 1)] * 3


def test_a_rack_is_preferred_to_any() -> None:
    assert placed(wanted(asked(1, "/r2"), asked(2))) == [("h3", 1), ("h1", 1)]


def test_avoided_nodes_and_other_partitions_are_left_out() -> None:
    application = wanted(asked(3, "h1"), asked(3))
    application.avoid(["h1"], [])
    assert placed(application, [*NODES[:2], Offered("h3", "/r2", "gpu")]) == [("h2", 1)]


def test_without_nodes_nothing_is_placed() -> None:
    assert placed(wanted(asked(3)), []) == []


LINES = st.lists(
    st.builds(
        asked,
        st.integers(0, 4),
        st.sampled_from(["h1", "/r2", ANY]),
        st.integers(1, 3),
        st.sampled_from([(1024, 1), (2048, 1)]),
    ),
    max_size=8,
)


@given(LINES, st.integers(1, 6))
def test_nodes_that_are_not_named_are_used_once_in_a_call(lines: list[Asked], most: int) -> None:
    found = Spread(most).allocate(wanted(*lines), NODES)
    assert len(found) <= most
    assert max(Counter(one.node for one in found if one.place != one.node).values(), default=0) <= 1
