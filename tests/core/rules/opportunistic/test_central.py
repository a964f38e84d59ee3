"""Nodes for opportunistic containers by one who knows all queues: by priority, nodes first, racks, then any of the least loaded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.central import Central
from treadle.core.rules.opportunistic.node_loads import NodeLoads, Report
from treadle.core.rules.opportunistic.requests import ANY, Asked, Key, Outstanding, Sizes

SIZES = Sizes((1024, 1), (8192, 8), (512, 1))
SIZE = (1024, 1)


def nodes(**room: int) -> NodeLoads:
    """Nodes with room for so many; h1 and h2 are on the rack /r1, others on /r2."""
    found = NodeLoads()
    for name, capacity in room.items():
        found.add(name, "/r1" if name in {"h1", "h2"} else "/r2")
        found.report(name, Report(0, capacity, size=(8192, 8), used=(0, 0)), 0)
    found.sort()
    return found


def asked(count: int, place: str = ANY, priority: int = 1, size: tuple[int, int] = SIZE) -> Asked:
    return Asked(Key(priority), place, size, count)


def wanted(*lines: Asked) -> Outstanding:
    found = Outstanding(SIZES)
    found.ask(lines)
    return found


def test_no_more_than_the_cap_is_placed_in_one_call() -> None:
    central, application = Central(nodes(h1=10), most=2), wanted(asked(3))
    assert [len(central.allocate(application)) for _ in range(3)] == [2, 1, 0]


def test_the_cap_is_for_all_keys_together() -> None:
    central = Central(nodes(h1=10), most=2)
    application = wanted(asked(2, priority=1), asked(2, priority=2), asked(1, priority=3))
    served = [[one.key.priority for one in central.allocate(application)] for _ in range(3)]
    assert served == [[3, 2], [2, 1], [1]]


def test_a_node_is_preferred_to_its_rack_and_its_rack_to_any() -> None:
    application = wanted(asked(1, "h1"), asked(2, "/r1"), asked(4))
    placed = Central(nodes(h1=1, h2=2, h3=9)).allocate(application)
    assert [(one.node, one.place) for one in placed] == [("h1", "h1"), ("h2", "/r1"), ("h2", "/r1"), ("h3", ANY)]


def test_a_thousand_on_a_rack_fill_its_queues_and_no_other() -> None:
    application = wanted(asked(1000, "/r1"), asked(1000))
    loads = nodes(h1=500, h2=500, h3=500)
    assert len(Central(loads).allocate(application)) == 1000
    assert {name: load.queued for name, load in loads.loads.items()} == {"h1": 500, "h2": 500, "h3": 0}


def test_avoided_nodes_get_nothing() -> None:
    application = wanted(asked(2))
    application.avoid(["h1"], [])
    assert Central(nodes(h1=10)).allocate(application) == []


def test_what_finds_no_room_stays_outstanding() -> None:
    application, loads = wanted(asked(3)), nodes(h1=1)
    assert len(Central(loads).allocate(application)) == 1
    loads.report("h1", Report(0, 1), 1)
    assert len(Central(loads).allocate(application)) == 1


def test_two_sizes_under_one_key_are_both_placed() -> None:
    application = wanted(asked(1), asked(2, size=(2048, 1)))
    assert [one.size for one in Central(nodes(h1=9)).allocate(application)] == [(1024, 1), (2048, 1), (2048, 1)]


def test_containers_are_spread_by_whom_they_start_with() -> None:
    starts = iter(range(9))
    placed = Central(nodes(h1=9, h2=9)).allocate(wanted(asked(4)), lambda: next(starts))
    assert [one.node for one in placed] == ["h1", "h2", "h1", "h2"]


LINES = st.lists(
    st.builds(asked, st.integers(0, 5), st.sampled_from(["h1", "h2", "/r1", "/r2", ANY]), st.integers(1, 3)), max_size=10
)


@given(LINES, st.integers(0, 4), st.integers(0, 4), st.integers(1, 5))
def test_nobody_gets_more_than_asked_the_cap_or_the_queues_allow(lines: list[Asked], one: int, two: int, most: int) -> None:
    application, loads = wanted(*lines), nodes(h1=one, h3=two)
    before = {key: sum(request.count for request in application.of(key)) for key in application.in_order()}
    placed = Central(loads, most).allocate(application)
    assert len(placed) <= most
    for key, count in before.items():
        of_key = [each for each in placed if each.key == key]
        assert len(of_key) + sum(request.count for request in application.of(key)) == count
    assert sum(load.queued for load in loads.loads.values()) == len(placed)
    assert all(load.queued <= load.queue_capacity for load in loads.loads.values())
