"""What is published of who may administer queues: a line for each name, and the deepest queues are left out where there is no room."""

from __future__ import annotations

from core.builders import Scenario
from treadle.core.model import AccessList, DefaultAccess, Settings
from treadle.runtime.administrators import MOST, published


def acl(*users: str, groups: tuple[str, ...] = ()) -> AccessList:
    return AccessList(frozenset(users), frozenset(groups), frozenset({"ns"}))


def test_users_and_groups_have_a_line_each_and_namespaces_none() -> None:
    lists = {"root": acl(), "root.a": acl("bob", "ann", groups=("ops",))}
    assert published(lists) == ({"root": "", "root.a": "user:ann\nuser:bob\ngroup:ops"}, 0)


def test_a_name_with_a_line_break_makes_nobody_else_an_administrator() -> None:
    assert published({"root.a": acl("eve\nuser:boss", groups=("x\nuser:boss",))}) == ({"root.a": ""}, 0)


def test_lists_that_have_no_room_are_those_of_the_deepest_queues_and_are_counted() -> None:
    long = acl("x" * (MOST // 2 - 100))
    data, left_out = published({"root.a.b.c": long, "root.a": long, "root.a.b": long, "root": acl("boss")})
    assert (list(data), left_out) == (["root", "root.a", "root.a.b"], 1)


def test_the_lists_are_those_in_force_and_an_absent_one_of_the_root_is_everybody_s_in_an_open_cluster() -> None:
    for access, root in ((DefaultAccess.OPEN, {"root"}), (DefaultAccess.NAMESPACE, set()), (DefaultAccess.CLOSED, set())):
        scenario = Scenario(Settings(default_access=access)).nodes(1).queue("root.a", administer=acl("ann")).queue("root.b")
        scenario.plan()
        found = scenario.core.view.administrators()
        assert found.keys() == {"root.a", *root}
        assert not root or found["root"].users == {"*"}
        scenario.queue("root", administer=acl("boss")).without_queue("root.a").plan()
        assert {path: set(one.users) for path, one in scenario.core.view.administrators().items()} == {"root": {"boss"}}
