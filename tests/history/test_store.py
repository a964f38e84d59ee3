"""The store, in a file of SQLite and in a real PostgreSQL alike."""

from __future__ import annotations

import pytest
import sqlalchemy as sql

from treadle.history import store as module
from treadle.history.runs import DELETED, SUCCEEDED, UNKNOWN, Run, Step
from treadle.history.said import Said, Wanted
from treadle.history.store import BadUrl, OtherVersion, QueueSample, Store, url_of


def run(application: str = "team/etl", started: float = 100.0, ended: float | None = 200.0, **given) -> Run:
    steps = [Step(started, {"cpu": 1000}, 1)]
    if ended is not None:
        steps.append(Step(ended, {}, 0, (1, 0, 0)))
    said = {"pods": 1, "succeeded": int(ended is not None), "outcome": SUCCEEDED if ended else "", "steps": steps, **given}
    return Run(application, "root.a", "ann", started - 10, started, said.pop("known_from", started), ended, **said)


def sample(path: str, at: float) -> QueueSample:
    return QueueSample(path, at, {"cpu": 5}, {}, {"cpu": 10, "memory": 1 << 40}, 1, 2, 3)


def event(
    at: float, name: str = "etl-1", reason: str = "Preempted", queue: str = "root.a", application: str = "team/etl"
) -> Said:
    return Said(at, reason, "Pod", "team", name, application, queue, "Preempted: queue root.b is owed it")


def test_what_was_written_is_read_by_another_instance(url: str, store: Store) -> None:
    first, second = run(), run("team/train", 150, None)
    store.write([first], [second], [sample("root", 1.0), sample("root.a", 1.0)], 300)
    other = Store(url)
    assert list(other.runs()) == [second, first]
    assert list(other.queue_samples("root.a")) == [sample("root.a", 1.0)]
    other.close()


def test_runs_are_found_by_pattern_queue_and_time(store: Store) -> None:
    odd = Run("team/100%_a", "root.ab", "", 0, 500, 500, 600)
    store.write([run(), run("team/etl-2", 300, 400), odd, Run("x/deep", "root.a.b", "", 0, 50, 50, 60)], [], [], 700)
    names = lambda **wanted: [one.application for one in store.runs(**wanted)]  # noqa: E731
    assert names(application="team/etl*") == ["team/etl-2", "team/etl"]
    assert names(application="team/etl") == ["team/etl"]
    assert names(application="*%_*") == ["team/100%_a"]
    assert names(queue="root.a") == ["team/etl-2", "team/etl", "x/deep"]
    assert names(since=299) == ["team/100%_a", "team/etl-2"]
    assert names(most=1) == ["team/100%_a"]


def test_a_run_is_one_row_from_its_begin_to_its_end(store: Store) -> None:
    store.write([], [run(ended=None)], [], 110)
    store.write([], [run(ended=None, pods=3)], [], 120)
    assert [one.pods for one in store.runs()] == [3]
    store.write([run()], [], [], 210)
    assert list(store.runs()) == [run()]
    store.write([], [run(started=300, ended=None)], [], 310)
    assert [one.ended for one in store.runs()] == [None, 200]


def test_a_run_that_another_instance_began_is_gone_on_with(url: str, store: Store) -> None:
    seen = [Step(100, {"cpu": 1000}, 1), Step(120, {"cpu": 3000}, 3), Step(140, {"cpu": 2000}, 2, (1, 0, 0))]
    store.write([], [run(ended=None, pods=3, succeeded=1, steps=seen)], [], 150)
    other = Store(url)
    ours = [Step(160, {"cpu": 2000}, 2), Step(190, {"cpu": 1000}, 1, (0, 1, 0)), Step(200, {}, 0, (1, 1, 0))]
    later = Run("team/etl", "root.b", "", 155, 160, 160, None, pods=2, steps=ours[:1])
    other.write([], [later], [], 170)
    other.write([Run("team/etl", "root.b", "", 155, 160, 160, 200, 2, 1, 1, 0, SUCCEEDED, ours)], [], [], 210)
    (whole,) = other.runs()
    assert (whole.submitted, whole.started, whole.ended, whole.queue, whole.user) == (90, 100, 200, "root.b", "ann")
    assert (whole.pods, whole.succeeded, whole.failed, whole.deleted) == (3, 2, 1, 0)
    assert [(step.at, step.pods, step.ended) for step in whole.steps] == [
        (100, 1, (0, 0, 0)),
        (120, 3, (0, 0, 0)),
        (140, 2, (1, 0, 0)),
        (160, 2, (1, 0, 0)),
        (190, 1, (1, 1, 0)),
        (200, 0, (2, 1, 0)),
    ]
    other.close()


