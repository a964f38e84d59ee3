"""Placement rules at work: queues that rules make and that go when idle, what is refused and why, and what a restart finds again."""

from typing import Any

import pytest

from core.builders import Scenario, a_pod, limits
from treadle.core.errors import InvalidSpec
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.kernel.tree.members import Queue
from treadle.core.model import AccessList, ApplicationSpec, FairSettings, PlacementRule

USERS = (PlacementRule("specified", create=False), PlacementRule("user"))
BELOW = (
    PlacementRule("nestedUserQueue", parent=PlacementRule("default", create=False, queue="root.users")),
    PlacementRule("reject"),
)


def ruled(*rules: PlacementRule, **fair: Any) -> Scenario:
    return Scenario().nodes(1, cpu=8, memory=64).scheduler(rules=rules or USERS, fair=FairSettings(**fair))


def queues(scenario: Scenario) -> set[str]:
    scenario.plan(0)
    return set(scenario.core.state.tree.queues)


def the(scenario: Scenario, path: str) -> Queue:
    return scenario.core.state.tree.queues[path]


def queue_of(scenario: Scenario, application: str = "app") -> str:
    queue = scenario.core.state.applications[f"ns/{application}"].queue
    return queue.path if queue is not None else ""


def test_a_user_gets_a_queue_with_the_first_application_and_loses_it_ten_idle_seconds_after_the_last() -> None:
    scenario = ruled().pod("p", user="ann")
    (bind,) = scenario.plan()
    assert bind.queue == "root.ann"
    assert the(scenario, "root.ann").dynamic

    scenario.confirm([bind]).wait(100).plan()
    scenario.gone("p")
    assert scenario.core.next_timer() == scenario.now + 10
    assert "root.ann" in queues(scenario.wait(9.9))
    assert queues(scenario.wait(0.1)) == {"root"}


def test_a_queue_that_is_used_again_in_time_stays() -> None:
    scenario = ruled().pod("p", user="ann")
    scenario.plan()
    scenario.gone("p").wait(9).pod("q", user="ann", application="next")
    scenario.plan()
    assert "root.ann" in queues(scenario.wait(100))


def test_without_any_record_the_namespace_is_the_user() -> None:
    (bind,) = ruled().pod("p").plan()
    assert bind.queue == "root.ns"


def test_the_application_object_has_the_first_word_about_its_user() -> None:
    scenario = ruled().tell(ApplicationSeen(ApplicationSpec("ns/app", user="bob", groups=("staff",)))).pod("p", user="ann")
    assert [bind.queue for bind in scenario.plan()] == ["root.bob"]


def test_names_are_made_to_fit_a_queues_path() -> None:
    scenario = ruled()
    for number, user in enumerate(("First.Last", "system:serviceaccount:etl:runner", "_a__b_")):
        scenario.pod(f"p{number}", application=f"a{number}", user=user)
    assert {bind.name: bind.queue for bind in scenario.plan()} == {
        "p0": "root.first-dot-last",
        "p1": "root.system-serviceaccount-etl-runner",
        "p2": "root.a-b",
    }


@pytest.mark.parametrize("user", ["___", "u" * 60])
def test_a_name_that_cannot_be_made_to_fit_is_refused_with_a_reason(user: str) -> None:
    scenario = ruled().pod("p", user=user)
    assert scenario.plan() == []
    reason, message = scenario.why("p")
    assert reason == "PlacementRejected"
    assert f"(user {user})" in message


def test_parents_that_are_missing_are_made_and_go_with_their_last_child() -> None:
    scenario = ruled(PlacementRule("specified"), PlacementRule("reject")).pod("p", "a.b.c")
    assert [bind.queue for bind in scenario.plan()] == ["root.a.b.c"]
    assert not the(scenario, "root.a").leaf

    scenario.gone("p").wait(10)
    assert queues(scenario) == {"root"}


