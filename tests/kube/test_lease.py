"""Leader election in virtual time: at most one leads, and one that cannot renew stops before another may begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from kube.access import task_of
from kube.stub import Answer, Request, StubClient, in_process, refused, unreachable
from treadle.fakeapi import FakeApi
from treadle.kube.lease import SERVING, Lease

pytestmark = pytest.mark.looptime
NAME = "treadle-treadle"


class Election:
    """Candidates for one lease on one server; every change of leadership is noted with its time."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.story: list[tuple[float, str, bool]] = []
        self.clients: dict[str, StubClient] = {}

    def candidate(self, identity: str, answer: Callable[[Request], Answer] | None = None) -> Lease:
        client = self.clients[identity] = StubClient(answer or in_process(self.api))
        return Lease(client, "default", NAME, identity, clock=asyncio.get_running_loop().time)  # type: ignore[arg-type]

    async def run(self, lease: Lease) -> None:
        clock = asyncio.get_running_loop().time
        await lease.run(lambda leads: self.story.append((clock(), lease.identity, leads)))

    def spec(self) -> dict:
        return self.api.get("leases.coordination.k8s.io", NAME)["spec"]


def down(_: Request) -> Answer:
    return unreachable()


async def test_the_first_candidate_makes_the_lease_and_leads() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)

    assert at.story == [(0.0, "one", True)]
    assert (at.spec()["holderIdentity"], at.spec()["leaseTransitions"], at.spec()["leaseDurationSeconds"]) == ("one", 0, 11)
    assert at.spec()["renewTime"].endswith("Z")
    assert len(at.spec()["renewTime"].rpartition(".")[2]) == 7


async def test_the_leader_stays_and_the_other_stands_by() -> None:
    at = Election()
    one, other = at.candidate("one"), at.candidate("other")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        async with task_of(at.run(other)):
            await asyncio.sleep(600)
            assert (one.held, other.held, other.holder) == (True, False, "one")

    assert at.story == [(0.0, "one", True)]


async def test_of_two_that_see_no_lease_at_once_one_leads() -> None:
    at = Election()
    async with AsyncExitStack() as stack:
        for identity in ("one", "other"):
            await stack.enter_async_context(task_of(at.run(at.candidate(identity))))
        await asyncio.sleep(60)

    assert [leads for _, _, leads in at.story] == [True]


async def test_a_lease_expires_when_its_record_has_not_changed_for_its_duration_as_observed() -> None:
    at = Election()
    async with task_of(at.run(at.candidate("one"))):
        await asyncio.sleep(1)
    other = at.candidate("other")
    async with task_of(at.run(other)):
        await asyncio.sleep(100)

    assert at.story == [(0.0, "one", True), (12.25, "other", True)]
    assert at.spec()["leaseTransitions"] == 1


async def test_the_times_written_in_a_lease_are_not_compared_with_our_clock() -> None:
    at = Election()
    async with task_of(at.run(at.candidate("one"))):
        await asyncio.sleep(1)
    lease = at.api.get("leases.coordination.k8s.io", NAME)
    at.api.update("leases.coordination.k8s.io", {**lease, "spec": {**lease["spec"], "renewTime": "1999-01-01T00:00:00.000000Z"}})
    async with task_of(at.run(at.candidate("other"))):
        await asyncio.sleep(10)

    assert at.story == [(0.0, "one", True)]


async def test_the_duration_is_the_holders_and_not_ours() -> None:
    at = Election()
    async with task_of(at.run(at.candidate("one"))):
        await asyncio.sleep(1)
    lease = at.api.get("leases.coordination.k8s.io", NAME)
    at.api.update("leases.coordination.k8s.io", {**lease, "spec": {**lease["spec"], "leaseDurationSeconds": 60}})
    async with task_of(at.run(at.candidate("other"))):
        await asyncio.sleep(55)
        assert len(at.story) == 1
        await asyncio.sleep(20)

    assert at.story[-1][1:] == ("other", True)


