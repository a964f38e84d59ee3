"""Claims for devices are written at the version that was read, one after the other, until it is known what became of each write."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest

from kube.access import until
from kube.claim_server import Json, Server
from treadle.core.effects import ClaimDevices, FreeDevices, MakeClaim, ReserveDevices
from treadle.core.events import BindFailed
from treadle.core.model import Requirement
from treadle.core.model.devices import (
    PROTECTION,
    Allocation,
    Alternative,
    Consumer,
    DeviceConfig,
    DeviceRequest,
    DeviceResult,
    DeviceToleration,
)
from treadle.core.model.devices import Mapping as Served
from treadle.kube.announcing import Announce
from treadle.kube.device_claims import DeviceBinder, allocation_of

GPU = Allocation(
    (DeviceResult("gpu", "driver", "pool", "gpu-0"),),
    ((Requirement("metadata.name", "In", ("n0",), field=True),),),
    (DeviceConfig("FromClaim", (), '{"driver":"driver"}'),),
)


@pytest.fixture
def server() -> Server:
    return Server()


@asynccontextmanager
async def writing(server: Server, announce: Announce | None = None) -> AsyncIterator[tuple[DeviceBinder, list[BindFailed]]]:
    told: list[BindFailed] = []
    binder = DeviceBinder(server, told.append, announce=announce)  # type: ignore[arg-type]
    task = asyncio.create_task(binder.run())
    try:
        yield binder, told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def reserving(claim: Json, uid: str, allocation: Allocation | None = None, others: tuple[Consumer, ...] = ()) -> ReserveDevices:
    meta = claim["metadata"]
    asked = ClaimDevices(
        "ns", meta["name"], meta["uid"], meta["resourceVersion"], (*others, Consumer(uid, f"pod-{uid}")), (), allocation
    )
    return ReserveDevices(uid, "ns", f"pod-{uid}", "n0", (asked,), 1)


def holders(server: Server, name: str) -> list[str]:
    return [one["uid"] for one in server.claims[name]["status"].get("reservedFor", [])]


async def test_the_finalizer_comes_first_then_devices_and_pod_at_once(server: Server) -> None:
    claim = server.have("c")
    async with writing(server) as (binder, told):
        binder.submit(reserving(copy.deepcopy(claim), "a", GPU))
        await until(lambda: binder.written == 1)
    assert server.log == ["PATCH resourceclaims/c", "PATCH resourceclaims/c/status"]
    assert claim["metadata"]["finalizers"] == [PROTECTION]
    assert holders(server, "c") == ["a"]
    allocation = claim["status"]["allocation"]
    assert allocation["devices"]["results"] == [{"request": "gpu", "driver": "driver", "pool": "pool", "device": "gpu-0"}]
    assert allocation["devices"]["config"] == [{"source": "FromClaim", "opaque": {"driver": "driver"}}]
    field = {"key": "metadata.name", "operator": "In", "values": ["n0"]}
    assert allocation["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [field]}]}
    assert told == []


async def test_many_pods_come_to_share_a_claim_though_they_have_read_the_same_version(server: Server) -> None:
    claim = copy.deepcopy(server.have("c"))
    async with writing(server) as (binder, told):
        binder.submit(reserving(claim, "first", GPU))
        await until(lambda: binder.written == 1)
        seen = copy.deepcopy(server.claims["c"])
        for number in range(20):
            binder.submit(reserving(seen, f"p{number}", None, (Consumer("first", "pod-first"),)))
        await until(lambda: binder.written == 21)
    assert sorted(holders(server, "c")) == sorted(["first", *(f"p{number}" for number in range(20))])
    assert told == []


async def test_what_somebody_else_has_written_is_not_overwritten(server: Server) -> None:
    claim = copy.deepcopy(server.have("c", metadata={"name": "c", "uid": "uid-c", "resourceVersion": "7"}))
    server.claims["c"]["metadata"]["resourceVersion"] = "8"
    async with writing(server) as (binder, told):
        binder.submit(reserving(claim, "a", GPU))
        await until(lambda: told)
    assert "modified" in told[0].message
    assert holders(server, "c") == []


@pytest.mark.parametrize(
    "faults", [["unheard"], ["", "unheard"], ["lost", "unheard", "lost"], ["", 503, "unheard"], [429, "", 500]]
)
async def test_a_write_without_an_answer_is_sent_again_until_it_is_known(server: Server, faults: list[str | int]) -> None:
    claim = copy.deepcopy(server.have("c"))
    server.faults = faults
    async with writing(server) as (binder, told):
        binder.submit(reserving(claim, "a", GPU))
        await until(lambda: binder.written == 1 or told)
    assert told == []
    assert holders(server, "c") == ["a"]


async def test_what_is_refused_is_told_with_the_servers_words(server: Server) -> None:
    claim = copy.deepcopy(server.have("c"))
    server.faults = [403]
    async with writing(server) as (binder, told):
        binder.submit(reserving(claim, "a", GPU))
        await until(lambda: told)
    assert told[0].message == 'resourceclaim "c" could not be written: 403 no'


async def test_who_does_not_lead_any_more_writes_nothing(server: Server) -> None:
    claim = copy.deepcopy(server.have("c"))
    server.faults = ["lost"] * 100
    async with writing(server) as (binder, told):
        binder.submit(reserving(claim, "a", GPU))
        await until(lambda: len(server.faults) < 100)
        binder.withdraw()
        await until(lambda: told)
        server.faults = []
        await asyncio.sleep(0)
    assert holders(server, "c") == []


class Announcements:
    """What was announced, in the order of all that was sent; nothing is written down while ``refusing``."""

    def __init__(self, server: Server) -> None:
        self.server, self.refusing = server, False

    async def __call__(self, names: list[str]) -> bool:
        if not self.refusing:
            self.server.log.append(f"announced {' '.join(names)}")
        return not self.refusing


async def test_a_claim_is_announced_before_it_is_given_devices_and_not_where_a_pod_comes_to_share_it(server: Server) -> None:
    claim = copy.deepcopy(server.have("c"))
    async with writing(server, Announcements(server)) as (binder, _):
        binder.submit(reserving(claim, "a", GPU))
        await until(lambda: binder.written == 1)
        assert binder.announcing.settled
        binder.submit(reserving(claim, "b"))
        await until(lambda: binder.written == 2)
    assert server.log == [
        "announced ns/c/uid-c",
        "PATCH resourceclaims/c",
        "PATCH resourceclaims/c/status",
        "PATCH resourceclaims/c/status",
    ]


async def test_a_claim_that_is_made_is_announced_before_it_is_given_devices(server: Server) -> None:
    made = MakeClaim((), (), GPU)
    async with writing(server, Announcements(server)) as (binder, _):
        binder.submit(ReserveDevices("a", "ns", "pod-a", "n0", (), 1, made))
        await until(lambda: binder.written == 1)
    name = "pod-a-extended-resources-x"
    assert server.log[:3] == [
        "POST resourceclaims",
        f"announced ns/{name}/uid-{name}",
        f"PATCH resourceclaims/{name}/status",
    ]


async def test_what_cannot_be_announced_is_not_sent_until_it_can(server: Server) -> None:
    claim, announce = copy.deepcopy(server.have("c")), Announcements(server)
    announce.refusing = True
    async with writing(server, announce) as (binder, told):
        binder.submit(reserving(claim, "a", GPU))
        await asyncio.sleep(0.15)
        assert (server.log, binder.announcing.settled) == ([], False)
        announce.refusing = False
        await until(lambda: binder.written == 1)
    assert told == []


async def test_devices_are_given_back_and_claims_made_for_pods_are_deleted(server: Server) -> None:
    claim = server.have("c", status={"allocation": {}, "reservedFor": [{"uid": "a"}]})
    special = server.have("s")
    async with writing(server) as (binder, told):
        binder.submit(FreeDevices("a", "ns", "c", claim["metadata"]["resourceVersion"], 1))
        binder.submit(FreeDevices("a", "ns", "s", special["metadata"]["resourceVersion"], 1, delete=True))
        await until(lambda: "s" not in server.claims and not server.claims["c"]["status"])
    assert told == []


async def test_a_claim_is_made_for_the_extended_resources_of_a_pod(server: Server) -> None:
    requests = (DeviceRequest("container-0-request-1", (Alternative("", "gpu", count=2),)),)
    made = MakeClaim(requests, (Served("main", "example.com/gpu", "container-0-request-1"),), GPU)
    async with writing(server) as (binder, told):
        binder.submit(ReserveDevices("u", "ns", "pod-u", "n0", (), 1, made))
        await until(lambda: binder.written == 1)
    ((name, claim),) = server.claims.items()
    assert claim["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert claim["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 2,
    }
    assert holders(server, name) == ["u"]
    status = server.pods["pod-u"]["status"]["extendedResourceClaimStatus"]
    mapping = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "container-0-request-1"}
    assert status == {"requestMappings": [mapping], "resourceClaimName": name}
    assert told == []


def test_an_allocation_is_written_as_the_api_has_it() -> None:
    shared = DeviceResult(
        "r/x",
        "driver",
        "pool",
        "d",
        admin=True,
        shared=True,
        consumed=(("memory", 1 << 30), ("share", Fraction(1, 2))),
        tolerations=(DeviceToleration("k", "Exists", effect="NoExecute", seconds=0),),
        conditions=("Ready",),
        failures=("Failed",),
    )
    written = allocation_of(Allocation((shared,), ((Requirement("zone", "In", ("a",)),),)))
    (result,) = written["devices"]["results"]
    assert result.pop("shareID")
    assert result == {
        "request": "r/x",
        "driver": "driver",
        "pool": "pool",
        "device": "d",
        "adminAccess": True,
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
        "bindingConditions": ["Ready"],
        "bindingFailureConditions": ["Failed"],
        "consumedCapacity": {"memory": "1073741824", "share": "500m"},
    }
    assert written["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"][0]["key"] == "zone"
    json.dumps(written)