def test_a_leaf_becomes_no_parent_for_a_rule() -> None:
    scenario = ruled(PlacementRule("specified"), PlacementRule("reject")).queue("root.a").pod("p", "a.b")
    assert scenario.plan() == []
    assert scenario.why("p") == (
        "ParentIsLeaf",
        "queue root.a.b cannot be made: root.a is a leaf; a queue that is to hold others sets holdsQueues",
    )

    scenario.queue("root.a", holds_queues=True)
    assert [bind.queue for bind in scenario.plan()] == ["root.a.b"]


def test_a_queue_that_holds_queues_takes_no_application_itself() -> None:
    scenario = ruled().queue("root.users", holds_queues=True).pod("p", "root.users")
    assert scenario.plan() == []
    assert scenario.why("p")[0] == "QueueIsParent"


def test_users_below_a_queue_of_their_own() -> None:
    scenario = ruled(*BELOW).queue("root.users", holds_queues=True).pod("p", user="ann")
    assert [bind.queue for bind in scenario.plan()] == ["root.users.ann"]


def test_a_rejected_application_names_the_rule_and_is_placed_when_the_rules_allow_it() -> None:
    scenario = ruled(PlacementRule("specified", create=False), PlacementRule("reject")).queue("root.a").pod("p", "root.nowhere")
    assert scenario.plan() == []
    reason, message = scenario.why("p")
    assert reason == "PlacementRejected"
    assert message.startswith(
        "placement rule 2 (reject) rejected it: it takes no application (before it specified: queue root.nowhere"
    )

    scenario.queue("root.nowhere")
    assert [bind.queue for bind in scenario.plan()] == ["root.nowhere"]


def test_an_edit_of_the_rules_moves_what_waits_and_leaves_what_runs() -> None:
    scenario = ruled().pod("running", application="one", user="ann", cpu=8).pod("waiting", application="two", user="bob")
    (bind,) = scenario.plan()
    scenario.confirm([bind])
    assert (queue_of(scenario, "one"), queue_of(scenario, "two")) == ("root.ann", "root.bob")

    scenario.scheduler(rules=(PlacementRule("namespace"),)).plan()
    assert (queue_of(scenario, "one"), queue_of(scenario, "two")) == ("root.ann", "root.ns")


def test_rules_that_are_taken_away_leave_what_runs_in_the_queue_they_made() -> None:
    scenario = ruled().pod("p", user="ann")
    scenario.confirm(scenario.plan()).scheduler()
    assert queues(scenario) == {"root", "root.ann", "root.default"}
    assert queue_of(scenario) == "root.ann"


def test_a_running_application_moves_when_another_queue_is_asked_for_and_stays_when_that_is_refused() -> None:
    scenario = ruled(PlacementRule("specified", create=False), PlacementRule("reject")).queue("root.a").queue("root.b")
    scenario.application("app", "root.a").pod("p")
    scenario.confirm(scenario.plan()).application("app", "root.nowhere")
    assert queue_of(scenario) == "root.a"
    scenario.application("app", "root.b")
    assert queue_of(scenario) == "root.b"


def test_a_running_application_that_gets_another_user_stays_in_its_queue() -> None:
    scenario = ruled().pod("p", user="ann")
    scenario.confirm(scenario.plan()).tell(ApplicationSeen(ApplicationSpec("ns/app", user="bob")))
    scenario.plan()
    assert (queue_of(scenario), scenario.core.state.applications["ns/app"].user) == ("root.ann", "bob")


def test_groups_place_in_their_order_and_a_user_without_any_goes_on_to_the_next_rule() -> None:
    rules = (
        PlacementRule("primaryGroup", create=False),
        PlacementRule("secondaryGroup"),
        PlacementRule("default", queue="root.rest"),
    )
    scenario = ruled(*rules).queue("root.eng").queue("root.night-shift")
    scenario.pod("a", application="a", groups=("eng",)).pod("b", application="b", groups=("ops", "Night_Shift"))
    scenario.pod("c", application="c")
    assert {bind.name: bind.queue for bind in scenario.plan()} == {"a": "root.eng", "b": "root.night-shift", "c": "root.rest"}


# ---- what a queue that a rule made is like