def test_what_a_standby_has_seen_as_well_counts_once(url: str, store: Store) -> None:
    steps = [Step(100, {"cpu": 1000}, 1), Step(140, {"cpu": 1000}, 1, (1, 0, 0)), Step(150, {"cpu": 1000}, 1, (2, 0, 0))]
    store.write([], [run(ended=None, pods=3, succeeded=2, steps=steps)], [], 160)
    standby = Store(url)
    both = run(
        ended=None,
        pods=2,
        succeeded=1,
        known_from=145,
        steps=[Step(145, {"cpu": 1000}, 1), Step(150, {"cpu": 1000}, 1, (1, 0, 0))],
    )
    standby.write([], [both], [], 170)
    (whole,) = standby.runs()
    assert (whole.pods, whole.succeeded) == (3, 2)
    standby.close()


@pytest.mark.parametrize(("watched_from", "pods"), [(90.0, 2), (96.0, 3), (float("inf"), 3)])
def test_who_has_watched_since_before_a_run_began_counts_its_pods_alone(
    url: str, store: Store, watched_from: float, pods: int
) -> None:
    short = [Step(100, {"cpu": 1000}, 1), Step(101, {}, 0, (1, 0, 0))]
    store.write([], [run(ended=None, pods=1, succeeded=1, deleted=0, steps=short)], [], 110)
    standby = Store(url)
    late = [Step(102, {"cpu": 1000}, 1), Step(103, {"cpu": 1000}, 1, (1, 0, 0))]
    seen = run(started=102, ended=None, pods=2, succeeded=1, deleted=0, known_from=102, steps=late)
    standby.write([], [seen], [], 120, watched_from)
    (whole,) = standby.runs()
    assert (whole.pods, whole.succeeded, whole.started) == (pods, pods - 1, 100)
    standby.close()


def test_a_run_that_is_over_and_was_written_by_another_instance_is_not_written_twice(url: str, store: Store) -> None:
    store.write([run()], [], [], 210)
    other = Store(url)
    other.write([run(started=101, ended=199)], [], [], 220)
    other.write([run(started=900, ended=999)], [], [], 1000)
    assert [one.started for one in other.runs()] == [900, 100]
    other.close()


def test_runs_that_ended_while_nobody_watched_are_ended_when_they_were_last_seen(store: Store) -> None:
    store.write([], [run(ended=None), run("team/lives", 100, None)], [], 150)
    store.forget()
    assert store.end_orphans({"team/lives"}) == 1
    assert {one.application: (one.ended, one.outcome) for one in store.runs()} == {
        "team/etl": (150, UNKNOWN),
        "team/lives": (None, ""),
    }


def test_what_is_too_old_goes_and_what_is_under_way_stays(store: Store) -> None:
    store.write(
        [run(), run("team/new", 1000, 2000)], [run("team/long", 1, None)], [sample("root", 5.0), sample("root", 50.0)], 2000
    )
    assert store.prune(1500, 10) == 2
    assert [one.application for one in store.runs()] == ["team/new", "team/long"]
    assert [one.at for one in store.queue_samples("root")] == [50.0]


