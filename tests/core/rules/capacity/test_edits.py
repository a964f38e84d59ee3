"""Edits of a few queues in a tree that stays give what a tree made anew from all definitions has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.capacity.trees import tree_of, weight
from treadle.core.model.capacity import CapacityQueueSpec
from treadle.core.rules.capacity.edits import NotInPlace, edit
from treadle.core.rules.capacity.effective import update_edited
from treadle.core.rules.capacity.tree import CapacityTree

WEIGHTS = {"root.a": 1.0, "root.b": 2.0, "root.p": 3.0, "root.p.x": 1.0, "root.p.y": 1.0}


def tree(weights: dict[str, float], **said: object) -> CapacityTree:
    def below(path: str) -> tuple[str, ...]:
        return tuple(other.rpartition(".")[2] for other in weights if other.rpartition(".")[0] == path)

    return tree_of(*(weight(path, value, children=below(path), **said) for path, value in weights.items()))


def figures(of: CapacityTree) -> dict[str, tuple[list[int], list[int], int]]:
    return {
        path: (queue.share("").minimum, queue.share("").maximum, queue.max_applications) for path, queue in of.queues().items()
    }


def edited(of: CapacityTree, gone: list[str], *said: CapacityQueueSpec) -> CapacityTree:
    """Put edits in force and compute what follows."""
    queues = of.queues()
    found = edit(of, queues, gone, {spec.path: spec for spec in said})
    update_edited(found.parents, found.defined, found.sharing)
    return of


@given(
    path=st.sampled_from(["root.a", "root.b", "root.p.x", "root.p.y"]),
    value=st.sampled_from([0.5, 1.0, 4.0, 9.0]),
    most=st.none() | st.integers(1, 50),
)
def test_an_edited_leaf_gives_what_a_tree_made_anew_has(path: str, value: float, most: int | None) -> None:
    anew = tree(WEIGHTS)
    specs = dict(anew.specs) | {path: weight(path, value, max_applications=most)}
    whole = CapacityTree(specs, anew.context)
    assert figures(edited(tree(WEIGHTS), [], weight(path, value, max_applications=most))) == figures(whole)


def test_a_leaf_that_goes_leaves_its_part_to_its_siblings() -> None:
    left = {path: value for path, value in WEIGHTS.items() if path != "root.p.y"}
    assert figures(edited(tree(WEIGHTS), ["root.p.y"])) == figures(tree(left))


def test_a_leaf_that_comes_takes_its_part() -> None:
    assert figures(edited(tree(WEIGHTS), [], weight("root.p.z", 2.0))) == figures(tree({**WEIGHTS, "root.p.z": 2.0}))


def test_only_what_the_edit_touches_is_defined_anew() -> None:
    found = tree(WEIGHTS)
    changed = edit(found, found.queues(), [], {"root.p.x": weight("root.p.x", 5.0)})
    assert [queue.path for queue in changed.defined] == ["root.p.x"]
    assert [queue.path for queue in changed.sharing] == ["root.p"]


def test_what_is_handed_down_is_defined_anew_below() -> None:
    found = tree(WEIGHTS)
    spec = weight("root.p", 3.0, children=("x", "y"), max_lifetime=60.0)
    changed = edit(found, found.queues(), [], {"root.p": spec})
    assert {queue.path for queue in changed.defined} == {"root.p", "root.p.x", "root.p.y"}
    assert found.queues()["root.p.x"].max_lifetime == 60.0


def test_the_last_child_of_a_queue_does_not_go_in_place() -> None:
    found = tree_of(weight("root.p", 1, children=("x",)), weight("root.p.x", 1))
    with pytest.raises(NotInPlace):
        edit(found, found.queues(), ["root.p.x"], {})
