"""Mapping rules of the capacity discipline at work on a live tree, and how many applications a leaf takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from core.builders import by_queue
from core.clusters import Growing, settings, template
from treadle.core.disciplines.capacity.auto_queues import mapping_problem
from treadle.core.events import ApplicationSeen
from treadle.core.kernel.tree import admission
from treadle.core.model import ApplicationSpec
from treadle.core.model.capacity import FlexibleCreation
from treadle.core.model.mapping import Fallback, MappingRule, Match
from treadle.core.rules.running import by_start

EVERYBODY = Match.ANY


def to(place: str | None, match: Match = EVERYBODY, value: str = "", **fields: Any) -> MappingRule:
    return MappingRule(match, value, place, **fields)


class Mapped(Growing):
    """The classic tree with queues for users below ``root.users``."""

    def by(self, *rules: MappingRule, override: bool = False, **fields: Any) -> Mapped:
        values = {"idle_before_removal": 301.0, "removal_interval": 300.0, **fields}
        self.scheduler(discipline="Capacity", capacity=settings(**values), mapping=rules, mapping_override=override)
        return self

    def tree(self) -> Mapped:
        self.share("root.users", "1w", flexible=FlexibleCreation(enabled=True, leaf=template("1w")))
        self.share("root.dev", "1w").share("root.dev.eng", "1w", user_limit_factor=-1.0).share("root.default", "1w")
        self.nodes(2, cpu=20, memory=40)
        return self

    def queue_of(self, application: str) -> str:
        queue = self.core.state.applications[f"ns/{application}"].queue
        return "" if queue is None else queue.path


@pytest.fixture
def cluster() -> Mapped:
    return Mapped()


def test_a_rule_makes_a_queue_for_every_user_with_a_name_that_fits(cluster: Mapped) -> None:
    cluster.by(to("root.users.%user")).tree()
    cluster.pod("p", "", "app", user="Ann.Smith").pod("q", "", "other", user="bob")
    assert by_queue(cluster.plan()) == {"root.users.ann-dot-smith": 1, "root.users.bob": 1}


def test_rules_look_at_users_groups_and_names_as_they_are(cluster: Mapped) -> None:
    cluster.by(
        to("root.dev.eng", Match.USER, "Ann.Smith"),
        to("root.users.%primary_group", Match.GROUP, "Ops"),
        to("root.users.%application", Match.APPLICATION, "nightly.etl"),
        to(None),
    ).tree()
    cluster.pod("a", "", "a", user="Ann.Smith").pod("b", "", "b", user="bob", groups=("Data Lake", "Ops"))
    cluster.pod("c", "", "nightly.etl", user="carl")
    cluster.plan()
    assert cluster.queue_of("a") == "root.dev.eng"
    assert cluster.queue_of("b") == "root.users.data-lake"
    assert cluster.queue_of("nightly.etl") == "root.users.nightly-dot-etl"


def test_who_is_rejected_waits_with_the_rule_and_is_placed_once_the_rules_allow_it(cluster: Mapped) -> None:
    cluster.by(to(None, Match.USER, "bob"), to("root.users.%user")).tree()
    cluster.pod("p", "", "app", user="bob")
    assert cluster.plan() == []
    assert cluster.why("p") == ("PlacementRejected", "mapping rule 1 rejects the application (user bob)")
    cluster.by(to("root.users.%user"))
    assert by_queue(cluster.plan()) == {"root.users.bob": 1}


def test_who_asks_for_a_queue_is_there_unless_rules_override(cluster: Mapped) -> None:
    cluster.by(to("root.users.%user")).tree()
    cluster.pod("p", "root.dev.eng", "one", user="ann").plan()
    assert cluster.queue_of("one") == "root.dev.eng"
    cluster.by(to("root.users.%user"), override=True)
    cluster.pod("q", "root.dev.eng", "two", user="ann").plan()
    assert cluster.queue_of("two") == "root.users.ann"
    assert cluster.queue_of("one") == "root.dev.eng", "what runs stays"


def test_a_short_name_is_enough_where_only_one_queue_has_it(cluster: Mapped) -> None:
    cluster.by().tree()
    cluster.pod("p", "eng", "app").plan()
    assert cluster.queue_of("app") == "root.dev.eng"


def test_where_a_rule_cannot_place_its_fallback_decides(cluster: Mapped) -> None:
    nowhere = "root.dev.%user"
    cluster.by(
        to(nowhere, Match.USER, "ann", fallback=Fallback.SKIP),
        to(nowhere, Match.USER, "bob", fallback=Fallback.PLACE_DEFAULT),
        to(nowhere, Match.USER, "carl", fallback=Fallback.REJECT),
        to("root.dev.eng"),
    ).tree()
    for user in ("ann", "bob", "carl"):
        cluster.pod(user, "", user, user=user)
    cluster.plan()
    assert (cluster.queue_of("ann"), cluster.queue_of("bob"), cluster.queue_of("carl")) == ("root.dev.eng", "root.default", "")
    assert "mapping rule 3: queue root.dev.carl does not exist, and none may be made there" in cluster.why("carl")[1]


def test_no_rule_that_matches_leaves_an_application_where_it_asks_to_be_or_in_the_default_queue(cluster: Mapped) -> None:
    cluster.by(to("root.dev.eng", Match.USER, "nobody")).tree()
    cluster.pod("p", "", "p", user="ann").pod("q", "root.lost", "q", user="ann").plan()
    assert cluster.queue_of("p") == "root.default"
    assert cluster.why("q") == (
        "PlacementRejected",
        "queue root.lost does not exist, and no queues are made below root (user ann, queue root.lost is asked for)",
    )


def test_a_rule_by_groups_does_not_match_a_user_without_any(cluster: Mapped) -> None:
    by_group = to("root.users.%primary_group", fallback=Fallback.REJECT)
    cluster.by(by_group, to("root.dev.eng")).tree()
    cluster.pod("p", "", "p", user="ann").plan()
    assert cluster.queue_of("p") == "root.dev.eng"


def test_a_name_that_no_queue_may_have_is_left_to_the_fallback_of_the_rule(cluster: Mapped) -> None:
    cluster.by(to("root.users.%user", fallback=Fallback.PLACE_DEFAULT)).tree()
    cluster.pod("p", "", "p", user="a" * 80).pod("q", "", "q", user="...").plan()
    assert (cluster.queue_of("p"), cluster.queue_of("q")) == ("root.default", "root.users.dot-dot-dot")


def test_a_rule_whose_queue_does_not_exist_is_told_and_works_when_it_does(cluster: Mapped) -> None:
    cluster.by(to("root.late"), to("root.dev.eng")).tree()
    cluster.pod("p", "", "p").plan()
    assert cluster.queue_of("p") == "root.dev.eng"
    assert mapping_problem(cluster.core.state) == "mapping rule 1: queue root.late does not exist, and none may be made there"
    cluster.share("root.late", "1w").pod("q", "", "q").plan()
    assert cluster.queue_of("q") == "root.late"
    assert mapping_problem(cluster.core.state) == ""


def test_what_runs_is_put_back_where_it_was_bound_whatever_the_rules_say(cluster: Mapped) -> None:
    cluster.by(to("root.dev.eng")).tree()
    cluster.pod("p", "", "app", user="ann", node="node-0", held_in="root.users.ann").plan()
    assert cluster.queue_of("app") == "root.users.ann"


def test_a_leaf_takes_no_more_applications_than_it_may_and_lets_the_next_one_in_when_one_leaves(cluster: Mapped) -> None:
    cluster.by().tree().share("root.dev.eng", "1w", max_applications=2, user_limit_factor=-1.0)
    for number in range(4):
        cluster.pod(f"p-{number}", "root.dev.eng", f"app-{number}", created=float(number))
    assert len(cluster.plan()) == 2
    assert cluster.why("p-2") == (
        "TooManyApplications",
        "application ns/app-2 may not run yet: queue root.dev.eng has 2 running applications; its limit is 2 (capacity.maximumApplications)",
    )
    cluster.gone("p-0")
    assert [bind.uid for bind in cluster.plan()] == ["p-2"]


def test_one_user_has_no_more_applications_in_a_leaf_than_the_user_limit_says(cluster: Mapped) -> None:
    cluster.by().tree().share("root.dev.eng", "1w", max_applications=4, user_limit=50.0, user_limit_factor=1.0)
    for number in range(3):
        cluster.pod(f"a-{number}", "root.dev.eng", f"a-{number}", user="ann", created=float(number))
        cluster.pod(f"b-{number}", "root.dev.eng", f"b-{number}", user="bob", created=float(number))
    assert len(cluster.plan()) == 4
    reason, message = cluster.why("a-2")
    assert reason == "TooManyApplications"
    assert "queue root.dev.eng has 4 running applications; its limit is 4 (capacity.maximumApplications)" in message
    cluster.gone("b-0")
    assert [bind.uid for bind in cluster.plan()] == ["b-2"], "ann has two already"
    cluster.gone("b-1", "b-2", "b-0")
    cluster.plan()
    assert cluster.why("a-2")[1] == (
        "application ns/a-2 may not run yet: user ann has 2 running applications in queue root.dev.eng; "
        "the limit of a user is 2, by the queue's maximumApplications, userLimitFactor and minimumUserLimitPercent"
    )
    cluster.gone("a-0")
    assert [bind.uid for bind in cluster.plan()] == ["a-2"]


def test_who_waits_for_a_users_limit_in_other_leaves_is_not_looked_at_when_an_application_leaves_one(
    cluster: Mapped, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.by().tree().share("root.dev.eng", "1w", max_applications=4, user_limit=50.0, user_limit_factor=1.0)
    cluster.share("root.dev.science", "1w", max_applications=4, user_limit=50.0, user_limit_factor=1.0)
    for number in range(30):
        cluster.pod(f"s{number}", "root.dev.science", f"s{number}", user="ann", created=float(number))
    for number in range(3):
        cluster.pod(f"e{number}", "root.dev.eng", f"e{number}", user="ann", created=100.0 + number)
    cluster.plan()
    looks: list[str] = []

    def noted(lists: Sequence[Sequence[Any]]) -> Iterator[Any]:
        for found in by_start(lists):
            looks.append(found.queue.path)
            yield found

    monkeypatch.setattr(admission, "by_start", noted)
    cluster.gone("e0")
    assert [bind.uid for bind in cluster.plan()] == ["e2"]
    assert looks == ["root.dev.eng"]


def test_all_queues_together_take_no_more_applications_than_the_scheduler_says(cluster: Mapped) -> None:
    cluster.by(max_applications=1, queue_max_applications=5).tree()
    cluster.pod("a", "root.dev.eng", "a", created=1.0).pod("b", "root.default", "b", created=2.0)
    assert len(cluster.plan()) == 1
    assert (
        "queue root has 1 running applications; its limit is 1 (capacity.maximumApplications of the Scheduler)"
        in cluster.why("b")[1]
    )
    cluster.gone("a")
    assert len(cluster.plan()) == 1


def test_a_leaf_that_takes_no_application_for_want_of_a_guarantee_says_so_and_what_to_set(cluster: Mapped) -> None:
    cluster.by().share("root.none", "0%", "100%").share("root.all", "100%").nodes(2, cpu=20, memory=40)
    cluster.pod("p", "root.none", "app")
    assert cluster.plan() == []
    reason, message = cluster.why("p")
    assert reason == "TooManyApplications"
    assert message == (
        "application ns/app may not run yet: queue root.none has 0 running applications; its limit is 0 "
        "(it follows from its guaranteed share of 0%; set capacity.maximumApplications "
        "of the queue, or capacity.queueMaximumApplications of the Scheduler, or give it a larger guarantee)"
    )
    cluster.share("root.none", "0%", "100%", max_applications=1)
    assert [bind.uid for bind in cluster.plan()] == ["p"]


def test_a_running_application_follows_its_object_into_a_queue_that_is_made_for_it(cluster: Mapped) -> None:
    cluster.by().tree()
    cluster.tell(ApplicationSeen(ApplicationSpec("ns/app", "root.dev.eng")))
    cluster.pod("p", "", "app").settle(1)
    cluster.tell(ApplicationSeen(ApplicationSpec("ns/app", "root.users.ann")))
    cluster.plan()
    assert cluster.queue_of("app") == "root.users.ann"
    assert cluster.used("root.users.ann") == 1