def test_children_that_rules_make_have_the_maximum_that_their_parent_gives_them() -> None:
    scenario = ruled(*BELOW).queue("root.users", holds_queues=True, max_child=limits(cpu="2"))
    assert len(scenario.pods(5, "p", user="ann").plan()) == 2

    scenario.queue("root.users", holds_queues=True, max_child=limits(cpu="50%"))
    assert len(scenario.plan()) == 2, "4 of 8"


def test_otherwise_the_schedulers_default_maximum_holds_for_every_queue_without_one() -> None:
    scenario = ruled(queue_max_default=limits(cpu="3")).queue("root.a").queue("root.b", maximum=limits(cpu="1"))
    scenario.pods(9, "a", "root.a", "a").pods(9, "b", "root.b", "b").pods(9, "c", "", "c", user="ann")
    assert len(scenario.plan()) == 3, "root has no maximum of its own either"

    scenario.queue("root", maximum=limits(cpu="100%"))
    scenario.plan()
    assert (scenario.used("root.a"), scenario.used("root.b"), scenario.used("root.ann")) == (3, 1, 3)


@pytest.mark.parametrize(("root", "default", "made"), [("drf", "fair", "fair"), ("fair", "drf", "fair"), ("drf", "drf", "drf")])
def test_the_policy_is_the_default_if_the_parent_allows_it(root: str, default: str, made: str) -> None:
    scenario = ruled(default_policy=default).queue("root", policy=root).pod("p", user="ann")
    scenario.plan()
    assert the(scenario, "root.ann").policy.name == made


def test_a_parents_new_policy_reaches_the_queues_that_rules_made_and_fifo_is_refused_while_there_are_any() -> None:
    scenario = ruled(*BELOW).queue("root.users", holds_queues=True).pod("p", user="ann")
    scenario.plan()
    scenario.queue("root.users", holds_queues=True, policy="fair").plan()
    assert the(scenario, "root.users.ann").policy.name == "fair"

    scenario.queue("root.users", holds_queues=True, policy="fifo").plan()
    problem = scenario.core.state.tree.problems["root.users"]
    assert problem.kept
    assert "'fifo' is for leaf queues" in problem.message
    assert the(scenario, "root.users").policy.name == "fair"


def test_a_queue_that_a_rule_made_may_be_defined_and_stays_then() -> None:
    scenario = ruled().pod("p", user="ann")
    scenario.plan()
    scenario.queue("root.ann", weight=3.0).plan()
    assert not the(scenario, "root.ann").dynamic
    assert "root.ann" in queues(scenario.gone("p").wait(100))


def test_a_queue_deleted_while_in_use_goes_on_if_a_rule_would_make_it() -> None:
    scenario = ruled(PlacementRule("specified"), PlacementRule("reject")).queue("root.a").pod("p", "root.a", "old")
    scenario.confirm(scenario.plan()).without_queue("root.a")
    scenario.plan()
    assert the(scenario, "root.a").state == "Draining"

    scenario.pod("q", "root.a", "new")
    assert len(scenario.plan()) == 1
    assert (the(scenario, "root.a").state, the(scenario, "root.a").dynamic) == ("Running", True)
    assert queues(scenario.gone("p", "q").wait(10)) == {"root"}


def test_a_parent_deleted_while_in_use_has_no_weight_of_its_own_when_it_goes_on_as_one_that_a_rule_made() -> None:
    """In Hadoop a queue that is gone from the file is dynamic, with the defaults, from then on; here from when a rule makes it again."""
    rules = (PlacementRule("specified"), PlacementRule("reject"))
    scenario = ruled(*rules).queue("root.a", holds_queues=True, weight=5.0, maximum=limits(cpu="1")).pod("p", "root.a.x", "old")
    scenario.confirm(scenario.plan()).without_queue("root.a")
    scenario.plan()
    assert (the(scenario, "root.a").weight, the(scenario, "root.a").state) == (5.0, "Draining")

    scenario.pod("q", "root.a.y", "new").pod("r", "root.b", "other")
    assert len(scenario.plan()) == 2
    assert (the(scenario, "root.a").weight, the(scenario, "root.a").dynamic) == (1.0, True)
    assert the(scenario, "root.a").maximum == the(scenario, "root.b").maximum


