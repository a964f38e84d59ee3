"""Applications run in a reservation that claims their names, while it is active, and elsewhere in its plan else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import a_pod
from core.kernel.reservations.planned import DISCIPLINES, PLAN, Reserving, asked, wanted
from treadle.core import Core
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.kernel.reservations.following import child_path, default_path
from treadle.core.model import ApplicationSpec

both = pytest.mark.parametrize("discipline", DISCIPLINES)
MINE, REST = child_path(PLAN, "ns/a"), default_path(PLAN)


def claiming(discipline: str, *names: str, **fields: Any) -> Reserving:
    """A reservation for six cores from one to two o'clock that claims some names."""
    return Reserving(discipline).ask(wanted("a", asked(cpu=6, hours=1), start=1, end=2, applications=names, **fields))


def where(it: Reserving, application: str) -> str:
    found = it.core.state.applications[f"ns/{application}"].queue
    return "" if found is None else found.path


@both
def test_a_run_that_comes_while_the_reservation_is_active_is_in_it(discipline: str) -> None:
    it = claiming(discipline, "nightly-*").at(1)
    it.plan()
    it.pods(2, "p", queue=PLAN, application="nightly-17").pods(2, "q", queue=PLAN, application="other-17")
    it.confirm(it.plan())
    assert (where(it, "nightly-17"), where(it, "other-17")) == (MINE, REST)
    assert it.used(MINE) == 2


@both
def test_a_run_that_comes_before_is_in_the_rest_of_the_plan_and_goes_over_at_the_start_and_back_at_the_end(
    discipline: str,
) -> None:
    it = claiming(discipline, "nightly-*")
    it.plan()
    it.pods(2, "p", queue=PLAN, application="nightly-17")
    it.confirm(it.plan())
    seen = [where(it, "nightly-17")]
    for hour in (1, 2):
        it.at(hour).plan()
        seen.append(where(it, "nightly-17"))
    assert seen == [REST, MINE, REST]
    assert it.used(REST) == 2


@both
def test_who_asks_for_another_queue_or_is_of_another_namespace_is_not_claimed(discipline: str) -> None:
    it = claiming(discipline, "*").at(1)
    it.plan()
    it.pods(1, "p", queue="root.rest", application="nightly-1")
    it.tell(PodSeen(replace(a_pod("q", PLAN), namespace="elsewhere", application="elsewhere/nightly-3")))
    it.confirm(it.plan())
    assert where(it, "nightly-1") == "root.rest"
    other = it.core.state.applications["elsewhere/nightly-3"].queue
    assert other is not None
    assert other.path == REST


@both
def test_who_names_a_reservation_is_in_that(discipline: str) -> None:
    it = claiming(discipline, "nightly-*").ask(wanted("b", asked(cpu=2, hours=1), start=1, end=2)).at(1)
    it.plan()
    it.tell(ApplicationSeen(ApplicationSpec("ns/nightly-1", reservation="ns/b", uid="x"))).pods(
        1, "p", queue=PLAN, application="nightly-1"
    )
    it.plan()
    assert where(it, "nightly-1") == child_path(PLAN, "ns/b")


@both
def test_of_two_that_claim_a_name_the_first_that_was_accepted_has_it(discipline: str) -> None:
    it = claiming(discipline, "nightly-*")
    it.plan()
    it.wait(1.0).ask(wanted("b", asked(cpu=2, hours=1), start=1, end=2, applications=("*",)))
    it.plan()
    it.at(1).plan()
    it.pods(1, "p", queue=PLAN, application="nightly-1").pods(1, "q", queue=PLAN, application="other")
    it.plan()
    assert (where(it, "nightly-1"), where(it, "other")) == (MINE, child_path(PLAN, "ns/b"))


@both
def test_an_edit_of_the_names_counts_at_once(discipline: str) -> None:
    it = claiming(discipline, "nightly-*").at(1)
    it.plan()
    it.pods(1, "p", queue=PLAN, application="nightly-1").pods(1, "q", queue=PLAN, application="weekly-1")
    it.confirm(it.plan())
    before = (where(it, "nightly-1"), where(it, "weekly-1"))
    spec = it.core.state.plans.known["ns/a"].spec
    it.ask(replace(spec, applications=("weekly-*",), generation=2), it.core.state.plans.known["ns/a"].decided)
    it.plan()
    it.plan()
    assert (before, (where(it, "nightly-1"), where(it, "weekly-1"))) == ((MINE, REST), (REST, MINE))


@both
def test_a_reservation_that_is_deleted_claims_nobody(discipline: str) -> None:
    it = claiming(discipline, "nightly-*").at(1)
    it.plan()
    it.pods(1, "p", queue=PLAN, application="nightly-1")
    it.confirm(it.plan())
    it.withdraw("a").plan()
    it.plan()
    assert where(it, "nightly-1") == REST


@both
def test_letters_of_a_pattern_stand_for_themselves(discipline: str) -> None:
    it = claiming(discipline, "job/etl.v1-*").at(1)
    it.plan()
    for number, name in enumerate(("job/etl.v1-7", "job/etlxv1-7", "job/etl.v1", "xjob/etl.v1-7")):
        it.pods(1, f"p{number}", queue=PLAN, application=name)
    it.plan()
    assert [where(it, name) == MINE for name in ("job/etl.v1-7", "job/etlxv1-7", "job/etl.v1", "xjob/etl.v1-7")] == [
        True,
        False,
        False,
        False,
    ]


@both
def test_a_new_core_of_the_same_facts_has_it_in_the_same_place(discipline: str) -> None:
    it = claiming(discipline, "nightly-*").at(1)
    it.plan()
    it.pods(2, "p", queue=PLAN, application="nightly-17")
    it.confirm(it.plan())
    other = Core(validate=True)
    for event in it.core.facts():
        other.handle(event, it.now)
    other.plan(it.now)
    found = other.state.applications["ns/nightly-17"].queue
    assert found is not None
    assert found.path == MINE
