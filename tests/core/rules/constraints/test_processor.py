"""Requests that are placed together; Hadoop's answers are among the conformance cases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.constraints.processor import POPULAR_TAGS, SERIAL, Found, Request, in_order, place


class Hosts:
    """Nodes with so many places each, on which a request keeps away from some tags."""

    def __init__(self, places: int, away: dict[str, frozenset[str]]) -> None:
        self.places, self.away = places, away
        self.there: dict[int, list[Request[str]]] = {}

    def fits(self, request: Request[str], node: int) -> bool:  # noqa: ARG002 - they are all of one size
        return len(self.there.get(node, ())) < self.places

    def satisfied(self, request: Request[str], node: int) -> bool:
        return not any(self.away[request.owner] & set(one.tags) for one in self.there.get(node, ()))

    def put(self, request: Request[str], node: int) -> None:
        self.there.setdefault(node, []).append(request)

    def take(self, request: Request[str], node: int) -> None:
        self.there[node].remove(request)


requests = st.lists(
    st.tuples(st.sets(st.sampled_from("abc"), max_size=2), st.integers(0, 4), st.frozensets(st.sampled_from("abc"), max_size=2)),
    max_size=5,
)


@given(requests, st.integers(0, 4), st.integers(1, 3), st.sampled_from([SERIAL, POPULAR_TAGS]))
def test_all_is_placed_or_rejected_and_what_is_placed_is_counted_and_within_room(
    asked: list[tuple[set[str], int, frozenset[str]]], nodes: int, places: int, iterator: str
) -> None:
    made = [Request(str(number), tuple(sorted(tags)), count) for number, (tags, count, _) in enumerate(asked)]
    hosts = Hosts(places, {str(number): away for number, (_, _, away) in enumerate(asked)})
    answer = place(made, range(nodes), hosts, iterator)

    for request in made:
        on = [node for found in answer.placed if found.request.owner == request.owner for node in found.nodes]
        left = sum(one.count for one in answer.rejected if one.owner == request.owner)
        assert len(on) + left == request.count
        assert sorted(on) == sorted(node for node, there in hosts.there.items() for one in there if one.owner == request.owner)
    assert all(len(there) <= places for there in hosts.there.values())


def test_each_request_goes_on_where_the_one_before_ended() -> None:
    hosts = Hosts(9, {"x": frozenset("a"), "y": frozenset()})
    answer = place([Request("x", ("a",), 2), Request("y", ("b",), 2)], range(4), hosts)

    assert [found.nodes for found in answer.placed] == [[0, 1], [1, 3]]


def test_those_of_whose_tags_one_is_most_common_are_first_and_equals_as_they_came() -> None:
    asked = [Request("x", ("x",), 1), Request("y", ("a",), 1), Request("z", ("a", "b"), 1), Request("none", (), 1)]

    assert [one.owner for one in in_order(asked, POPULAR_TAGS)] == ["y", "z", "x", "none"]
    assert [one.owner for one in in_order(asked, SERIAL)] == ["x", "y", "z", "none"]


def test_requests_without_nodes_are_rejected() -> None:
    assert place([Request("x", (), 2)], [], Hosts(1, {})).rejected == [Request("x", (), 2)]


def test_found_begins_empty() -> None:
    assert Found(Request("x", (), 1)).nodes == []
