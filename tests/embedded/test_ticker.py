"""The pretended kubelet: pods start, end, vanish, and are refused where they do not fit."""

from __future__ import annotations

import pytest

from cluster.client import fake_node
from treadle.fakeapi import FakeApi, Ticker

START = 1_700_000_000.0


class Clock:
    now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def api(clock: Clock) -> FakeApi:
    api = FakeApi(clock=clock)
    api.create("nodes", fake_node("n1", "4", "8Gi", pods=3))
    return api


def pod(api: FakeApi, name: str, cpu: str = "1", seconds: str | None = None, bound: bool = True) -> None:
    annotations = {} if seconds is None else {"demo.treadle.dev/run-seconds": seconds}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    api.create("pods", {"metadata": {"name": name, "annotations": annotations}, "spec": {"containers": [container]}})
    if bound:
        api.bind(name, {"target": {"kind": "Node", "name": "n1"}})


def phase(api: FakeApi, name: str) -> str:
    return api.get("pods", name)["status"]["phase"]


def test_a_bound_pod_starts_runs_for_its_time_and_ends(api: FakeApi, clock: Clock) -> None:
    ticker = Ticker(api, start_seconds=1)
    pod(api, "a", seconds="10")
    assert ticker.step(START + 0.9) == 0
    clock.now = START + 1
    assert ticker.step(clock.now) == 1
    assert phase(api, "a") == "Running"
    assert {item["type"]: item["status"] for item in api.get("pods", "a")["status"]["conditions"]}["Ready"] == "True"
    ticker.step(START + 10.9)
    assert phase(api, "a") == "Running"
    ticker.step(START + 11)
    assert phase(api, "a") == "Succeeded"


def test_speed_shortens_every_duration(api: FakeApi, clock: Clock) -> None:
    ticker = Ticker(api, start_seconds=1, speed=10)
    pod(api, "a", seconds="10")
    clock.now = START + 0.1
    ticker.step(clock.now)
    ticker.step(START + 1.1)
    assert phase(api, "a") == "Succeeded"


def test_an_unbound_pod_is_left_alone_and_one_without_a_time_runs_on(api: FakeApi) -> None:
    ticker = Ticker(api)
    pod(api, "waiting", bound=False)
    pod(api, "service")
    ticker.step(START + 1)
    ticker.step(START + 1e6)
    assert (phase(api, "waiting"), phase(api, "service")) == ("Pending", "Running")


def test_a_deleted_pod_vanishes_after_its_time_to_stop(api: FakeApi) -> None:
    ticker = Ticker(api, stop_seconds=2)
    pod(api, "a")
    ticker.step(START + 1)
    api.delete("pods", "a")
    ticker.step(START + 1.9)
    assert api.get("pods", "a")["metadata"]["deletionTimestamp"]
    ticker.step(START + 2)
    assert api.list("pods") == []


def test_what_does_not_fit_the_node_is_refused_as_a_kubelet_would(api: FakeApi) -> None:
    ticker = Ticker(api)
    for name in ("a", "b"):
        pod(api, name, cpu="3")
    ticker.step(START + 1)
    refused = api.get("pods", "b")["status"]
    assert (phase(api, "a"), refused["phase"], refused["reason"]) == ("Running", "Failed", "OutOfcpu")


def test_the_slots_of_a_node_count_too(api: FakeApi) -> None:
    ticker = Ticker(api)
    for name in "abcd":
        pod(api, name, cpu="0")
    ticker.step(START + 1)
    assert [phase(api, name) for name in "abcd"] == ["Running", "Running", "Running", "Failed"]
    assert api.get("pods", "d")["status"]["reason"] == "OutOfpods"


def test_room_is_given_back_when_a_pod_ends_or_is_removed(api: FakeApi, clock: Clock) -> None:
    ticker = Ticker(api, start_seconds=0, stop_seconds=0)
    pod(api, "a", cpu="4", seconds="1")
    ticker.step(clock.now)
    clock.now += 1
    ticker.step(clock.now)
    pod(api, "b", cpu="4")
    ticker.step(clock.now)
    api.delete("pods", "b", options={"gracePeriodSeconds": 0})
    pod(api, "c", cpu="4")
    ticker.step(clock.now)
    assert (phase(api, "a"), phase(api, "c")) == ("Succeeded", "Running")


def test_a_ticker_takes_over_what_is_already_there(api: FakeApi) -> None:
    pod(api, "a")
    ticker = Ticker(api)
    ticker.step(START + 1)
    assert phase(api, "a") == "Running"
