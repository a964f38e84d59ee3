"""Which node gets the next opportunistic container: the one with the shortest queue or wait, of those that told something."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.node_loads import LoadOrder, NodeLoads, Report

ONE = (1024, 1)
ROOM = Report(0, 0, size=(8192, 8), used=(0, 0))


def loads(order: LoadOrder = LoadOrder.QUEUE_LENGTH, candidates: int = 10, **reports: Report) -> NodeLoads:
    """Nodes on two racks that reported one after the other."""
    found = NodeLoads(order, candidates)
    for now, (name, told) in enumerate(reports.items()):
        found.add(name, "/r1" if name == "h1" else "/r2")
        found.report(name, told, now)
    found.sort()
    return found


def queued(length: int, capacity: int, wait: int = -1) -> Report:
    return replace(ROOM, queued=length, queue_capacity=capacity, wait=wait)


def waits(wait: int) -> Report:
    return queued(0, 0, wait)


def told(found: NodeLoads, name: str, report: Report) -> list[str]:
    found.report(name, report, 9)
    found.sort()
    return found.sorted


def test_nodes_are_put_in_order_by_their_waits() -> None:
    found = loads(LoadOrder.QUEUE_WAIT_TIME, h1=waits(15), h2=waits(5), h3=waits(10))
    assert found.sorted == ["h2", "h3", "h1"]
    assert told(found, "h3", waits(2)) == ["h3", "h2", "h1"]
    found.add("h4", "/r2")
    assert told(found, "h4", waits(-1)) == ["h3", "h2", "h1"]
    assert told(found, "h2", replace(waits(5), leaving=True)) == ["h3", "h1"]
    assert told(found, "h2", waits(1)) == ["h2", "h3", "h1"]


def test_nodes_are_put_in_order_by_the_length_of_their_queues() -> None:
    found = loads(h1=queued(15, 100), h2=queued(5, 100), h3=queued(10, 100))
    assert found.sorted == ["h2", "h3", "h1"]
    assert told(found, "h3", queued(2, 100)) == ["h3", "h2", "h1"]
    found.add("h4", "/r2")
    assert told(found, "h4", queued(20, 100)) == ["h3", "h2", "h1", "h4"]
    assert told(found, "h3", queued(100, 100)) == ["h2", "h1", "h4"], "a full one is left out"


def test_of_equal_queues_the_one_that_reported_last_is_first() -> None:
    assert loads(h1=queued(3, 9), h2=queued(3, 9), h3=queued(3, 9)).sorted == ["h3", "h2", "h1"]


def test_of_equal_queues_the_node_with_more_room_is_first_where_room_counts() -> None:
    found = loads(
        LoadOrder.QUEUE_LENGTH_THEN_RESOURCES,
        h1=Report(1, 9, size=(8192, 8), used=(2048, 2)),
        h2=Report(1, 9, size=(8192, 8), used=(0, 0)),
        h3=Report(1, 9, size=(16384, 8), used=(8192, 2)),
        h4=Report(1, 9, size=(4096, 16), used=(0, 0)),
    )
    assert found.sorted == ["h2", "h3", "h1", "h4"]


def test_a_node_is_eligible_with_its_first_report() -> None:
    found = NodeLoads()
    found.add("h1", "/r1")
    assert not found.take("h1", (), ONE)
    found.report("h1", queued(0, 5), 0)
    assert found.take("h1", (), ONE)


def test_a_node_that_nobody_knows_is_not_heard() -> None:
    found = loads(h1=queued(0, 5))
    found.remove("h1")
    assert told(found, "h1", queued(0, 5)) == []
    assert not found.take("h1", (), ONE)


def test_a_named_node_is_taken_if_it_is_not_avoided_and_not_full() -> None:
    found = loads(h1=queued(2, 5), h2=queued(5, 5), h3=queued(4, 5))
    assert found.take("h1", (), ONE)
    assert not found.take("h1", {"h1"}, ONE)
    assert not found.take("h2", (), ONE)
    assert found.take("h3", (), ONE)
    assert not found.take("h3", (), ONE), "what was placed is counted until it reports again"


def test_a_node_of_a_rack_is_taken_if_it_is_not_avoided_and_not_full() -> None:
    found = loads(h1=queued(2, 5), h2=queued(5, 5), h3=queued(4, 5))
    assert found.take_on_rack("/r2", (), ONE) == "h3"
    assert found.take_on_rack("/r2", {"h3"}, ONE) is None
    assert found.take_on_rack("/r9", (), ONE) is None


def test_any_node_is_one_of_the_best_that_is_not_avoided() -> None:
    reports = {"h1": queued(2, 5), "h2": queued(5, 5), "h3": queued(4, 10)}
    assert loads(**reports).take_any((), ONE, 0) == "h1"
    assert loads(**reports).take_any((), ONE, 1) == "h3"
    assert loads(**reports).take_any({"h1"}, ONE, 0) == "h3"
    assert loads(**reports).take_any({"h1", "h3"}, ONE, 0) is None
    assert loads(candidates=1, **reports).take_any((), ONE, 1) == "h1"
    assert loads(**reports).least_loaded(1) == ["h1"]
    assert loads(**reports).least_loaded(-1) == ["h1", "h3"]


def test_a_queue_without_a_length_takes_nothing_unless_waits_are_what_counts() -> None:
    assert not loads(h1=queued(0, 0)).take("h1", (), ONE)
    assert loads(LoadOrder.QUEUE_WAIT_TIME, h1=queued(0, 0, 5)).take("h1", (), ONE)


def test_what_fits_beside_all_else_does_not_make_the_queue_longer_where_room_counts() -> None:
    found = loads(LoadOrder.QUEUE_LENGTH_THEN_RESOURCES, h1=Report(1, 3, size=(2048, 4), used=(1024, 1)))
    assert [found.take("h1", (), ONE) for _ in range(4)] == [True, True, True, False]
    assert found.loads["h1"].queued == 3
    assert not found.take("h1", (), (4096, 1)), "larger than the node"


def test_limits_follow_from_the_queues_of_nodes_that_take_something() -> None:
    assert loads(h1=queued(5, 5), h2=queued(1, 5), h3=queued(3, 5)).figures() == [1, 3]
    assert loads(LoadOrder.QUEUE_WAIT_TIME, h1=waits(7), h2=waits(3)).figures() == [3, 7]


NODE = st.tuples(st.integers(0, 6), st.integers(1, 6))


@pytest.mark.parametrize("order", [LoadOrder.QUEUE_LENGTH, LoadOrder.QUEUE_LENGTH_THEN_RESOURCES])
@given(nodes=st.lists(NODE, min_size=1, max_size=5), starts=st.lists(st.integers(0, 9), max_size=40))
def test_no_queue_becomes_longer_than_it_may(order: LoadOrder, nodes: list[tuple[int, int]], starts: list[int]) -> None:
    found = loads(order, **{f"h{at}": queued(*node) for at, node in enumerate(nodes)})
    before = {name: load.queued for name, load in found.loads.items()}
    for start in starts:
        found.take_any((), ONE, start)
    for name, load in found.loads.items():
        assert load.queued <= max(load.queue_capacity, before[name])