async def test_a_lease_that_was_given_up_with_nothing_under_way_is_told_from_one_that_expired_or_is_new() -> None:
    at = Election()
    one, other, third = at.candidate("one"), at.candidate("other"), at.candidate("third")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        assert not one.handed_over, "it is new"
        await one.record(["ns/p/uid"])
        await one.release(settled=False)
    async with task_of(at.run(other)):
        await asyncio.sleep(1)
        assert (other.held, other.handed_over) == (True, False), "a bind may be under way"
        await other.record([])
        await other.release()
    async with task_of(at.run(third)):
        await asyncio.sleep(1)
        assert (third.held, third.handed_over) == (True, True)


async def test_a_released_lease_is_taken_at_the_next_look() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)), task_of(at.run(at.candidate("other"))):
        await asyncio.sleep(5)
        await one.release()
        assert not one.held
        await asyncio.sleep(30)

    assert at.story == [(0.0, "one", True), (5.25, "other", True)]
    assert at.spec()["holderIdentity"] == "other"


async def test_a_candidate_that_gave_up_does_not_come_back() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(5)
        await one.release()
        await asyncio.sleep(100)

    assert at.spec()["holderIdentity"] == ""
    assert not one.held


async def test_what_another_one_holds_is_not_released_by_us() -> None:
    at = Election()
    async with task_of(at.run(at.candidate("one"))):
        await asyncio.sleep(1)
        other = at.candidate("other")
        await other.release()

    assert at.spec()["holderIdentity"] == "one"
    assert at.clients["other"].requests == []


async def test_a_release_during_an_outage_gives_up_quietly() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        at.clients["one"].answer = down
        await one.release()

    assert at.spec()["holderIdentity"] == "one"


async def test_a_leader_that_cannot_renew_stops_before_its_lease_can_expire_for_others() -> None:
    at = Election()
    one, other = at.candidate("one"), at.candidate("other")
    async with task_of(at.run(one)), task_of(at.run(other)):
        await asyncio.sleep(5)
        at.clients["one"].answer = down
        await asyncio.sleep(100)

    (_, _, _), (stopped, who, leads), (began, successor, _) = at.story
    assert (who, leads, successor) == ("one", False, "other")
    assert stopped < began


async def test_the_claim_to_lead_ends_by_the_clock_even_while_a_request_hangs() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        at.clients["one"].latency = 1000.0
        await asyncio.sleep(6)
        assert one.held
        await asyncio.sleep(2)
        assert not one.held


async def test_a_leader_leads_again_when_the_server_is_back_before_anybody_else_came() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        at.clients["one"].answer = down
        await asyncio.sleep(60)
        at.clients["one"].answer = in_process(at.api)
        await asyncio.sleep(5)

    assert [leads for _, _, leads in at.story] == [True, False, True]
    assert at.spec()["leaseTransitions"] == 0


async def test_a_write_that_somebody_else_preceded_is_no_success() -> None:
    """The fence: every write carries the version that was read, so of two that saw the lease expire one is refused."""
    at = Election()
    async with task_of(at.run(at.candidate("old"))):
        await asyncio.sleep(1)
    one, other = at.candidate("one"), at.candidate("other")
    async with task_of(at.run(one)), task_of(at.run(other)):
        await asyncio.sleep(100)
        assert one.held != other.held

    assert at.spec()["leaseTransitions"] == 1


async def test_a_successor_with_the_same_identity_leads_at_once() -> None:
    at = Election()
    async with task_of(at.run(at.candidate("one"))):
        await asyncio.sleep(1)
    async with task_of(at.run(at.candidate("one"))):
        await asyncio.sleep(1)

    assert at.story == [(0.0, "one", True), (1.0, "one", True)]
    assert at.spec()["leaseTransitions"] == 0


async def test_a_refusal_is_said_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    at = Election()
    one = at.candidate("one", lambda _: refused(403, "leases is forbidden"))
    async with task_of(at.run(one)):
        await asyncio.sleep(5)
        assert not one.held
        at.clients["one"].answer = in_process(at.api)
        await asyncio.sleep(5)
        assert one.held

    assert "leases is forbidden" in caplog.text


# -- the right to write