def test_a_write_that_fails_leaves_nothing_behind_and_can_be_repeated(store: Store) -> None:
    store.open()
    broken = QueueSample("root", None, {}, {}, {}, 0, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(sql.exc.SQLAlchemyError):
        store.write([run()], [run("team/b", ended=None)], [broken], 210)
    assert list(store.runs()) == []
    store.write([run()], [run("team/b", ended=None)], [sample("root", 1.0)], 210)
    assert len(list(store.runs())) == 2


def test_tables_that_are_gone_are_made_anew_with_what_is_under_way(store: Store) -> None:
    store.write([], [run("team/long", ended=None)], [], 150)
    engine = sql.create_engine(store.url)
    module.metadata.drop_all(engine)
    engine.dispose()
    with pytest.raises(sql.exc.SQLAlchemyError):
        store.write([run()], [run("team/long", ended=None)], [], 210)
    store.write([run()], [run("team/long", ended=None)], [], 210)
    store.write([run("team/long", ended=300.0)], [], [], 310)
    assert [(one.application, one.ended) for one in store.runs()] == [("team/long", 300.0), ("team/etl", 200.0)]


def test_a_run_under_way_whose_row_somebody_deleted_is_written_again(store: Store) -> None:
    store.write([], [run("team/long", ended=None)], [], 150)
    engine = sql.create_engine(store.url)
    with engine.begin() as at:
        at.execute(module.runs.delete())
    engine.dispose()
    store.write([], [run("team/long", ended=None)], [], 210)
    store.write([run("team/long", ended=300.0)], [], [], 310)
    assert [(one.application, one.started, one.ended) for one in store.runs()] == [("team/long", 100.0, 300.0)]


def test_the_tables_of_another_version_are_left_alone(url: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.open()
    monkeypatch.setattr(module, "VERSION", 2)
    other = Store(url)
    with pytest.raises(OtherVersion, match="has version 1 of the history's tables, and this is version 2"):
        other.open()
    other.close()


def test_nobody_sees_the_password_of_a_url(store: Store) -> None:
    assert "secret" not in store.name


@pytest.mark.parametrize("text", ["", "history.db", "sqlite://", "mysql://u:secret@h/db", "http://x", "postgresql"])
def test_a_url_that_is_none_says_what_is_allowed_and_no_password(text: str) -> None:
    with pytest.raises(BadUrl, match="allowed are sqlite:////FILE and postgresql://USER:PASSWORD@HOST:PORT/DATABASE") as caught:
        url_of(text)
    assert "secret" not in str(caught.value)


def test_thousands_of_runs_are_gone_on_with_in_one_write(url: str, store: Store) -> None:
    many = [run(f"team/a{number}", ended=None) for number in range(3000)]
    store.write([], many, [], 110)
    other = Store(url)
    other.write([run(one.application) for one in many], [], [], 220)
    assert sum(one.ended is not None for one in other.runs(most=10_000)) == 3000
    assert {one.outcome for one in other.runs(most=10_000)} == {SUCCEEDED}
    assert DELETED not in {one.outcome for one in other.runs(most=1)}
    other.close()


def test_events_are_found_by_application_queue_object_reason_and_time_the_newest_first(url: str, store: Store) -> None:
    told = [
        event(1.0),
        event(2.0, "etl-2", "FailedScheduling"),
        event(3.0, "100%_a", queue="root.a.b", application="team/odd_%"),
        event(4.0, "web", queue="root.ab", application=""),
    ]
    store.write([], [], [], 5.0, told=told)
    other = Store(url)
    found = lambda **wanted: [one.at for one in other.events(Wanted(**wanted))]  # noqa: E731
    assert list(other.events(Wanted(most=2))) == [told[3], told[2]]
    assert found() == [4.0, 3.0, 2.0, 1.0]
    assert found(application="team/etl") == [2.0, 1.0]
    assert found(application="team/*_*") == [3.0]
    assert found(queue="root.a") == [3.0, 2.0, 1.0]
    assert found(name="etl-*", reason="Preempted") == [1.0]
    assert found(namespace="other") == []
    assert found(since=2.5) == [4.0, 3.0]
    assert store.prune(0, 2.5) == 2
    assert found() == [4.0, 3.0]
    other.close()


def test_a_store_that_an_earlier_version_made_without_events_gets_their_table(url: str, store: Store) -> None:
    store.write([run()], [], [], 1.0)
    module.events.drop(store._engine)
    other = Store(url)
    assert list(other.events(Wanted())) == []
    other.write([], [], [], 2.0, told=[event(1.0)])
    assert list(other.events(Wanted())) == [event(1.0)]
    other.close()
