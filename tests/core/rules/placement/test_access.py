"""Who may submit to a queue, by its lists and those above it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from treadle.core.model import QueueSpec
from treadle.core.rules.placement.access import Acl, may_submit


@dataclass
class Guarded:
    spec: QueueSpec
    chain: tuple[Guarded, ...] = ()


def acl(*users: str, groups: tuple[str, ...] = ()) -> Acl:
    return frozenset(users), frozenset(groups)


def leaf(submit: Acl = None, administer: Acl = None, root_submit: Acl = None, root_administer: Acl = None) -> Guarded:
    root = Guarded(QueueSpec("root", submit=root_submit, administer=root_administer))
    root.chain = (root,)
    found = Guarded(QueueSpec("root.a", submit=submit, administer=administer))
    found.chain = (found, root)
    return found


def test_without_any_list_everybody_may() -> None:
    assert may_submit(leaf(), "ann", ())


def test_a_list_of_a_queue_alone_keeps_nobody_out() -> None:
    assert may_submit(leaf(submit=acl("bob")), "ann", ()), "the root's absent lists let everybody in"


def test_with_both_lists_of_the_root_given_a_queue_lets_in_whom_it_names() -> None:
    queue = leaf(submit=acl("bob"), root_submit=acl(), root_administer=acl("root"))
    assert may_submit(queue, "bob", ())
    assert not may_submit(queue, "ann", ())


@pytest.mark.parametrize("where", ["submit", "administer"])
def test_who_may_administer_may_submit(where: str) -> None:
    queue = leaf(**{where: acl("ann")}, root_submit=acl(), root_administer=acl())
    assert may_submit(queue, "ann", ())


def test_whom_the_root_lets_in_every_queue_does() -> None:
    assert may_submit(leaf(submit=acl("bob"), root_submit=acl("ann"), root_administer=acl()), "ann", ())


def test_groups_are_let_in() -> None:
    queue = leaf(submit=acl(groups=("data",)), root_submit=acl(), root_administer=acl())
    assert may_submit(queue, "ann", ("web", "data"))
    assert not may_submit(queue, "ann", ("web",))


def test_a_star_is_everybody() -> None:
    assert may_submit(leaf(submit=acl("*"), root_submit=acl(), root_administer=acl()), "ann", ())


def test_an_absent_list_below_the_root_lets_nobody_in() -> None:
    assert not may_submit(leaf(root_submit=acl(), root_administer=acl()), "ann", ())
