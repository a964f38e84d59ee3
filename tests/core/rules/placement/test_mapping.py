"""Mapping rules of the CapacityScheduler, tried in order: which place, which reject, which pass on."""

from __future__ import annotations

import pytest

from treadle.core.model.mapping import Fallback, Known, MappingRule, Match
from treadle.core.rules.placement.mapping import InvalidMapping, Mapper, MappingRejected, QueueNames, Submission, place_of

ANN = Submission("ann", ("staff", "data"), "etl")


def names(*paths: str, makes: str = "") -> QueueNames:
    found = QueueNames()
    for path in ("root", "root.default", "root.users", *paths):
        leaf = path not in {"root", "root.users"} and path != makes
        found.add(Known(path, leaf, makes=path == makes, deep=path == makes))
    return found


def rule(place: str | None = None, match: Match = Match.ANY, value: str = "", **said: object) -> MappingRule:
    return MappingRule(match, value, place, **said)  # type: ignore[arg-type]


def placed(*rules: MappingRule, queues: QueueNames | None = None, submission: Submission = ANN) -> str | None:
    return Mapper(rules, names() if queues is None else queues, check=False).place(submission)


def test_the_first_rule_that_matches_places() -> None:
    queues = names("root.a", "root.b")
    assert placed(rule("root.a", Match.USER, "bob"), rule("root.b", Match.USER, "ann"), rule("root.a"), queues=queues) == "root.b"


@pytest.mark.parametrize(
    ("match", "value", "matches"),
    [
        (Match.USER, "ann", True),
        (Match.USER, "bob", False),
        (Match.GROUP, "data", True),
        (Match.GROUP, "web", False),
        (Match.APPLICATION, "etl", True),
        (Match.APPLICATION, "ml", False),
    ],
)
def test_rules_look_at_users_groups_and_names(match: Match, value: str, matches: bool) -> None:
    found = placed(rule("root.a", match, value), rule("root.default"), queues=names("root.a"))
    assert found == ("root.a" if matches else "root.default")


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("root.users.%user", "root.users.ann"),
        ("root.users.%primary_group", "root.users.staff"),
        ("root.users.%application", "root.users.etl"),
    ],
)
def test_variables_stand_for_parts_of_the_path(place: str, path: str) -> None:
    assert placed(rule(place), queues=names(path)) == path


def test_a_queue_is_made_below_a_parent_that_makes_some() -> None:
    queues = names("root.flex", makes="root.flex")
    assert placed(rule("root.flex.%user"), queues=queues) == "root.flex.ann"


def test_a_rule_that_may_not_make_the_queue_falls_back() -> None:
    queues = names("root.flex", makes="root.flex")
    never = rule("root.flex.%user", create=False, fallback=Fallback.SKIP)
    assert placed(never, rule("root.default"), queues=queues) == "root.default"


def test_where_a_rule_cannot_place_its_fallback_decides() -> None:
    assert placed(rule("root.none", fallback=Fallback.SKIP), rule("root.default")) == "root.default"
    assert placed(rule("root.none", fallback=Fallback.PLACE_DEFAULT), rule("root.users")) == "root.default"
    with pytest.raises(MappingRejected):
        placed(rule("root.none", fallback=Fallback.REJECT))


def test_a_rule_without_a_place_rejects() -> None:
    with pytest.raises(MappingRejected):
        placed(rule(match=Match.USER, value="ann"))


def test_a_rule_may_set_the_default_queue_for_those_after_it() -> None:
    queues = names("root.a")
    assert placed(rule(default="root.a"), rule("%default"), queues=queues) == "root.a"


def test_no_rule_that_matches_leaves_the_application_where_it_asks_to_be() -> None:
    assert placed(rule("root.default", Match.USER, "bob")) is None


def test_a_short_name_is_enough_where_only_one_queue_has_it() -> None:
    assert placed(rule("a"), queues=names("root.users.a")) == "root.users.a"
    assert placed(rule("a"), rule("root.default"), queues=names("root.users.a", "root.a")) == "root.default"


def test_a_fixed_target_that_can_never_be_is_refused() -> None:
    with pytest.raises(InvalidMapping):
        Mapper((rule("root.none"),), names())


@pytest.mark.parametrize(
    ("policy", "above", "path"),
    [
        ("user", None, "%user"),
        ("user", "root.users", "root.users.%user"),
        ("primaryGroupUser", "root", "root.%primary_group.%user"),
        ("specified", "root.users", "%specified"),
        ("defaultQueue", "root.users", "%default"),
    ],
)
def test_policies_give_paths(policy: str, above: str | None, path: str) -> None:
    assert place_of(policy, above) == path
