"""Which containers of a node to take so that a request fits: no more than that needs, masters last, the node with the fewest masters."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.victims import pick_best, pick_on_node
from treadle.core.units.amounts import fits, plus


@dataclass(frozen=True, eq=False)
class Container:
    name: str
    demand: list[int]
    owner: str = "app"
    master: bool = False


@dataclass
class Node:
    free: list[int]
    containers: list[Container] = field(default_factory=list)

    def room(self) -> list[int]:
        return list(self.free)

    def candidates(self) -> list[Container]:
        return sorted(self.containers, key=lambda each: each.master)


def anyone(_container: Container, _taken: list[int]) -> bool:
    return True


def names(picked: object) -> list[str] | None:
    return None if picked is None else [each.name for each in picked.victims]  # type: ignore[attr-defined]


def test_victims_are_taken_until_the_request_fits() -> None:
    candidates = [Container(name, [2]) for name in "abc"]
    assert names(pick_on_node([3], [0], candidates, anyone)) == ["a", "b"]


def test_what_is_free_counts() -> None:
    assert names(pick_on_node([3], [1], [Container(name, [2]) for name in "abc"], anyone)) == ["a"]


def test_a_node_where_it_cannot_fit_gives_nobody() -> None:
    assert pick_on_node([7], [0], [Container(name, [2]) for name in "abc"], anyone) is None


def test_whom_the_rule_protects_stays() -> None:
    candidates = [Container(name, [2]) for name in "abc"]
    assert names(pick_on_node([4], [0], candidates, lambda each, _: each.name != "b")) == ["a", "c"]


def test_the_rule_is_told_what_was_taken_from_the_same_application() -> None:
    def at_most_two(_: Container, taken: list[int]) -> bool:
        return taken[0] < 4

    candidates = [*(Container(f"x{number}", [2], "x") for number in range(3)), Container("y", [2], "y")]
    assert names(pick_on_node([6], [0], candidates, at_most_two)) == ["x0", "x1", "y"]


def test_the_first_node_that_needs_no_master_is_taken() -> None:
    master = Node([0], [Container("master", [4], master=True)])
    plain = Node([0], [Container("worker", [4])])
    assert names(pick_best([4], [master, plain], anyone)) == ["worker"]


def test_else_the_node_that_needs_the_fewest_masters_is() -> None:
    two = Node([0], [Container("m1", [2], master=True), Container("m2", [2], master=True)])
    one = Node([0], [Container("worker", [2]), Container("m3", [2], master=True)])
    assert names(pick_best([4], [two, one], anyone)) == ["worker", "m3"]


def test_where_no_node_helps_nobody_goes() -> None:
    assert pick_best([9], [Node([1], [Container("a", [2])])], anyone) is None


@given(
    request=st.integers(1, 20),
    free=st.integers(0, 5),
    demands=st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=8),
)
def test_the_request_fits_when_the_victims_have_gone_and_not_before(
    request: int, free: int, demands: list[tuple[int, bool]]
) -> None:
    containers = [Container(str(number), [demand], master=master) for number, (demand, master) in enumerate(demands)]
    node = Node([free], containers)
    picked = pick_best([request], [node], anyone)
    if picked is None:
        assert free + sum(demand for demand, _ in demands) < request or not demands
        return
    room = [free]
    for victim in picked.victims:
        room = plus(room, victim.demand)
    assert fits([request], room)
    if len(picked.victims) > 1:
        assert room[0] - picked.victims[-1].demand[0] < request