async def test_a_write_may_live_until_shortly_before_anybody_else_can_lead_and_none_begins_once_renewals_fail() -> None:
    at = Election()
    lease = at.candidate("one")
    async with task_of(at.run(lease)):
        await asyncio.sleep(1)
        assert lease.right() == pytest.approx(9.5)
        at.clients["one"].answer = down
        await asyncio.sleep(6)
        assert lease.right() == pytest.approx(3.5)
        await asyncio.sleep(1.1)
        assert (lease.right(), at.story) == (0.0, [(0.0, "one", True), (8.0, "one", False)])


async def test_the_end_of_leading_is_told_on_time_though_a_renewal_hangs() -> None:
    at = Election()
    lease = at.candidate("one")
    async with task_of(at.run(lease)):
        await asyncio.sleep(1)
        at.clients["one"].latency = 3.9
        at.clients["one"].answer = down
        await asyncio.sleep(20)

    assert at.story == [(0.0, "one", True), (8.0, "one", False)]


async def test_what_is_written_down_is_found_by_the_successor_and_not_by_one_who_goes_on_leading() -> None:
    at = Election()
    one, other = at.candidate("one"), at.candidate("other")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        assert await one.record(["ns/a/u1", "ns/b/u2"])
        assert await one.record(["ns/b/u2", "ns/c/u3"])
        await asyncio.sleep(30)
        assert one.inherited == []
    async with task_of(at.run(other)):
        await asyncio.sleep(40)
        assert other.held
        assert [(asked.namespace, asked.name, asked.uid) for asked in other.inherited] == [("ns", "b", "u2"), ("ns", "c", "u3")]


async def test_binds_and_claims_are_written_down_beside_each_other() -> None:
    at = Election()
    async with task_of(at.run(one := at.candidate("one"))):
        await asyncio.sleep(1)
        assert await one.record(["ns/a/u1"])
        assert await one.record_claims(["ns/c/u2", "ns/d/u3"])
        assert await one.record(["ns/b/u4"])
    async with task_of(at.run(other := at.candidate("other"))):
        await asyncio.sleep(40)
        assert [asked.uid for asked in other.inherited] == ["u4"]
        assert [asked.uid for asked in other.inherited_claims] == ["u2", "u3"]
        await other.release()
    annotations = at.api.get("leases.coordination.k8s.io", NAME)["metadata"].get("annotations") or {}
    assert annotations == {}


async def test_a_successor_of_the_same_name_inherits_as_well() -> None:
    at = Election()
    async with task_of(at.run(one := at.candidate("same"))):
        await asyncio.sleep(1)
        assert await one.record(["ns/a/u1"])
    async with task_of(at.run(again := at.candidate("same"))):
        await asyncio.sleep(1)
        assert (again.held, [asked.uid for asked in again.inherited]) == (True, ["u1"])


@pytest.mark.parametrize("settled", [True, False])
async def test_a_leader_that_ends_with_nothing_under_way_leaves_nothing_to_inherit(settled: bool) -> None:
    at = Election()
    async with task_of(at.run(one := at.candidate("one"))):
        await asyncio.sleep(1)
        assert await one.record(["ns/a/u1"])
        await one.release(settled=settled)
    async with task_of(at.run(other := at.candidate("other"))):
        await asyncio.sleep(5)
        assert (other.held, len(other.inherited)) == (True, 0 if settled else 1)


async def test_nothing_is_written_down_by_one_who_was_overtaken() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        lease = at.api.get("leases.coordination.k8s.io", NAME)
        at.api.update("leases.coordination.k8s.io", {**lease, "spec": {**lease["spec"], "holderIdentity": "other"}})
        assert not await one.record(["ns/a/u1"])
        assert at.api.get("leases.coordination.k8s.io", NAME)["metadata"].get("annotations") is None


async def test_somebody_elses_note_on_the_lease_costs_one_try_and_is_kept() -> None:
    at = Election()
    one = at.candidate("one")
    async with task_of(at.run(one)):
        await asyncio.sleep(1)
        lease = at.api.get("leases.coordination.k8s.io", NAME)
        at.api.update("leases.coordination.k8s.io", {**lease, "metadata": {**lease["metadata"], "annotations": {"mine": "kept"}}})
        assert [await one.record(["ns/a/u1"]) for _ in range(2)] == [False, True]
        notes = at.api.get("leases.coordination.k8s.io", NAME)["metadata"]["annotations"]
        assert notes == {"mine": "kept", "treadle.dev/binding": "ns/a/u1"}