def test_a_parent_deleted_under_a_declared_child_goes_when_both_are_gone() -> None:
    scenario = (
        ruled(PlacementRule("specified"), PlacementRule("reject")).queue("root.a").queue("root.a.b").pod("p", "root.a.b", "b")
    )
    scenario.plan()
    scenario.without_queue("root.a").pod("q", "root.a.c", "c")
    assert len(scenario.plan()) == 1
    assert the(scenario, "root.a").dynamic
    assert not the(scenario, "root.a.b").dynamic

    scenario.gone("q").wait(10)
    assert queues(scenario) == {"root", "root.a", "root.a.b"}
    scenario.gone("p").without_queue("root.a.b").plan()
    assert queues(scenario) == {"root"}


def test_a_stopped_parent_takes_no_new_child() -> None:
    scenario = ruled(*BELOW).queue("root.users", holds_queues=True, running=False).pod("p", user="ann")
    assert scenario.plan() == []
    assert scenario.why("p")[0] == "QueueStopped"


# ---- restart


def test_after_a_restart_bound_pods_bring_their_queue_back_whatever_the_rules_say_now() -> None:
    scenario = ruled(PlacementRule("namespace"))
    scenario.tell(PodSeen(a_pod("waiting", user="ann")))
    scenario.tell(PodSeen(a_pod("bound", user="ann", node="node-0", held_in="root.users.ann")))
    scenario.plan()
    assert queue_of(scenario) == "root.users.ann"
    assert "root.ns" not in queues(scenario.wait(10))


def test_pods_that_are_seen_before_the_rules_go_back_to_their_queue_when_the_rules_come() -> None:
    scenario = Scenario().nodes(1).tell(PodSeen(a_pod("bound", user="ann", node="node-0", held_in="root.users.ann")))
    scenario.plan()
    assert queue_of(scenario) == "root.default"
    scenario.queue("root.users", holds_queues=True).scheduler(rules=BELOW).plan()
    assert queue_of(scenario) == "root.users.ann"


def test_a_bound_pod_of_a_queue_that_cannot_be_any_more_is_placed_by_the_rules() -> None:
    scenario = (
        ruled().queue("root.a").queue("root.a.b").tell(PodSeen(a_pod("bound", user="ann", node="node-0", held_in="root.a")))
    )
    assert queue_of(scenario) == "root.ann"


# ---- access


def acl(*users: str, groups: tuple[str, ...] = ()) -> AccessList:
    return AccessList(frozenset(users), frozenset(groups))


def closed(**root: Any) -> Scenario:
    return Scenario().nodes(1, cpu=8, memory=64).queue("root", submit=acl(), administer=acl(), **root)


def test_any_ancestor_grants_and_who_is_granted_nothing_waits_with_a_reason() -> None:
    scenario = closed().queue("root.a", submit=acl("ann")).queue("root.a.b", administer=acl(groups=("ops",)))
    scenario.pod("ann", "root.a.b", "1", user="ann").pod("bob", "root.a.b", "2", user="bob", groups=("dev", "ops"))
    scenario.pod("eve", "root.a.b", "3", user="eve", groups=("dev",))
    assert {bind.name for bind in scenario.plan()} == {"ann", "bob"}
    assert scenario.why("eve") == (
        "AccessDenied",
        "user eve of dev may not submit to queue root.a.b: neither it nor a queue above it allows that",
    )

    scenario.queue("root.a", submit=acl("*"))
    assert [bind.name for bind in scenario.plan()] == ["eve"]


def test_a_root_without_lists_is_open_to_everybody() -> None:
    scenario = Scenario().nodes(1).queue("root", submit=acl()).queue("root.a", submit=acl("ann")).pod("p", "root.a", user="bob")
    assert len(scenario.plan()) == 1, "who may administer is not said, so everybody may, and so submit"


