"""What was found on a node is kept for all who ask for the same devices, until devices there change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.builders import Scenario
from core.claims import asking, claim, gpus, planned, reserved, see, slice_of, why, with_claims, written
from treadle.core.events import DevicesGone, DevicesKnown, PodSeen
from treadle.core.kernel.devices.allocator import allocate
from treadle.core.kernel.devices.on_nodes import ANYWHERE, SPARE, Answers, OnNodes
from treadle.core.kernel.devices.pools import Pool
from treadle.core.kernel.devices.registry import Devices
from treadle.core.kernel.nodes.rules import dynamic_resources
from treadle.core.model import NodeSpec
from treadle.core.model.devices import Allocation, DeviceClassSpec, SliceSpec, WantedDevices

NODES = 4
ASKED = (WantedDevices("", (asking(),), (), ()),)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each node was searched by the rule."""
    found: Counter[str] = Counter()

    def counted(devices: Devices, node: NodeSpec, pools: Sequence[Pool], claims: Sequence[WantedDevices]) -> list[Allocation]:
        found[node.name] += 1
        return allocate(devices, node, pools, claims)

    monkeypatch.setattr(dynamic_resources, "allocate", counted)
    return found


@pytest.fixture
def at() -> Scenario:
    found = Scenario().tell(DevicesKnown(known=True)).nodes(NODES, "n")
    see(found, DeviceClassSpec("gpu"))
    return found


def shared(name: str, *pods: str) -> list[PodSeen]:
    return [PodSeen(with_claims(pod, name)) for pod in pods]


def test_a_node_without_devices_is_searched_once_for_all_claims_that_ask_for_the_same(
    at: Scenario, searches: Counter[str]
) -> None:
    see(at, slice_of("n-0", *gpus(1)), *(claim(f"c{number}", asking(count=2)) for number in range(20)))
    for number in range(20):
        at.tell(*shared(f"c{number}", f"p{number}", f"q{number}"))
    assert planned(at) == []
    assert searches == {f"n-{number}": 1 for number in range(NODES)}


def test_claims_that_ask_for_something_else_are_searched_for_themselves(at: Scenario, searches: Counter[str]) -> None:
    see(at, slice_of("n-0", *gpus(1)), claim("a", asking(count=2)), claim("b", asking(count=3)))
    at.tell(*shared("a", "p", "q"), *shared("b", "r", "s"))
    assert planned(at) == []
    assert searches["n-1"] == 2


def test_a_node_whose_devices_were_taken_is_searched_again_and_the_others_are_not(at: Scenario, searches: Counter[str]) -> None:
    see(at, *(slice_of(f"n-{number}", *gpus(1)) for number in range(2)), *(claim(f"c{number}") for number in range(3)))
    at.tell(PodSeen(with_claims("large", "more")))
    see(at, claim("more", asking(count=2)))
    assert planned(at) == []
    assert searches == {f"n-{number}": 1 for number in range(NODES)}
    at.tell(*shared("c0", "p0"))
    taken = reserved(at).node
    assert taken in {"n-0", "n-1"}
    searches.clear()
    assert why(at, "large")[1] == "0/4 nodes are available: 4 cannot allocate all claims."
    assert searches == {taken: 1}


def test_devices_that_come_are_found_by_who_was_refused_before(at: Scenario) -> None:
    see(at, claim("a"))
    at.tell(*shared("a", "p"))
    assert planned(at) == []
    see(at, slice_of("n-2", *gpus(1)))
    asked = reserved(at)
    assert asked.node == "n-2"
    written(at, asked)


def test_devices_that_come_back_under_the_name_of_a_node_are_found(at: Scenario) -> None:
    one = slice_of("n-1", *gpus(1))
    see(at, one, claim("a", asking(count=2)))
    at.tell(*shared("a", "p"))
    assert planned(at) == []
    at.tell(DevicesGone(SliceSpec, one.key))
    assert planned(at) == []
    see(at, replace(one, devices=gpus(2)))
    assert reserved(at).node == "n-1"


def test_a_stamp_is_another_one_after_each_change() -> None:
    found, seen = OnNodes(), set()
    for change in ("a", "a", ANYWHERE, "a", "b"):
        seen.add(found.stamp("a"))
        found.changed(change)
    assert len(seen) == 5
    last = found.stamp("a")
    found.changed("b")
    assert found.stamp("a") == last


def test_what_is_kept_of_a_node_without_devices_is_dropped_and_no_stamp_of_it_comes_again() -> None:
    found = OnNodes()
    before = found.stamp("a")
    found.changed("a")
    found.without("a")
    assert found.stamp("a") != before
    found.without("never seen")
    assert found.stamp("b") == found.stamp("a")


def test_answers_are_shared_until_the_last_who_asks_has_closed_them() -> None:
    found, node = OnNodes(), NodeSpec("n", {})
    one, other = found.open(ASKED), found.open(ASKED)
    assert one is other
    one.keep(node, found.stamp("n"), "no", 1)
    found.close(ASKED)
    assert found.open(ASKED).of(node, found.stamp("n")) == "no"
    found.close(ASKED)
    found.close(ASKED)
    found.close(ASKED)  # more often than opened
    assert found.open(ASKED).of(node, found.stamp("n")) is None


def test_an_answer_holds_for_a_node_as_it_is_described() -> None:
    answers, node = Answers(), NodeSpec("n", {})
    answers.keep(node, (0, 1), "", 1)
    assert answers.of(node, (0, 1)) == ""
    assert answers.of(node, (0, 2)) is None
    assert answers.of(NodeSpec("n", {"cpu": 1}), (0, 1)) is None


def test_answers_of_nodes_that_are_gone_do_not_pile_up() -> None:
    answers = Answers()
    for number in range(10_000):
        answers.keep(NodeSpec(f"n-{number}", {}), (0, 0), "", 10)
    assert sum(answers.of(NodeSpec(f"n-{number}", {}), (0, 0)) is not None for number in range(10_000)) == 0
    assert len(answers._by_node) <= 2 * 10 + SPARE + 1
