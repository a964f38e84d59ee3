"""Answers that mislead and leaders that are stopped, throttled or hung: no node is overfilled, no pod is lost, on the real server."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from aiohttp import web

from cluster.faulty_proxy import FaultyProxy, Forward, cut, hung, mistaken, refused, slow
from cluster.pair import BINDING, Pair, overfull
from cluster.treadle_process import Cluster, Treadle, eventually, pod

LOST = 0
"""For the status of an answer: the connection is cut instead."""


@pytest.fixture
def cluster(fresh_cluster: Callable[..., Cluster]) -> Cluster:
    return fresh_cluster(6, "4", "16Gi")


@pytest.fixture
def proxied(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str], FaultyProxy]]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(FaultyProxy(cluster.plane, tmp_path, name))


def pods(cluster: Cluster, count: int, prefix: str, cpu: str = "1") -> None:
    cluster.pods([pod(f"{prefix}-{number}", "", f"{prefix}-app", cpu=cpu, memory="64Mi") for number in range(count)])


def events(cluster: Cluster, reason: str) -> list[dict]:
    found = cluster.plane.api("GET", "/api/v1/namespaces/default/events")[1]["items"]
    return [event for event in found if event["reason"] == reason]


def deaf_and_misled(cluster: Cluster, proxy: FaultyProxy, treadle: Treadle, status: int) -> None:
    """Let 12 binds be carried out and answered with an error, while no watch tells of them, and more pods want their room."""
    treadle.wait_ready()
    mislead = mistaken(status)

    async def fault(request: web.Request, forward: Forward) -> web.Response | None:
        proxy.flowing.clear()
        return await mislead(request, forward)

    proxy.fault("POST", BINDING, fault, 12)
    pods(cluster, 40, "p")
    eventually(lambda: not proxy.flowing.is_set(), 30, "the first bind")
    end = time.monotonic() + 4
    eventually(lambda: time.monotonic() > end, 10)
    proxy.flowing.set()
    cluster.wait_bound(24)
    eventually(lambda: treadle.metric('treadle_pods{state="waiting"}') == 16, 30, "the others wait")
    assert (len(cluster.bound()), overfull(cluster)) == (24, [])


@pytest.mark.parametrize("status", [429, 504])
def test_binds_that_were_carried_out_and_answered_with_an_error_are_counted(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path, status: int
) -> None:
    proxy = proxied("proxy")
    with Treadle(proxy.kubeconfig, tmp_path) as treadle:
        deaf_and_misled(cluster, proxy, treadle, status)


def test_a_lost_answer_followed_by_one_that_is_cut_short_is_asked_for_again(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path
) -> None:
    proxy = proxied("proxy")
    proxy.fault("GET", "/pods/", cut(), 12)
    with Treadle(proxy.kubeconfig, tmp_path) as treadle:
        deaf_and_misled(cluster, proxy, treadle, LOST)


def test_binds_that_are_refused_by_a_proxy_are_fenced_and_made_again(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path
) -> None:
    proxy = proxied("proxy")
    proxy.fault("POST", BINDING, refused(502), 8)
    with Treadle(proxy.kubeconfig, tmp_path) as treadle:
        treadle.wait_ready()
        pods(cluster, 24, "p")
        cluster.wait_bound(24)
        assert treadle.metric("treadle_pods_fenced_total") == 8
    assert overfull(cluster) == []


@pytest.mark.parametrize("first", [0, 1])
def test_a_leader_that_was_stopped_sends_nothing_when_it_wakes(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path, first: int
) -> None:
    with Pair(cluster, proxied, tmp_path) as pair:
        old, new = first, 1 - first
        if old:  # the other direction: it has come to lead before
            pair.signal(0, signal.SIGSTOP)
            pair.wait_leader(1)
            pair.signal(0, signal.SIGCONT)
        pair.proxies[old].fault("POST", BINDING, slow(2.0))
        pods(cluster, 60, "early")  # more than may be in flight: some are decided and wait to be sent
        eventually(lambda: pair.binds(old) >= 16, 30, "16 binds under way")
        pair.signal(old, signal.SIGSTOP)
        sent = pair.binds(old)
        pair.wait_leader(new)
        cluster.wait_bound(24)
        pair.signal(old, signal.SIGCONT)
        eventually(lambda: (pair.treadles[old].ready() or {}).get("leader", "").startswith("standby"), 30, "it knows")
        pair.settled(24)
        assert pair.binds(old) == sent


def test_a_leader_that_was_throttled_across_the_takeover_sends_nothing_afterwards(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path
) -> None:
    with Pair(cluster, proxied, tmp_path) as pair:
        pair.proxies[0].fault("POST", BINDING, refused(429, retry_after=25), 4)
        start = time.monotonic()
        pods(cluster, 60, "early")
        eventually(lambda: any(rule[1] == BINDING and rule[3] < 4 for rule in pair.proxies[0].rules), 30, "a 429")
        pair.lose(0)
        pair.wait_leader(1)
        cluster.wait_bound(24)
        sent = pair.binds(0)
        eventually(lambda: time.monotonic() > start + 27, 40)
        assert pair.binds(0) == sent
        pair.settled(24)


def test_binds_that_hang_until_after_the_takeover_do_not_take_place(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path
) -> None:
    with Pair(cluster, proxied, tmp_path) as pair:
        release = threading.Event()
        pair.proxies[0].fault("POST", BINDING, hung(release))
        pods(cluster, 16, "early")
        eventually(lambda: (1 << 30) - pair.proxies[0].rules[0][3] >= 16, 30, "16 binds under way")
        pair.lose(0)
        eventually(lambda: (pair.treadles[0].ready() or {}).get("leader") != "leader", 40, "it lost the lease")
        pods(cluster, 24, "urgent")  # the successor could fill every node with these
        pair.wait_leader(1)
        cluster.wait_bound(24)
        release.set()
        pair.settled(24)
        late = [status for method, path, status in pair.proxies[0].seen if method == "POST" and path.endswith(BINDING)]
        assert set(late) == {409}
        assert len(late) >= 16
        assert pair.treadles[1].metric("treadle_pods_fenced_total") >= 16