def test_a_queue_is_made_only_for_those_who_may_submit_to_the_nearest_above() -> None:
    scenario = closed().scheduler(rules=BELOW).queue("root.users", submit=acl("ann"), holds_queues=True)
    scenario.pod("p", application="1", user="ann").pod("q", application="2", user="bob")
    assert [bind.queue for bind in scenario.plan()] == ["root.users.ann"]
    assert scenario.why("q")[0] == "AccessDenied"
    assert "root.users.bob" not in queues(scenario)


def test_what_runs_is_not_driven_out_by_an_access_list() -> None:
    scenario = Scenario().nodes(1, cpu=1).queue("root.a").pods(2, "p", "root.a", user="ann")
    scenario.confirm(scenario.plan()).queue("root", submit=acl(), administer=acl()).plan()
    assert queue_of(scenario) == "root.a"


# ---- refused reloads


def test_rules_that_cannot_be_are_refused_whole() -> None:
    scenario = ruled()
    with pytest.raises(InvalidSpec, match="never reached"):
        scenario.scheduler(rules=(PlacementRule("user"), PlacementRule("reject")))
    with pytest.raises(InvalidSpec, match="defaultQueueSchedulingPolicy: 'fifo'"):
        scenario.scheduler(rules=(PlacementRule("namespace"),), fair=FairSettings(default_policy="fifo"))
    assert [bind.queue for bind in scenario.pod("p", user="ann").plan()] == ["root.ann"]


def problem(scenario: Scenario, path: str) -> tuple[str, str, bool] | None:
    scenario.plan(0)
    return scenario.core.state.tree.problems.get(path)


def test_a_share_of_masters_is_for_leaves() -> None:
    scenario = Scenario().queue("root.a", max_master_share=0.2).queue("root.b", max_master_share=0.2, holds_queues=True)
    assert problem(scenario, "root.a") is None
    scenario.queue("root.a.b")
    assert problem(scenario, "root.a") == (
        "Invalid",
        "maxAMShare: 0.2 is for leaf queues, and root.a has child queues; the last good version stays in force",
        True,
    )
    found = problem(scenario, "root.b")
    assert found is not None
    assert found[1] == "maxAMShare: 0.2 is for leaf queues, and root.b is declared to hold queues"


def test_a_leaf_in_use_is_declared_a_parent_only_when_its_applications_have_left() -> None:
    scenario = Scenario().nodes(1).queue("root.a").pod("p", "root.a")
    scenario.confirm(scenario.plan()).queue("root.a", holds_queues=True)
    found = problem(scenario, "root.a")
    assert found is not None
    assert (found[0], found[2]) == ("HasApplications", True)
    assert "is a leaf with 1 application" in found[1]
    assert the(scenario, "root.a").leaf

    scenario.gone("p")
    assert problem(scenario, "root.a") is None
    assert not the(scenario, "root.a").leaf


def test_a_parent_whose_children_are_deleted_becomes_a_leaf() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.a.b").pod("p", "root.a")
    assert scenario.plan() == []
    assert [bind.queue for bind in scenario.without_queue("root.a.b").plan()] == ["root.a"]


def test_a_definition_below_a_queue_that_only_a_rule_made_waits_for_its_parent() -> None:
    scenario = ruled(PlacementRule("specified"), PlacementRule("reject")).pod("p", "a.b").queue("root.a.c")
    found = problem(scenario, "root.a.c")
    assert found is not None
    assert found[0] == "NoParent"
    scenario.queue("root.a")
    assert queues(scenario) == {"root", "root.a", "root.a.b", "root.a.c"}


def test_a_policy_that_nobody_knows_leaves_the_last_good_version() -> None:
    scenario = Scenario().queue("root.a", policy="fair")
    scenario.plan(0)
    scenario.queue("root.a", policy="lottery")
    found = problem(scenario, "root.a")
    assert found is not None
    assert found[2]
    assert "'lottery' is not known; allowed are" in found[1]
    assert the(scenario, "root.a").policy.name == "fair"
