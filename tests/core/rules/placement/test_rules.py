"""Placement rules against a table of Hadoop's own tests (TestQueuePlacementPolicy) and the placement cases of the conformance files."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from core.builders import Scenario
from treadle.core.errors import InvalidSpec
from treadle.core.model import PlacementRule
from treadle.core.rules.placement.rules import InvalidRules, Refused, Request, Rules, broken_name, clean, implied

TRACE = Path(__file__).parents[3] / "conformance" / "cases" / "fair_trace.json"
SUITE = ("specified then", "user without", "Nested user", "The default parent", "Dots", "Names with", "The classic", "No policy")


@dataclass
class Queues:
    """A tree in miniature: who defined what, what rules made, which of them are leaves."""

    static: set[str] = field(default_factory=set)
    parents: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)

    def defined(self, path: str) -> bool:
        return path in self.static or path == "root"

    def exists(self, path: str) -> bool:
        return self.defined(path) or path in self.made

    def is_leaf(self, path: str) -> bool:
        return self.exists(path) and path not in self.parents and path != "root"

    def make(self, path: str) -> bool:
        """Make a queue and its ancestors unless one of them is a leaf."""
        above = path.rpartition(".")[0]
        while above and above != "root":
            if self.is_leaf(above):
                return False
            self.made.add(above)
            self.parents.add(above)
            above = above.rpartition(".")[0]
        if not self.exists(path):
            self.made.add(path)
        return self.is_leaf(path)


def rule(name: str, *, create: bool = True, queue: str = "", parent: PlacementRule | None = None) -> PlacementRule:
    return PlacementRule(name, create, queue, parent)


def of_user(user: str, queue: str = "default") -> Request:
    return Request(queue, user, (f"{user}group", f"{user}subgroup1", f"{user}subgroup2"))


def nested(parent: PlacementRule) -> PlacementRule:
    return rule("nestedUserQueue", parent=parent)


PLACED: list[tuple[str, list[PlacementRule], Queues, Request, str | None]] = [
    ("a queue that is asked for", [rule("specified"), rule("user")], Queues(), of_user("someuser", "q"), "root.q"),
    ("no queue asked for, so the user's", [rule("specified"), rule("user")], Queues(), of_user("someuser"), "root.someuser"),
    (
        "the user's queue is defined",
        [rule("specified"), rule("user", create=False), rule("default")],
        Queues({"root.someuser"}),
        of_user("someuser"),
        "root.someuser",
    ),
    (
        "a queue that a rule made is not a defined one",
        [rule("specified"), rule("user", create=False), rule("default")],
        Queues(made={"root.someuser"}),
        of_user("someuser"),
        "root.default",
    ),
    ("reject", [rule("specified"), rule("reject")], Queues(), of_user("someuser"), None),
    (
        "a default queue of one's own",
        [rule("specified", create=False), rule("default", queue="root.someDefaultQueue")],
        Queues(),
        of_user("user1"),
        "root.someDefaultQueue",
    ),
    ("an illegal default queue is root.default", [rule("default", queue=".a")], Queues(), of_user("user1"), "root.default"),
    (
        "below the primary group",
        [rule("specified", create=False), nested(rule("primaryGroup"))],
        Queues(),
        of_user("user1"),
        "root.user1group.user1",
    ),
    (
        "the primary group's queue is a leaf",
        [rule("specified", create=False), nested(rule("primaryGroup"))],
        Queues({"root.user3group"}),
        of_user("user3"),
        None,
    ),
    (
        "the primary group has no queue",
        [nested(rule("primaryGroup", create=False)), rule("default")],
        Queues(),
        of_user("user1"),
        "root.default",
    ),
    (
        "the primary group has one",
        [nested(rule("primaryGroup", create=False)), rule("default")],
        Queues({"root.user1group"}, {"root.user1group"}),
        of_user("user1"),
        "root.user1group.user1",
    ),
    (
        "below a secondary group",
        [nested(rule("secondaryGroup")), rule("default")],
        Queues({"root.user1subgroup1"}, {"root.user1subgroup1"}),
        of_user("user1"),
        "root.user1subgroup1.user1",
    ),
    (
        "no secondary group has a queue",
        [nested(rule("secondaryGroupExistingQueue")), rule("default")],
        Queues(),
        of_user("user1"),
        "root.default",
    ),
    (
        "below the queue that is asked for",
        [nested(rule("specified", create=False)), rule("default")],
        Queues({"root.parent2"}, {"root.parent2"}),
        of_user("user2", "root.parent2"),
        "root.parent2.user2",
    ),
    (
        "below a default queue",
        [rule("specified", create=False), nested(rule("default", queue="root.parent"))],
        Queues(),
        of_user("user1"),
        "root.parent.user1",
    ),
    (
        "below a default queue that is a leaf",
        [rule("specified", create=False), nested(rule("default", queue="root.parent"))],
        Queues({"root.parent"}),
        of_user("user1"),
        None,
    ),
    ("a dot in the user", [rule("user")], Queues(), of_user("first.last"), "root.first_dot_last"),
    (
        "a dot in the group",
        [rule("specified", create=False), nested(rule("primaryGroup"))],
        Queues(),
        Request("default", "user1", ("user1.group",)),
        "root.user1_dot_group.user1",
    ),
    ("a namespace", [rule("namespace")], Queues(), Request("", "u", (), "team-a"), "root.team-a"),
    (
        "a namespace below the user",
        [rule("namespace", parent=rule("user"))],
        Queues(),
        Request("", "u", (), "team-a"),
        "root.u.team-a",
    ),
    (
        "an application's name below a namespace",
        [rule("applicationName", parent=rule("namespace"))],
        Queues(),
        Request("", "u", (), "team-a", "etl"),
        "root.team-a.etl",
    ),
]


@pytest.mark.parametrize(("sentence", "rules", "queues", "request_", "path"), PLACED, ids=[case[0] for case in PLACED])
def test_an_application_is_placed_as_hadoop_places_it(
    sentence: str, rules: list[PlacementRule], queues: Queues, request_: Request, path: str | None
) -> None:
    assert Rules.of(rules).place(request_, queues) == path, sentence


INVALID: list[tuple[str, list[PlacementRule], str]] = [
    ("the last may place nothing", [rule("specified"), rule("user", create=False)], r"placementRules\[1\].*may place nothing"),
    ("a rule is never reached", [rule("specified"), rule("default"), rule("user")], r"placementRules\[1\].*never reached"),
    (
        "a default without create at the end",
        [rule("secondaryGroup"), rule("default", queue="otherdefault", create=False)],
        "may place nothing",
    ),
    ("nested without a parent", [rule("nestedUserQueue"), rule("default")], "needs a parent rule; allowed are primaryGroup"),
    ("an unknown parent", [nested(rule("unknownRule"))], r"placementRules\[0\]\.parent\.rule: 'unknownRule'.*allowed are user"),
    ("reject above", [nested(rule("reject"))], "'reject' may not be a parent"),
    ("nested above", [rule("primaryGroup", parent=nested(rule("default")))], "'nestedUserQueue' may not be a parent"),
    ("nested below one that makes nothing, alone", [nested(rule("primaryGroup", create=False))], "may place nothing"),
    ("specified with a parent", [rule("specified", parent=rule("primaryGroup")), rule("default")], "may not have a parent"),
    ("default with a parent", [rule("default", parent=rule("user"))], "may not have a parent"),
    ("reject with a parent", [rule("specified"), rule("reject", parent=rule("user"))], "may not have a parent"),
    ("the same type above", [rule("primaryGroup", parent=rule("primaryGroup"))], "of one type"),
    ("a user above a user's", [nested(rule("user"))], "of one type"),
    ("no rules", [], "empty"),
    ("an unknown rule", [rule("queue")], "allowed are user, primaryGroup"),
    ("a queue where none belongs", [rule("user", queue="root.a")], "only the rule default has a queue"),
]


@pytest.mark.parametrize(("sentence", "rules", "words"), INVALID, ids=[case[0] for case in INVALID])
def test_a_list_that_hadoop_refuses_is_refused(sentence: str, rules: list[PlacementRule], words: str) -> None:
    with pytest.raises(InvalidSpec, match=words):
        Rules.of(rules)
    assert sentence


def test_a_refused_list_says_which_rule_it_is_about() -> None:
    with pytest.raises(InvalidRules) as caught:
        Rules.of([rule("specified"), nested(rule("reject"))])

    assert (caught.value.kind, caught.value.index, caught.value.depth) == ("parent", 1, 1)


@pytest.mark.parametrize("name", ["A ", "A\u00a0", " A", ".A", "A."])
def test_a_queue_name_with_an_outer_blank_or_dot_is_refused_at_once(name: str) -> None:
    rules = Rules.of([rule("specified"), rule("default")])

    with pytest.raises(Refused, match="blank or a dot") as caught:
        rules.place(Request(name, "user1"), Queues())

    assert caught.value.rule == "specified"
    assert rules.refusal(Request(name, "user1"), Queues()).startswith("placement rule 1 (specified) rejected it")


def test_a_user_without_groups_is_refused_by_the_primary_group() -> None:
    rules = Rules.of([rule("primaryGroup", create=False), rule("default")])

    with pytest.raises(Refused, match="has no groups"):
        rules.place(Request("default", "root.fake", ()), Queues())


@pytest.mark.parametrize("name", ["primaryGroup", "secondaryGroup"])
def test_groups_that_cannot_be_looked_up_are_refused(name: str) -> None:
    rules = Rules.of([rule(name, create=False), rule("default")])

    with pytest.raises(Refused, match="cannot be looked up"):
        rules.place(Request("default", "user1", None), Queues())


def test_a_refusal_names_the_rule_and_what_the_others_said() -> None:
    rules = Rules.of([rule("specified", create=False), rule("user", create=False), rule("reject")])

    words = rules.refusal(of_user("ann", "q"), Queues(made={"root.ann"}))

    assert words == (
        "placement rule 3 (reject) rejected it: it takes no application (before it specified: queue root.q does not exist and is "
        "not defined, and the rule makes none; user: queue root.ann was made by a rule and is not defined, and the rule makes none)"
    )


@pytest.mark.parametrize(
    ("undeclared", "by_user", "names"),
    [
        (True, True, [("specified", True), ("user", True)]),
        (True, False, [("specified", True), ("default", True)]),
        (False, True, [("specified", False), ("user", False), ("default", True)]),
        (False, False, [("specified", False), ("default", True)]),
    ],
)
def test_rules_that_hold_without_a_policy(undeclared: bool, by_user: bool, names: list[tuple[str, bool]]) -> None:
    rules = implied(undeclared, by_user)

    assert [(one.name, one.create) for one in rules] == names
    Rules.of(rules)


def test_names_are_trimmed_of_unicode_blanks_and_dots_are_spelled_out() -> None:
    assert clean("\u00a0first.last\u2003") == "first_dot_last"


@pytest.mark.parametrize(("path", "broken"), [("root.a b", False), ("root.A..B", True), ("root. a", True), ("root.a", False)])
def test_a_part_of_a_path_is_not_empty_and_has_no_outer_blank(path: str, broken: bool) -> None:
    assert (broken_name(path) is not None) is broken


def _rule_of(element: ET.Element) -> PlacementRule:
    parents = element.findall("rule")
    create = element.get("create", "").lower() in {"", "true"}
    return PlacementRule(element.get("name", ""), create, element.get("queue", ""), _rule_of(parents[-1]) if parents else None)


def _queues_of(document: ET.Element) -> Queues:
    queues = Queues()

    def take(element: ET.Element, above: str) -> None:
        path = f"{above}.{element.get('name')}"
        queues.static.add(path)
        if element.get("type") == "parent" or element.find("queue") is not None:
            queues.parents.add(path)
        for child in element.findall("queue"):
            take(child, path)

    for element in document.findall("queue"):
        take(element, "root")
    return queues


def _cases() -> list[dict[str, Any]]:
    return [case for case in json.loads(TRACE.read_text()) if case["name"].startswith(SUITE)]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["name"])
def test_the_placement_cases_of_real_hadoop(case: dict[str, Any]) -> None:
    document = ET.fromstring(case["allocations"])
    elements = document.findall("queuePlacementPolicy/rule")
    site = case["conf"].get
    flags: Callable[[str], bool] = lambda key: site(f"yarn.scheduler.fair.{key}", "true") == "true"  # noqa: E731
    rules = Rules.of(
        [_rule_of(one) for one in elements] or implied(flags("allow-undeclared-pools"), flags("user-as-default-queue"))
    )
    queues = _queues_of(document)
    said = {step["i"]: step["events"][0] for step in case["expect"]["steps"]}

    for number, step in enumerate(case["steps"]):
        if step["op"] != "add_app":
            continue
        expected = said[number]
        request = Request(step["queue"], step["user"], tuple(case["groups"].get(step["user"], ())) or None)
        try:
            path = rules.place(request, queues)
        except Refused:
            assert (expected["ev"], expected.get("by")) == ("rejected", "placement")
            continue
        if path is not None and broken_name(path):
            assert expected["class"] == "InvalidQueueNameException"
        elif path is None or not queues.make(path):
            assert (expected["ev"], expected.get("by")) == ("rejected", "scheduler")
        else:
            assert (expected["ev"], expected["queue"]) == ("accepted", path)


def test_a_queue_that_is_set_aside_is_not_said_to_be_missing_and_its_pods_wait_for_it() -> None:
    scenario = Scenario().nodes(1).pod("p", "root.etl")
    scenario.core.queues_set_aside(["root.etl"])
    assert scenario.plan() == []
    reason, words = scenario.why("p")
    assert (reason, words.partition(":")[0]) == ("QueueSetAside", "queue root.etl is set aside")
    scenario.core.queues_set_aside([])
    scenario.queue("root.etl")
    assert [bind.queue for bind in scenario.plan()] == ["root.etl"]
