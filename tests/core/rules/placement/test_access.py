"""Who may submit to a queue and reserve in it, and with which priority, by its lists and those above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from treadle.core.model import AccessList, Asker, DefaultAccess, PriorityBound, QueueSpec
from treadle.core.rules.placement.access import bound_of, may_reserve, may_submit, may_view


@dataclass
class Guarded:
    spec: QueueSpec
    chain: tuple[Guarded, ...] = ()


def acl(*users: str, groups: tuple[str, ...] = (), namespaces: tuple[str, ...] = ()) -> AccessList:
    return AccessList(frozenset(users), frozenset(groups), frozenset(namespaces))


def below(*specs: QueueSpec) -> Guarded:
    """The last of these queues, each below the one before."""
    chain: tuple[Guarded, ...] = ()
    for spec in specs:
        queue = Guarded(spec)
        queue.chain = chain = (queue, *chain)
    return chain[0]


def leaf(root_submit: AccessList | None = None, root_administer: AccessList | None = None, **fields: Any) -> Guarded:
    return below(QueueSpec("root", submit=root_submit, administer=root_administer), QueueSpec("root.a", **fields))


def lets_in(queue: Guarded, user: str, *groups: str, namespace: str = "ns") -> bool:
    return may_submit(queue, queue.spec.path, Asker(user, groups, namespace))


def test_without_any_list_everybody_may() -> None:
    assert lets_in(leaf(), "ann")


def test_a_list_of_a_queue_alone_keeps_nobody_out() -> None:
    assert lets_in(leaf(submit=acl("bob")), "ann"), "the root's absent lists let everybody in"


def test_with_both_lists_of_the_root_given_a_queue_lets_in_whom_it_names() -> None:
    queue = leaf(submit=acl("bob"), root_submit=acl(), root_administer=acl("root"))
    assert lets_in(queue, "bob")
    assert not lets_in(queue, "ann")


@pytest.mark.parametrize("where", ["submit", "administer"])
def test_who_may_administer_may_submit(where: str) -> None:
    assert lets_in(leaf(acl(), acl(), **{where: acl("ann")}), "ann")


def test_whom_the_root_lets_in_every_queue_does() -> None:
    assert lets_in(leaf(submit=acl("bob"), root_submit=acl("ann"), root_administer=acl()), "ann")


def test_groups_are_let_in() -> None:
    queue = leaf(acl(), acl(), submit=acl(groups=("data",)))
    assert lets_in(queue, "ann", "web", "data")
    assert not lets_in(queue, "ann", "web")


def test_namespaces_are_let_in_whoever_the_user_is() -> None:
    queue = leaf(acl(), acl(), submit=acl(namespaces=("team",)))
    assert lets_in(queue, "ann", namespace="team")
    assert not lets_in(queue, "team", namespace="other"), "the name of a user is not that of a namespace"


def test_a_star_is_everybody() -> None:
    assert lets_in(leaf(acl(), acl(), submit=acl("*")), "ann")


def test_an_absent_list_below_the_root_lets_nobody_in() -> None:
    assert not lets_in(leaf(acl(), acl()), "ann")


# ---- what the root's absent lists mean


TREE = {
    path: below(*(QueueSpec(".".join(path.split(".")[: at + 1])) for at in range(path.count(".") + 1)))
    for path in ("root", "root.team", "root.team.etl", "root.teams", "root.prod", "root.default")
}


@pytest.mark.parametrize(
    ("default_access", "own", "allowed"),
    [
        (DefaultAccess.OPEN, "", {"root.team", "root.team.etl", "root.teams", "root.prod", "root.default"}),
        (DefaultAccess.NAMESPACE, "", {"root.team", "root.team.etl", "root.default"}),
        (DefaultAccess.NAMESPACE, "root.prod", {"root.prod", "root.default"}),
        (DefaultAccess.CLOSED, "root.prod", set()),
    ],
)
def test_without_lists_a_queue_is_open_to_everybody_to_its_own_namespace_or_to_nobody(
    default_access: DefaultAccess, own: str, allowed: set[str]
) -> None:
    who = Asker("ann", ("team",), "team", own)
    assert {path for path, queue in TREE.items() if path != "root" and may_submit(queue, path, who, default_access)} == allowed
    assert {path for path, queue in TREE.items() if path != "root" and may_reserve(queue, path, who, default_access)} == allowed


def test_a_queue_that_is_not_made_yet_is_its_namespace_s_by_its_path() -> None:
    root, who = TREE["root"], Asker("ann", (), "web")
    assert may_submit(root, "root.web", who, DefaultAccess.NAMESPACE)
    assert not may_submit(root, "root.webs", who, DefaultAccess.NAMESPACE)


def test_the_default_queue_is_nobody_s_by_itself_where_it_has_a_list() -> None:
    queue = below(QueueSpec("root"), QueueSpec("root.default", submit=acl("bob")))
    assert not may_submit(queue, "root.default", Asker("ann", (), "web"), DefaultAccess.NAMESPACE)
    assert may_submit(queue, "root.default", Asker("bob", (), "web"), DefaultAccess.NAMESPACE)


def test_a_list_of_the_root_that_is_there_says_it_all() -> None:
    empty = below(QueueSpec("root", submit=acl()), QueueSpec("root.web"))
    assert not may_submit(empty, "root.web", Asker("ann", (), "web"), DefaultAccess.NAMESPACE)
    everybody = below(QueueSpec("root", submit=acl("*")), QueueSpec("root.prod"))
    assert may_submit(everybody, "root.prod", Asker("ann", (), "web"), DefaultAccess.CLOSED)


def test_lists_below_count_where_the_root_has_none() -> None:
    queue = below(QueueSpec("root"), QueueSpec("root.prod", submit=acl("ann")))
    for default_access in (DefaultAccess.NAMESPACE, DefaultAccess.CLOSED):
        assert may_submit(queue, "root.prod", Asker("ann", (), "web"), default_access)
        assert not may_submit(queue, "root.prod", Asker("bob", (), "web"), default_access)


# ---- who may reserve


def test_whom_a_list_names_may_reserve_and_no_longer_whoever_may_submit() -> None:
    queue = below(QueueSpec("root", reserve=acl("ann")), QueueSpec("root.a", submit=acl("bob"), administer=acl("eve")))
    asked = {user: may_reserve(queue, "root.a", Asker(user, (), "ns")) for user in ("ann", "bob", "eve")}
    assert asked == {"ann": True, "bob": False, "eve": True}, "who may administer may reserve"


def test_without_a_list_of_those_who_reserve_whoever_may_submit_may_reserve() -> None:
    queue = leaf(acl(), acl(), submit=acl("ann"))
    assert may_reserve(queue, "root.a", Asker("ann", (), "ns"))
    assert not may_reserve(queue, "root.a", Asker("bob", (), "ns"))


# ---- who may see what a queue holds


def test_whom_a_list_names_may_view_here_and_below_and_no_longer_whoever_may_submit() -> None:
    queue = below(QueueSpec("root"), QueueSpec("root.a", view=acl("ann"), submit=acl("bob"), administer=acl("eve")))
    child = below(QueueSpec("root"), QueueSpec("root.a"), QueueSpec("root.a.b", view=acl("joe")))
    assert seers(queue, "root.a") == {"ann", "eve"}, "who may administer may view"
    assert seers(child, "root.a.b") == {"joe"}
    chain = below(QueueSpec("root"), queue.spec, QueueSpec("root.a.b", view=acl("joe")))
    assert seers(chain, "root.a.b") == {"ann", "eve", "joe"}, "any queue on the way up is enough"


def test_an_empty_list_shows_a_queue_to_those_who_administer_only() -> None:
    queue = below(QueueSpec("root", submit=acl("*"), administer=acl("eve")), QueueSpec("root.a", view=acl()))
    assert seers(queue, "root.a") == {"eve"}


def test_without_a_list_of_those_who_view_whoever_may_submit_may_view() -> None:
    queue = below(QueueSpec("root", submit=acl(), administer=acl("eve")), QueueSpec("root.a", submit=acl("ann")))
    assert seers(queue, "root.a") == {"ann", "eve"}
    web = below(QueueSpec("root"), QueueSpec("root.web"))
    assert may_view(web, "root.web", Asker("ann", (), "web"), DefaultAccess.NAMESPACE)
    assert not may_view(web, "root.web", Asker("ann", (), "shop"), DefaultAccess.NAMESPACE)


def seers(queue: Any, path: str) -> set[str]:
    return {user for user in ("ann", "bob", "eve", "joe") if may_view(queue, path, Asker(user, (), "ns"), DefaultAccess.CLOSED)}


# ---- priorities


BOUNDS = (PriorityBound(acl("*"), 2), PriorityBound(acl("ann", groups=("ops",)), 10, 5), PriorityBound(acl("ann"), 7, 1))


@pytest.mark.parametrize(("user", "groups", "bound"), [("ann", (), (10, 5)), ("bob", (), (2, None)), ("bob", ("ops",), (10, 5))])
def test_the_highest_priority_that_an_entry_allows_counts(
    user: str, groups: tuple[str, ...], bound: tuple[int, int | None]
) -> None:
    assert bound_of(below(QueueSpec("root", priorities=BOUNDS)), Asker(user, groups, "ns")) == bound


def test_the_nearest_queue_that_bounds_priorities_decides() -> None:
    own = (PriorityBound(acl(namespaces=("ns",)), 1),)
    root, team = QueueSpec("root", priorities=BOUNDS), QueueSpec("root.a", priorities=own)
    assert bound_of(below(root, team, QueueSpec("root.a.b")), Asker("ann", (), "ns")) == (1, None)
    assert bound_of(below(root, QueueSpec("root.b")), Asker("ann", (), "ns")) == (10, 5)


def test_whom_no_entry_names_may_ask_for_no_priority_and_without_entries_for_any() -> None:
    queue = below(QueueSpec("root", priorities=(PriorityBound(acl("ann"), 3),)))
    assert bound_of(queue, Asker("bob", (), "ns")) == (0, None)
    assert bound_of(below(QueueSpec("root")), Asker("bob", (), "ns")) is None
