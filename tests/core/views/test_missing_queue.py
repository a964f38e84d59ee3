"""What has to change is said of applications that no queue takes."""

from __future__ import annotations

from core.builders import Scenario
from treadle.core.model import DefaultAccess, Settings
from treadle.core.model.access import AccessList


def said(scenario: Scenario, name: str) -> tuple[str, str]:
    """Why a pod waits, and what would have to change."""
    scenario.plan()
    held = scenario.core.view.held(name)
    assert held is not None
    return held.reason, held.change


def test_a_slip_in_the_name_of_a_queue_is_told_with_what_was_probably_meant() -> None:
    scenario = Scenario().nodes(1).queue("root.prod").pod("p", "root.prd").pod("q", "root.elsewhere", "other")
    change = "queue root.{} is made, or another one is asked for, or there is a default queue (root.default)"
    assert said(scenario, "p") == ("QueueNotFound", change.format("prd") + "; did you mean root.prod?")
    assert said(scenario, "q") == ("QueueNotFound", change.format("elsewhere"))


def test_who_asks_for_no_queue_is_told_that_one_is_to_be_asked_for() -> None:
    scenario = Scenario().nodes(1).queue("root.prod").pod("p")
    assert said(scenario, "p") == ("QueueNotFound", "a queue is asked for, or there is a default queue (root.default)")


def test_who_may_not_submit_is_told_who_could_allow_it() -> None:
    scenario = Scenario(Settings(default_access=DefaultAccess.CLOSED)).nodes(1)
    scenario.queue("root.prod", submit=AccessList(frozenset({"ann"}))).pod("p", "root.prod", user="bob")
    words = "its user is allowed to submit there (submitAcl of the queue or of one above it), or another queue is asked for"
    assert said(scenario, "p") == ("AccessDenied", words)


def test_a_queue_that_a_namespace_may_use_is_named_once() -> None:
    scenario = Scenario(Settings(default_access=DefaultAccess.NAMESPACE)).nodes(1).namespace("ns", "default")
    scenario.queue("root.prod").queue("root.default").pod("p", "root.prod").plan()
    assert scenario.why("p")[1].endswith("by itself namespace ns may use root.default")
