"""Devices at a takeover: what a former leader sent for a claim and what arrives late doubles no device, on the real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.device_objects import (
    CLAIMS,
    DEVICES,
    DRIVER,
    PODS,
    claim,
    create,
    device_class,
    devices_of,
    get,
    gpu,
    request,
    slice_of,
    with_claims,
)
from cluster.faulty_proxy import FaultyProxy, hung
from cluster.pair import Pair
from cluster.treadle_process import Cluster, eventually
from treadle.kube.device_fences import FENCED


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Cluster:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.api("POST", "/api/v1/nodes", fake_node("node-1", "8", "32Gi", labels={"kubernetes.io/hostname": "node-1"}))
    create(plane, f"{DEVICES}/deviceclasses", device_class("gpu", f'device.driver == "{DRIVER}"'))
    create(plane, f"{DEVICES}/resourceslices", slice_of("node-1", gpu("gpu-0")))
    create(plane, CLAIMS, claim("early", request()), claim("urgent", request()))
    return Cluster(plane)


@pytest.fixture
def proxied(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str], FaultyProxy]]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(FaultyProxy(cluster.plane, tmp_path, name))


def late_answers(pair: Pair) -> list[int]:
    return [status for method, path, status in pair.proxies[0].seen if method == "PATCH" and path.endswith("early/status")]


def test_a_device_is_not_given_twice_by_a_write_that_hangs_until_after_the_takeover(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path
) -> None:
    plane = cluster.plane
    with Pair(cluster, proxied, tmp_path) as pair:
        release = threading.Event()
        pair.proxies[0].fault("PATCH", "/resourceclaims/early/status", hung(release))
        create(plane, PODS, with_claims("early", "early"))
        eventually(lambda: pair.proxies[0].rules[0][3] < 1 << 30, 30, "its devices are on their way")
        pair.lose(0)
        eventually(lambda: (pair.treadles[0].ready() or {}).get("leader") != "leader", 40, "it lost the lease")
        plane.api("DELETE", f"{PODS}/early?gracePeriodSeconds=0")  # the device is anybody's again
        create(plane, PODS, with_claims("urgent", "urgent"))
        pair.wait_leader(1)
        cluster.wait_bound(1)
        assert devices_of(get(plane, f"{CLAIMS}/urgent")) == ["node-1/gpu-0"]
        release.set()
        eventually(lambda: late_answers(pair), 30, "what was late has arrived")
        assert set(late_answers(pair)) == {409}
        early = get(plane, f"{CLAIMS}/early")
        assert (early["status"].get("allocation"), FENCED in early["metadata"]["annotations"]) == (None, True)
