"""Forecasts beside the scheduler: a process for each, what is told of what it says, and what becomes of its failures."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from core.builders import Scenario, a_pod, replaced
from kube.access import served, until
from runtime.services import add_nodes, add_pods, condition, get, treadle
from treadle.core.events import ApplicationGone, ApplicationSeen, PodGone, PodSeen, RunTimesKnown
from treadle.core.model import ApplicationSpec, Settings
from treadle.fakeapi import FakeApi
from treadle.forecast.ranges import Forecast, Range, Told
from treadle.runtime import aside
from treadle.runtime import forecaster as module
from treadle.runtime.forecaster import Forecaster


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


def of(scenario: Scenario, clock: Callable[[], float] = lambda: 0.0) -> Forecaster:
    return Forecaster(scenario.core.telling, lambda: scenario.core.view, Settings(), clock=clock)


def busy() -> Scenario:
    scenario = Scenario().wait(1000.0).nodes(1, cpu=1)
    scenario.pod("old", application="old", node="node-0", started=990.0, duration=60.0).pod("new", duration=5.0)
    scenario.plan()
    return scenario


async def test_a_process_says_when_what_waits_starts_and_ends() -> None:
    forecaster = of(busy())
    await forecaster.look()
    assert forecaster.problem == ""
    found = forecaster.status("ns/app", None)
    assert found is not None
    assert found["firstPodStart"]["median"] == "1970-01-01T00:17:30Z"
    assert found["end"]["median"] == "1970-01-01T00:17:35Z"
    assert (found["asOf"], found["confidence"], found["note"]) == ("1970-01-01T00:16:40Z", 80, None)
    assert forecaster.status("ns/old", None) is None
    assert list(forecaster.everything()["applications"]) == ["ns/app"]
    assert forecaster.counts == {"made": 1}
    assert 0 < forecaster.longest_slice < 1


async def test_what_ran_before_the_process_tells_how_long_pods_run() -> None:
    scenario = Scenario().wait(1000.0).nodes(1, cpu=1)
    scenario.pod("old", application="old", node="node-0", started=990.0).pod("new")
    scenario.plan()
    reads: list[int] = []

    def past() -> list[tuple[str, str, float]]:
        reads.append(1)
        return [("ns/old", "root.a", 60.0), ("ns/app-1", "root.a", 7.0), ("ns/app", "root.a", 5.0)]

    forecaster = Forecaster(scenario.core.telling, lambda: scenario.core.view, Settings(), clock=lambda: 1000.0, past=past)
    await forecaster.look()
    await forecaster.look()
    found = forecaster.status("ns/app", None)
    assert found is not None
    assert (found["firstPodStart"]["median"], found["end"]["median"]) == ("1970-01-01T00:17:30Z", "1970-01-01T00:17:35Z")
    assert reads == [1]
    assert list(forecaster.ended.seconds["f:ns/app"]) == [7.0, 5.0]


async def test_what_arrived_lately_is_taken_to_arrive_again() -> None:
    times = iter([0.0])
    scenario = Scenario().wait(1000.0).nodes(1, cpu=1).queue("root.a", policy="fifo")
    scenario.pod("old", "root.a", application="old", node="node-0", started=990.0, duration=60.0, created=1.0)
    scenario.pod("new", "root.a", duration=5.0, created=995.0)
    scenario.plan()
    forecaster = of(scenario, lambda: next(times, 1000.0))
    forecaster.note(ApplicationSeen(ApplicationSpec("ns/urgent-1", priority=9)))
    for number in range(40):
        forecaster.note(
            PodSeen(a_pod(f"u-{number}", "root.a", f"urgent-{number}", created=1.0 + 20 * number, duration=5.0, priority=5))
        )
    forecaster.note(PodSeen(replaced(a_pod("theirs", created=500.0), application="", scheduler="other")))
    await forecaster.look()
    assert forecaster.forecast is not None
    assert forecaster.forecast.scenarios == 20
    assert (len(forecaster.arrived.pods), sorted(forecaster.arrived.objects)) == (40, ["ns/urgent-1"])
    found = forecaster.status("ns/app", None)
    assert found is not None
    assert found["firstPodStart"]["median"] > "1970-01-01T00:17:30Z"  # when the one on the node ends
    assert list(forecaster.everything()["applications"]) == ["ns/app"]


async def test_a_history_that_cannot_be_read_is_said_once_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    scenario = busy()
    answers: list[Any] = [OSError("no disk"), OSError("no disk"), [("ns/other", "root.b", 1.0)]]

    def past() -> list[tuple[str, str, float]]:
        found = answers.pop(0)
        if isinstance(found, OSError):
            raise found
        return list(found)

    forecaster = Forecaster(scenario.core.telling, lambda: scenario.core.view, Settings(), clock=lambda: 1000.0, past=past)
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            await forecaster.look()
    assert [one.message for one in caplog.records] == [
        "run times of the history are not known to forecasts; reading them is tried again: no disk"
    ]
    assert (forecaster.counts, answers) == ({"made": 4}, [])
    assert "q:root.b" in forecaster.ended.seconds


async def test_nothing_is_asked_while_nothing_waits() -> None:
    forecaster = of(Scenario().nodes(1))
    forecaster.command = ("/nowhere",)
    assert await forecaster.look() == 0.0
    assert (forecaster.forecast, forecaster.problem, forecaster.counts) == (None, "", {})


async def test_a_deadline_of_what_runs_is_looked_at_though_nothing_waits() -> None:
    scenario = Scenario().wait(1000.0).nodes(1).pod("runs", node="node-0", started=990.0, duration=60.0)
    said = ApplicationSeen(ApplicationSpec("ns/app", deadline=1049.0))
    scenario.tell(said).plan()
    forecaster = of(scenario)
    forecaster.note(said)
    await forecaster.look()
    found = forecaster.status("ns/app", None)
    assert found is not None
    assert (found["firstPodStart"], found["deadlineRisk"], found["end"]["median"]) == (None, 100, "1970-01-01T00:17:30Z")
    forecaster.note(ApplicationGone("ns/app"))
    await forecaster.look()
    assert forecaster.forecast is None


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/nowhere/python",), "No such file or directory: '/nowhere/python'"),
        ((sys.executable, "-c", "raise SystemExit('broken')"), "ended with 1: broken"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "did not answer within 0.2 s"),
        ((sys.executable, "-c", "print('nonsense')"), ""),
    ],
    ids=["missing", "crash", "hangs", "nonsense"],
)
async def test_a_failure_is_told_once_and_counted_and_what_was_told_stands(
    command: tuple[str, ...], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    forecaster = of(busy())
    await forecaster.look()
    before, right = forecaster.forecast, forecaster.command
    forecaster.command, forecaster.patience = command, 0.2 if "60" in command[-1] else 30.0
    with caplog.at_level(logging.WARNING):
        await forecaster.look()
        await forecaster.look()
    assert [one for one in caplog.messages if "no forecast was made" in one] == [
        f"no forecast was made; the last one stands, and it is tried again: {forecaster.problem}"
    ]
    assert words in forecaster.problem
    assert forecaster.everything()["problem"] == forecaster.problem != ""
    assert (forecaster.counts["made"], forecaster.counts["failed"]) == (1, 2)
    assert forecaster.forecast is before
    forecaster.command, forecaster.patience = right, 30.0
    await forecaster.look()
    assert (forecaster.problem, forecaster.counts["made"]) == ("", 2)


async def test_more_than_can_be_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "MOST", 1)
    forecaster = of(busy())
    await forecaster.look()
    assert forecaster.problem == "more than 1 objects are known"


async def test_until_the_first_forecast_what_another_instance_wrote_stands() -> None:
    forecaster = of(busy())
    assert forecaster.status("ns/app", {"note": "before"}) == {"note": "before"}
    assert forecaster.status("ns/app", None) is None
    await forecaster.look()
    assert forecaster.status("ns/other", {"note": "before"}) is None


def runs(uid: str, application: str = "app", **fields: Any) -> PodSeen:
    return PodSeen(a_pod(uid, application=application, node="n", held_in="root.a", **{"started": 100.0, **fields}))


def test_run_times_are_those_of_pods_that_ended_by_themselves() -> None:
    now = 130.0
    forecaster = of(Scenario(), lambda: now)
    forecaster.note(ApplicationSeen(ApplicationSpec("ns/app", duration=60.0)))
    forecaster.note(runs("gone"))
    forecaster.note(runs("killed", deleting=True))
    forecaster.note(runs("finished"))
    forecaster.note(PodSeen(a_pod("foreign", node="n", started=100.0)))
    forecaster.note(runs("finished", finished=True))
    for uid in ("gone", "killed", "finished", "foreign", "unheard"):
        forecaster.note(PodGone(uid))
    assert list(forecaster.ended.seconds["a:ns/app"]) == [30.0, 30.0]
    assert list(forecaster.ended.parts["q:root.a"]) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("times", "now", "inside"),
    [
        (Range(200.0, 210.0, 220.0), 215.0, True),
        (Range(200.0, 210.0, 220.0), 224.0, True),
        (Range(200.0, 210.0, 220.0), 226.0, False),
        (Range(200.0, 210.0, 220.0), 190.0, False),
        (Range(200.0, 210.0, None), 900.0, True),
    ],
)
async def test_what_happens_is_held_against_what_was_told_last(times: Range, now: float, inside: bool) -> None:
    scenario = busy()
    forecaster = of(scenario, lambda: now)

    async def answer(_: bytes) -> Forecast:
        return Forecast(100.0, 86_400.0, 1, {"ns/app": Told("ns/app", "root.a", 1, times, times, times)})

    forecaster._ask = answer  # type: ignore[method-assign]
    await forecaster.look()
    forecaster.note(runs("new"))
    forecaster.note(runs("second"))
    assert forecaster.outcomes == {("start", inside): 1}
    scenario.gone("new")
    forecaster.note(PodGone("new"))
    assert forecaster.outcomes == {("start", inside): 1, ("end", inside): 1}


async def test_where_what_is_said_first_is_often_too_early_the_next_is_told_wider() -> None:
    now, scenario = 0.0, Scenario().nodes(1, cpu=64)
    forecaster = of(scenario, lambda: now)
    names: list[str] = []

    async def answer(_: bytes) -> Forecast:
        times = Range(now + 80.0, now + 100.0, now + 120.0)
        return Forecast(now, 86_400.0, 20, {f"ns/{name}": Told(f"ns/{name}", "root.a", 1, times, times, times) for name in names})

    forecaster._ask = answer  # type: ignore[method-assign]
    for number in range(20):
        names[:] = [f"a{number}"]
        scenario.pod(f"p{number}", application=names[0])
        for _ in range(2):  # it is judged by what was said first, not by what is told from minute to minute
            await forecaster.look()
            now += 75.0
        forecaster.note(PodSeen(a_pod(f"p{number}", application=names[0], node="node-0", held_in="root.a", started=now)))
    assert forecaster.calibrations["start"].stretch.late == pytest.approx(2.5)
    assert forecaster.calibrations["end"].stretch.late == 1.0, "none has ended"
    await forecaster.look()
    assert forecaster.forecast is not None
    told = forecaster.forecast.applications["ns/a19"]
    assert told.first == told.last == Range(now + 80.0, now + 100.0, now + 150.0)
    assert told.end == Range(now + 80.0, now + 100.0, now + 120.0)
    assert set(forecaster._first) == {("start", "ns/a19"), *(("end", f"ns/a{number}") for number in range(20))}


@pytest.mark.parametrize("how", ["it waited no more", "it started while the futures were looked at", "it was gone"])
async def test_what_was_said_first_of_a_start_is_not_held_against_a_later_one(how: str) -> None:
    now, scenario = 0.0, Scenario().nodes(1, cpu=64)
    forecaster = of(scenario, lambda: now)
    waiting = 1

    async def answer(_: bytes) -> Forecast:
        times = Range(now + 80.0, now + 100.0, now + 120.0)
        said = Told("ns/a", "root.a", waiting, times if waiting else None, None, times)
        if how.endswith("at") and not now:
            forecaster.note(runs("a0", "a"))
        return Forecast(now, 86_400.0, 20, {"ns/a": said})

    forecaster._ask = answer  # type: ignore[method-assign]
    scenario.pod("a0", application="a")
    await forecaster.look()
    now = 9_000.0
    if how == "it waited no more":
        scenario.pod("other", application="other")
        waiting = 0
        await forecaster.look()
        waiting = 1
    elif how == "it was gone":
        scenario.gone("a0")
        await forecaster.look()
        scenario.pod("a1", application="a")
    await forecaster.look()
    now = 9_100.0
    forecaster.note(runs("a1", "a"))
    assert list(forecaster.calibrations["start"]._scores) == [0.0], "it is held against what was said at 9000"


async def test_a_service_writes_what_is_forecast_into_the_status_and_serves_it(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY", 0.05)
    monkeypatch.setattr(module, "SOON", 0.05)
    add_nodes(api, cpu="1")
    api.create(
        "applications",
        {
            "metadata": {"name": "app", "namespace": "default"},
            "spec": {"expectedDuration": "10m", "deadline": "2020-01-01T00:00:00Z"},
        },
    )
    async with treadle(api, eta=True, listen="127.0.0.1:0") as service:
        add_pods(api, "one", "two")

        def told() -> dict[str, Any]:
            return dict(api.get("applications", "app").get("status", {}))

        await until(lambda: "lastPodStart" in (told().get("eta") or {}), "a forecast")
        assert told()["eta"]["deadlineRisk"] == 100
        risk = next(one for one in told()["conditions"] if one["type"] == "DeadlineAtRisk")
        assert (risk["status"], risk["reason"]) == ("True", "ProbablyLate")
        assert service.forecaster is not None
        assert list(service.forecaster.everything()["applications"]) == ["default/app"]
        assert (await get(service, "/eta"))[0] == 401, "it names applications, so it is told to nobody without a token"
        assert 'treadle_forecasts_total{result="made"}' in (await get(service, "/metrics"))[1]
        for name in ("one", "two"):
            api.delete("pods", name)
        await until(lambda: "lastPodStart" not in (told().get("eta") or {}), "nothing is forecast of what is gone")


async def test_who_wants_a_forecast_where_none_is_made_is_told_so(api: FakeApi) -> None:
    api.create("applications", {"metadata": {"name": "app", "namespace": "default"}, "spec": {"expectedDuration": "10m"}})
    async with treadle(api, listen="127.0.0.1:0") as service:
        await until(lambda: "eta" in api.get("applications", "app").get("status", {}), "a status")
        note = "spec.expectedDuration: no forecasts are made by this scheduler (treadle run --eta)"
        assert api.get("applications", "app")["status"]["eta"] == {"note": note}
        assert (await get(service, "/eta"))[0] == 404


def test_the_core_is_told_how_long_pods_ran_that_have_ended_when_that_has_changed() -> None:
    scenario, told = busy(), []
    forecaster = Forecaster(scenario.core.telling, lambda: scenario.core.view, Settings(), clock=lambda: 0.0, put=told.append)
    for number in range(5):
        forecaster.tell_run_times()
        forecaster.ended.note(f"ns/job-{number}", "root.a", 10.0 + number, 0.0)
    assert not told, "of four nothing is told"
    forecaster.tell_run_times()
    forecaster.tell_run_times()
    assert told == [RunTimesKnown((("ns/job", 12.0, 14.0),))]


async def test_who_wants_estimates_for_backfilling_is_told_where_none_are_made(api: FakeApi) -> None:
    api.create("schedulers", {"metadata": {"name": "treadle"}, "spec": {"backfill": "Estimated"}})
    async with treadle(api, controllers=True):
        await until(lambda: condition(api.get("schedulers", "treadle"), "Ready").get("status") == "True")
        assert (
            "spec.backfill: how long pods ran that have ended is not known"
            in condition(api.get("schedulers", "treadle"), "Ready")["message"]
        )
        api.patch("schedulers", "treadle", {"spec": {"backfill": "Declared"}})
        await until(lambda: not condition(api.get("schedulers", "treadle"), "Ready").get("message"))