async def test_who_may_not_read_the_lease_says_so_until_that_is_over() -> None:
    election = Election()
    forbidden = True
    lease = election.candidate(
        "a", lambda request: refused(403, "cannot get resource leases") if forbidden else in_process(election.api)(request)
    )
    async with task_of(election.run(lease)):
        await asyncio.sleep(3)
        assert "cannot get resource leases" in lease.problem
        forbidden = False
        await asyncio.sleep(3)
        assert (lease.problem, lease.held) == ("", True)


# -- where the leader serves


async def serving(at: Election, identity: str, address: str = "") -> tuple[Lease, asyncio.Task[None]]:
    lease = at.candidate(identity)
    lease.serves = address
    task = asyncio.ensure_future(at.run(lease))
    await asyncio.sleep(1)
    return lease, task


async def test_who_stands_by_knows_where_the_leader_serves_and_nobody_serves_elsewhere_for_the_leader() -> None:
    at = Election()
    async with AsyncExitStack() as stack:
        one, leading = await serving(at, "one", "10.0.0.1:8080")
        other, standing_by = await serving(at, "other", "[fd00::2]:8080")
        for task in (leading, standing_by):
            stack.callback(task.cancel)
        assert (one.elsewhere, other.elsewhere) == ("", "10.0.0.1:8080")
        assert await one.record(["ns/a/1"])
        await asyncio.sleep(3)
        assert other.elsewhere == "10.0.0.1:8080", "it stays beside what else stands in the lease"
        await one.release()
        await asyncio.sleep(3)
        assert (one.elsewhere, other.elsewhere) == ("", ""), "one has given up, and looks no more"
        third, looking = await serving(at, "third")
        stack.callback(looking.cancel)
        assert third.elsewhere == "[fd00::2]:8080"


async def test_a_leader_that_serves_nowhere_takes_away_where_the_last_one_did() -> None:
    at = Election()
    one, leading = await serving(at, "one", "10.0.0.1:8080")
    await one.release()
    leading.cancel()
    _, next_one = await serving(at, "two")
    assert at.api.get("leases.coordination.k8s.io", NAME)["metadata"]["annotations"] == {}
    third, looking = await serving(at, "three")
    assert third.elsewhere == ""
    for task in (next_one, looking):
        task.cancel()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "one",
        "one nowhere:80",
        "one 10.0.0.1",
        "one 10.0.0.1:0",
        "one 10.0.0.1:99999",
        f"one 10.0.0.1:{'1' * 5000}",
        "one 10.0.0.1:80@10.9.9.9:80",
        "one 0.0.0.0:80",
        "one [ff02::1]:80",
        "one [fe80::1%eth0]:80",
        "two 10.0.0.1:80",
        "one  ",
    ],
)
async def test_what_is_no_address_of_the_holder_is_passed_over(said: str) -> None:
    assert await read_by_another(said) == ("one", "")


@pytest.mark.parametrize("said", ["one [fd00::2]:80", "one fd00::2:80", "one [FD00:0::2]:080"])
async def test_an_address_of_ipv6_is_read_as_it_stands_in_a_url(said: str) -> None:
    assert await read_by_another(said) == ("one", "[fd00::2]:80")


async def read_by_another(said: str) -> tuple[str, str]:
    """Who holds a lease in whose annotation it is said where, and where that is, as another candidate reads it."""
    at = Election()
    _, leading = await serving(at, "one")
    leading.cancel()
    lease = at.api.get("leases.coordination.k8s.io", NAME)
    lease["metadata"]["annotations"] = {SERVING: said}
    at.api.update("leases.coordination.k8s.io", lease)
    other, looking = await serving(at, "other")
    assert not looking.done(), "it goes on"
    looking.cancel()
    return other.holder, other.elsewhere
