"""The queue tree in force: definitions in any order, wrong together, edited and deleted while in use."""

from core.builders import Scenario, limits


def problem(scenario: Scenario, path: str) -> str:
    scenario.plan(0)
    found = scenario.core.state.tree.problems.get(path)
    return found.message if found else ""


def paths(scenario: Scenario) -> set[str]:
    scenario.plan(0)
    return set(scenario.core.state.tree.queues)


def test_without_definitions_there_is_root_default_and_with_any_there_is_only_what_is_defined() -> None:
    scenario = Scenario()
    assert paths(scenario) == {"root", "root.default"}
    assert paths(scenario.queue("root", policy="fair")) == {"root", "root.default"}
    assert paths(scenario.queue("root.a", policy="fair")) == {"root", "root.a"}
    assert paths(scenario.without_queue("root.a")) == {"root", "root.default"}


def test_a_child_waits_for_its_parent_and_is_in_force_when_it_comes() -> None:
    scenario = Scenario().queue("root.a.b.c")
    assert problem(scenario, "root.a.b.c") == "the parent queue root.a.b does not exist"
    assert paths(scenario.queue("root.a.b").queue("root.a")) == {"root", "root.a", "root.a.b", "root.a.b.c"}
    assert problem(scenario, "root.a.b.c") == ""


def test_policies_that_do_not_go_together_are_refused_as_in_hadoop() -> None:
    scenario = (
        Scenario().queue("root.a", policy="fair").queue("root.a.b", policy="drf").queue("root.f", policy="fifo").queue("root.f.g")
    )
    assert "'drf' is not allowed under root.a, whose policy is fair; allowed are fair, fifo" in problem(scenario, "root.a.b")
    assert "'fifo' is for leaf queues" in problem(scenario, "root.f")


def test_an_invalid_edit_leaves_the_last_good_version_in_force() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="2")).pods(9, "a", "root.a", "a")
    assert len(scenario.plan()) == 2
    scenario.queue("root.a", maximum=limits(cpu="5"), policy="lottery")
    assert len(scenario.plan()) == 0
    assert "lottery" in problem(scenario, "root.a")
    assert "last good version" in problem(scenario, "root.a")

    scenario.queue("root.a", maximum=limits(cpu="5"))
    assert len(scenario.plan()) == 3


def test_a_minimum_over_the_maximum_is_the_maximum_too() -> None:
    scenario = Scenario().nodes(1, cpu=10, memory=100).queue("root.a", maximum=limits(cpu="2"), minimum=limits(cpu="3"))
    assert problem(scenario, "root.a") == ""
    assert len(scenario.pods(9, "a", "root.a", "a").plan()) == 3


def test_a_leaf_in_use_becomes_a_parent_only_when_its_applications_have_left() -> None:
    scenario = Scenario().nodes(1).queue("root.a").pod("p", "root.a")
    scenario.confirm(scenario.plan())
    scenario.queue("root.a.b")
    assert "is a leaf with 1 application;" in problem(scenario, "root.a.b")

    scenario.gone("p")
    assert problem(scenario, "root.a.b") == ""
    assert "root.a.b" in paths(scenario)


def test_a_queue_deleted_while_in_use_drains_and_then_goes() -> None:
    scenario = Scenario().nodes(1, cpu=2).queue("root.a").queue("root.b").pods(3, "old", "root.a", "old")
    binds = scenario.plan()
    scenario.confirm(binds).without_queue("root.a")
    assert "was deleted while it has 1 application;" in problem(scenario, "root.a")
    assert scenario.core.state.tree.queues["root.a"].state == "Draining"

    scenario.pod("new", "root.a", "new")
    assert scenario.why("new")[0] == "QueueNotFound"
    scenario.gone("old-0")
    assert len(scenario.plan()) == 1, "what belongs to an application that is there goes on"
    scenario.gone("old-1", "old-2")
    assert "root.a" not in paths(scenario)


def test_a_queue_that_comes_back_takes_new_applications_again() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.b").pod("p", "root.a")
    scenario.confirm(scenario.plan()).without_queue("root.a").pod("new", "root.a", "new")
    assert scenario.plan() == []
    scenario.queue("root.a")
    assert [bind.name for bind in scenario.plan()] == ["new"]


# ---- where an application lands


def test_a_pod_without_a_word_goes_to_the_default_queue() -> None:
    (bind,) = Scenario().nodes(1).pod("p").plan()
    assert bind.queue == "root.default"


def test_a_queue_may_be_named_without_root() -> None:
    (bind,) = Scenario().nodes(1).queue("root.dev").queue("root.dev.eng").pod("p", "dev.eng").plan()
    assert bind.queue == "root.dev.eng"


def test_a_queue_that_does_not_exist_falls_back_to_the_default_queue_if_there_is_one_and_is_found_when_it_comes() -> None:
    scenario = Scenario().nodes(1).queue("root.a").pod("p", "root.nowhere")
    assert scenario.plan() == []
    assert scenario.why("p") == (
        "QueueNotFound",
        "queue root.nowhere does not exist and there is no default queue (root.default)",
    )

    scenario.queue("root.default")
    (bind,) = scenario.plan()
    assert bind.queue == "root.default"

    scenario.confirm([bind]).queue("root.nowhere")
    scenario.plan()
    assert (scenario.used("root.default"), scenario.used("root.nowhere")) == (0, 1)


def test_an_application_in_a_parent_waits_and_says_so() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.a.b").pod("p", "root.a")
    assert scenario.plan() == []
    assert scenario.why("p") == ("QueueIsParent", "queue root.a has child queues; applications live in leaf queues only")
    scenario.pod("q", "root", "other").queue("root.c", holds_queues=True).pod("r", "root.c", "third").plan()
    assert scenario.why("q")[1].startswith("queue root is the root; ")
    assert scenario.why("r")[1].startswith("queue root.c is to hold queues only; ")


def test_an_application_object_and_the_namespace_have_their_say_in_this_order() -> None:
    scenario = Scenario().nodes(1).queue("root.a").queue("root.b").queue("root.c").namespace("ns", "root.a")
    scenario.pod("by-namespace", application="one").pod("by-label", "root.b", "two").application("three", "root.c").pod(
        "by-object", "root.b", "three"
    )

    assert {bind.name: bind.queue for bind in scenario.plan()} == {
        "by-namespace": "root.a",
        "by-label": "root.b",
        "by-object": "root.c",
    }


def test_an_edited_application_moves_with_its_usage_and_what_waits() -> None:
    scenario = Scenario().nodes(1, cpu=2).queue("root.a").queue("root.b").application("app", "root.a").pods(4, "p")
    scenario.confirm(scenario.plan())
    scenario.application("app", "root.b")
    assert (scenario.used("root.a"), scenario.used("root.b")) == (0, 2)
    scenario.gone("p-0")
    (bind,) = scenario.plan()
    assert bind.queue == "root.b"


def test_a_stopped_queue_finishes_what_it_has_and_takes_nothing_new() -> None:
    scenario = Scenario().nodes(1, cpu=1).queue("root.a").queue("root.a.b").pods(2, "old", "root.a.b", "old")
    scenario.confirm(scenario.plan())
    scenario.queue("root.a", running=False).pod("new", "root.a.b", "new")
    scenario.plan()
    assert scenario.why("new") == ("QueueStopped", "queue root.a is stopped and takes no new applications")

    scenario.gone("old-0")
    assert [bind.name for bind in scenario.plan()] == ["old-1"]
    scenario.gone("old-1").queue("root.a")
    assert [bind.name for bind in scenario.plan()] == ["new"]
