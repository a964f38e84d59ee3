"""Gangs whose pods have devices, under faults, on the real server: no device is given twice, no gang stays partly placed, nothing is lost."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster.client import fake_node
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.device_objects import (
    CLAIMS,
    DEVICES,
    DRIVER,
    PODS,
    TEMPLATES,
    Json,
    create,
    device_class,
    devices_of,
    get,
    gpu,
    holders,
    request,
    slice_of,
    told,
    with_claims,
)
from cluster.faulty_proxy import FaultyProxy, cut, mistaken, refused, slow
from cluster.pair import BINDING, Pair
from cluster.treadle_process import Cluster, eventually

SECONDS = float(os.environ.get("TREADLE_FAULTS_SECONDS", "40"))
SEED = int(os.environ.get("TREADLE_FAULTS_SEED", "1"))
NODES, GPUS, SIZE = 6, 4, 4
"""Nodes, devices of each, and pods of a gang."""


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Cluster:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.start_controller_manager(f"{DEFAULT_CONTROLLERS},resourceclaim-controller")
    create(plane, f"{DEVICES}/deviceclasses", device_class("gpu", f'device.driver == "{DRIVER}"'))
    template = {"metadata": {"name": "one", "namespace": "default"}, "spec": {"spec": {"devices": {"requests": [request()]}}}}
    create(plane, TEMPLATES, template)
    for number in range(NODES):
        name = f"node-{number}"
        plane.api("POST", "/api/v1/nodes", fake_node(name, "8", "32Gi", labels={"kubernetes.io/hostname": name}))
        create(plane, f"{DEVICES}/resourceslices", slice_of(name, *(gpu(f"gpu-{at}") for at in range(GPUS))))
    return Cluster(plane)


@pytest.fixture
def proxied(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str], FaultyProxy]]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(FaultyProxy(cluster.plane, tmp_path, name))


def member(gang: int, number: int) -> Json:
    found = with_claims(f"g{gang}-{number}", template="one")
    found["metadata"]["labels"] |= {
        "treadle.dev/application": f"app-{gang}",
        "treadle.dev/gang": "workers",
        "treadle.dev/gang-min-member": str(SIZE),
    }
    return found


def doubled(plane: ControlPlane) -> list[str]:
    """The devices that are in more than one claim, of one listing."""
    held = Counter(device for one in get(plane, CLAIMS)["items"] for device in devices_of(one))
    return [device for device, times in held.items() if times > 1]


def misfits(plane: ControlPlane) -> list[str]:
    """Pods that are bound to another node than their devices are on."""
    nodes = {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in get(plane, PODS)["items"]}
    return [
        pod
        for one in get(plane, CLAIMS)["items"]
        for pod in holders(one)
        if nodes.get(pod) and any(device.split("/")[0] != nodes[pod] for device in devices_of(one))
    ]


def story(plane: ControlPlane) -> str:
    """Each pod with its node, what it is told and the devices of its claim."""
    claims = {one["metadata"]["ownerReferences"][0]["name"]: one for one in get(plane, CLAIMS)["items"]}
    lines = []
    for one in get(plane, PODS)["items"]:
        name = one["metadata"]["name"]
        mine = claims.pop(name, {})
        lines.append(f"{name} on {one['spec'].get('nodeName')}: {told(plane, name)} {devices_of(mine)} for {holders(mine)}")
    return "\n".join([*lines, *(f"the claim of {name}, which is gone: {devices_of(one)}" for name, one in claims.items())])


class Faults:
    """One fault after another on a pair of instances."""

    def __init__(self, pair: Pair, chance: random.Random) -> None:
        self.pair, self.chance = pair, chance

    def one(self) -> None:
        proxy = self.pair.proxies[self.chance.randrange(2)]
        part = self.chance.choice(["/resourceclaims", "/resourceclaims", BINDING])
        method = "POST" if part == BINDING else "PATCH"
        match self.chance.randrange(7):
            case 0:
                proxy.fault(method, part, mistaken(504), 3)
            case 1:
                proxy.fault(method, part, mistaken(0), 3)
            case 2:
                proxy.fault(method, part, refused(503), 3)
            case 3:
                proxy.fault(method, part, cut(), 2)
            case 4:
                proxy.fault(method, part, slow(1.0), 4)
            case 5:
                self.kill(self.chance.randrange(2))
            case 6:
                self.stop(self.chance.randrange(2))

    def kill(self, which: int) -> None:
        treadle = self.pair.treadles[which]
        treadle.kill()
        treadle.start()

    def stop(self, which: int) -> None:
        self.pair.signal(which, signal.SIGSTOP)
        end = time.monotonic() + self.chance.choice([1.0, 17.0])
        eventually(lambda: time.monotonic() > end, 30)
        self.pair.signal(which, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.timeout(600 + 3 * SECONDS)
def test_no_device_is_given_twice_and_no_gang_stays_partly_placed(
    cluster: Cluster, proxied: Callable[[str], FaultyProxy], tmp_path: Path
) -> None:
    plane, chance = cluster.plane, random.Random(SEED)
    gangs = itertools.count()
    living: list[int] = []
    with Pair(cluster, proxied, tmp_path) as pair:
        faults = Faults(pair, chance)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if len(living) < 9:  # more than there are devices for
                gang = next(gangs)
                living.append(gang)
                create(plane, PODS, *(member(gang, number) for number in range(SIZE)))
            elif chance.random() < 0.5:
                gone = living.pop(chance.randrange(len(living)))
                for number in range(SIZE):
                    plane.api("DELETE", f"{PODS}/g{gone}-{number}?gracePeriodSeconds=0")
            faults.one()
            assert (doubled(plane), misfits(plane)) == ([], [])
        for proxy in pair.proxies:
            proxy.rules.clear()
        eventually(lambda: any((one.ready() or {}).get("leader") == "leader" for one in pair.treadles), 60, "somebody leads")

        def whole() -> bool:
            placed = Counter(one["metadata"]["name"].split("-")[0] for one in cluster.bound())
            return set(placed.values()) <= {SIZE} and len(placed) == min(len(living), NODES * GPUS // SIZE)

        try:
            eventually(whole, 240, "as many gangs as have room run, all of each")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{story(plane)}") from None
        assert (doubled(plane), misfits(plane)) == ([], [])
        for number in range(NODES, NODES + 4):
            name = f"node-{number}"
            plane.api("POST", "/api/v1/nodes", fake_node(name, "8", "32Gi", labels={"kubernetes.io/hostname": name}))
            create(plane, f"{DEVICES}/resourceslices", slice_of(name, *(gpu(f"gpu-{at}") for at in range(GPUS))))
        eventually(lambda: len(cluster.bound()) == SIZE * len(living), 240, "all gangs run when there are devices for all")
        assert (doubled(plane), misfits(plane)) == ([], [])
