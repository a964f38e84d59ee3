"""YARN's REST of the scheduler's configuration: what objects say as properties, and what changes of these make of the objects."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from rest.changes import CHANGES, CONF, SHARES, Changes, params, queue, update
from treadle.changes.change import Change, created
from treadle.changes.documents import document_of
from treadle.changes.execution import Healer
from treadle.changes.log import Log, Logged

DONE = "Configuration change successfully applied."
PREFIX = "yarn.scheduler.capacity."
FIRST = {"root.dev": {"capacity": {"guaranteed": "60%"}}, "root.prod": {"capacity": {"guaranteed": "40%"}}}
SWAP = {"update-queue": [update("root.dev", capacity="40"), update("root.prod", capacity="60")]}


async def test_queues_are_shown_as_properties(changes: Changes) -> None:
    assert await changes.properties() == {
        "root.queues": "dev,prod",
        "root.dev.capacity": "60",
        "root.prod.capacity": "40",
        "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }


async def test_a_change_of_several_queues_is_made(changes: Changes) -> None:
    body = {
        "add-queue": update("root.etl", capacity="10", maximum__capacity="50", minimum__user__limit__percent="25"),
        "update-queue": [
            update("root.dev", capacity="50", acl_submit_applications="ann ops"),
            update("root.prod", state="STOPPED"),
        ],
        "global-updates": params({f"{PREFIX}maximum-applications": "77"}),
    }
    status, said, _ = await changes.ask("PUT", CONF, body)
    assert (status, said) == (200, DONE)
    found = changes.queues()
    assert found["root.etl"] == {"capacity": {"guaranteed": "10%", "maximum": "50%", "minimumUserLimitPercent": 25}}
    assert found["root.prod"] == {"capacity": {"guaranteed": "40%"}, "state": "Stopped"}
    assert found["root.dev"] == {"capacity": {"guaranteed": "50%"}, "submitAcl": {"users": ["ann"], "groups": ["ops"]}}
    assert changes.api.list("schedulers")[0]["spec"]["capacity"] == {"maximumApplications": 77}
    assert (await changes.ask("GET", f"{CONF}/version"))[1] == {"versionID": 1}
    assert (await changes.properties())["root.dev.acl_submit_applications"] == "ann ops"


async def test_xml_is_taken_as_well(changes: Changes) -> None:
    body = b"<sched-conf><update-queue><queue-name>root.dev</queue-name><params><entry><key>maximum-capacity</key><value>80</value></entry></params></update-queue></sched-conf>"
    assert (await changes.ask("PUT", CONF, body, Content_Type="application/xml"))[:2] == (200, DONE)
    assert changes.queues()["root.dev"] == {"capacity": {"guaranteed": "60%", "maximum": "80%"}}


@pytest.mark.parametrize(
    ("text", "left"),
    [(b" ops", {"groups": ["ops"]}), (b" ", {}), (b"\n  ann ops\n  ", {"users": ["ann"], "groups": ["ops"]}), (b"", None)],
)
async def test_a_blank_in_xml_says_what_it_says_in_hadoop(changes: Changes, text: bytes, left: dict[str, Any] | None) -> None:
    changes.api.update(
        "queues", {**changes.api.get("queues", "root.dev"), "spec": {**FIRST["root.dev"], "submitAcl": {"users": ["bob"]}}}
    )
    body = (
        b"<sched-conf> <update-queue> <queue-name> root.dev </queue-name> <params> <entry> <key> acl_submit_applications </key> <value>"
        + text
        + b"</value> </entry> </params> </update-queue> <global-updates> </global-updates> </sched-conf>"
    )
    assert (await changes.ask("PUT", CONF, body, Content_Type="application/xml"))[:2] == (200, DONE)
    assert changes.queues()["root.dev"].get("submitAcl") == left


async def test_a_stopped_queue_is_removed(changes: Changes) -> None:
    remove = {"remove-queue": "root.prod", "update-queue": update("root.dev", capacity="100")}
    assert await changes.refusal("PUT", CONF, remove) == (
        400,
        "root.prod cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : RUNNING",
    )
    assert (await changes.ask("PUT", CONF, {"update-queue": update("root.prod", state="STOPPED")}))[0] == 200
    assert (await changes.ask("PUT", CONF, remove))[:2] == (200, DONE)
    assert changes.queues() == {"root.dev": {"capacity": {"guaranteed": "100%"}}}


async def test_what_yarns_words_do_not_say_stays(changes: Changes) -> None:
    changes.api.create(
        "queues",
        queue("root.dev.a", "100%", submitAcl={"users": ["ann"], "namespaces": ["etl"]}, opportunistic={"limits": {"cpu": "4"}}),
    )
    body = {"update-queue": update("root.dev.a", acl_submit_applications="bob", priority="2")}
    assert (await changes.ask("PUT", CONF, body))[:2] == (200, DONE)
    assert changes.queues()["root.dev.a"] == {
        "capacity": {"guaranteed": "100%", "priority": 2},
        "submitAcl": {"users": ["bob"], "namespaces": ["etl"]},
        "opportunistic": {"limits": {"cpu": "4"}},
    }


ACCOUNT = "system:serviceaccount:etl:airflow"
LIST: dict[str, Any] = {"serviceAccounts": ["etl/airflow"], "namespaces": ["etl"], "groups": ["our ops"]}


@pytest.mark.parametrize(
    ("there", "text", "left"),
    [
        (LIST, "bob", {"users": ["bob"], "namespaces": ["etl"], "groups": ["our ops"]}),
        (LIST, "", {"namespaces": ["etl"], "groups": ["our ops"]}),
        (LIST, " ", {"namespaces": ["etl"], "groups": ["our ops"]}),
        (LIST, f"{ACCOUNT},bob ops", {**LIST, "users": ["bob"], "groups": ["our ops", "ops"]}),
        ({"users": [ACCOUNT], "serviceAccounts": ["etl/airflow"]}, "bob", {"users": ["bob"]}),
        ({"users": [ACCOUNT], "serviceAccounts": ["etl/airflow"]}, "", None),
        ({"serviceAccounts": ["etl/airflow"]}, " ", {}),
        ({"users": ["*"], "groups": ["ops"]}, "bob", {"users": ["bob"]}),
        ({"users": ["ann"], "groups": ["ops"]}, "*", {"users": ["*"]}),
    ],
)
async def test_who_is_left_out_of_an_access_list_is_on_it_no_more(
    changes: Changes, there: dict[str, Any], text: str, left: dict[str, Any] | None
) -> None:
    changes.api.update("queues", {**changes.api.get("queues", "root.dev"), "spec": {**FIRST["root.dev"], "administerAcl": there}})
    body = {"update-queue": update("root.dev", acl_administer_queue=text)}
    assert (await changes.ask("PUT", CONF, body))[:2] == (200, DONE)
    assert changes.queues()["root.dev"].get("administerAcl") == left
    assert (await changes.ask("POST", f"{CHANGES}/1/undo"))[0] == 200
    assert changes.queues()["root.dev"]["administerAcl"] == there


async def test_what_yarns_words_do_not_say_is_back_when_a_change_is_undone(changes: Changes) -> None:
    vector = "[memory=1536Ki,cpu=1500m]"
    for path, block in (("root.dev", vector), ("root.prod", "[memory=1Gi,cpu=1]")):
        changes.api.update("queues", {**changes.api.get("queues", path), "spec": {"capacity": {"guaranteed": block}}})
    said = {"capacity": {"guaranteed": vector}, "state": "Stopped", "submitAcl": {"users": ["ann"], "namespaces": ["etl"]}}
    labelled = {**queue("root.old", **said), "metadata": {"name": "root.old", "labels": {"team": "a"}}}
    changes.api.create("queues", labelled)
    before = {one["metadata"]["name"]: document_of("Queue", one) for one in changes.api.list("queues")}
    body = {"remove-queue": "root.old", "update-queue": update("root.dev", capacity="[memory=10,vcores=1]")}
    assert (await changes.ask("PUT", CONF, body))[:2] == (200, DONE)
    assert (await changes.ask("POST", f"{CHANGES}/1/undo"))[0] == 200
    assert {one["metadata"]["name"]: document_of("Queue", one) for one in changes.api.list("queues")} == before


async def test_first_queues_are_added_where_there_are_none(changes: Changes) -> None:
    for path in SHARES:
        changes.api.delete("queues", path)
    body = {"add-queue": [update("root.a", capacity="70"), update("root.b", capacity="30")]}
    assert (await changes.ask("PUT", CONF, body))[:2] == (200, DONE)
    assert changes.queues() == {"root.a": {"capacity": {"guaranteed": "70%"}}, "root.b": {"capacity": {"guaranteed": "30%"}}}


async def test_a_setting_that_does_not_carry_over_is_said(changes: Changes) -> None:
    other = params({"yarn.scheduler.minimum-allocation-mb": "512", "foo.bar": "1", "yarn.nodemanager.port": "7"})
    body = {"update-queue": update("root.dev", capacity="60", frobnicate="7"), "global-updates": other}
    status, said, _ = await changes.ask("PUT", CONF, body)
    assert (status, said.splitlines()) == (
        200,
        [
            DONE,
            f"{PREFIX}root.dev.frobnicate: is left out; it has no counterpart",
            "yarn.scheduler.minimum-allocation-mb: is left out; pods get what they ask, unrounded",
            "foo.bar: is left out; it is no setting of the scheduler",
            "yarn.nodemanager.port: is left out; it is no setting of the scheduler",
        ],
    )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"update-queue": update("root.dev", capacity="70")}, "sum"),
    ({"update-queue": update("root.dev", capacity="much")}, f"{PREFIX}root.dev.capacity: 'much' is not a percentage, weight or vector"),
    ({"add-queue": update("root.Dev_2", capacity="0")}, "no queue can be called 'Dev_2', names are lower-case letters, digits and hyphens; 'dev-2' could be"),
    ({"add-queue": update("root.dev.a.b", capacity="0")}, "root.dev.a"),
    ({"add-queue": update("root.dev.a", capacity="100")}, "Can not convert the leaf queue: root.dev to parent queue"),
    ({"update-queue": update("root.dev", **{"accessible-node-labels.gpu.capacity": "100"})}, "no partition of the Scheduler"),
    ({"update-queue": update("root.dev", **{"maximum-allocation-mb": "x"})}, f"{PREFIX}root.dev.maximum-allocation-mb: 'x' is not a number"),
    ({"global-updates": params({f"{PREFIX}queue-mappings": "x:y"})}, "queue-mappings"),
    ({"global-updates": params({f"{PREFIX}root.queues": "dev,prod,New_Q"})}, "no queue can be called 'New_Q'"),
    ({"add": []}, "the body: 'add' is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), REFUSED)
async def test_what_the_capacity_scheduler_refuses_is_refused_and_nothing_is_left_of_it(
    changes: Changes, body: dict[str, Any], words: str
) -> None:
    for method, path in (("POST", f"{CONF}/validate"), ("PUT", CONF)):
        status, said = await changes.refusal(method, path, body)
        assert status == 400
        assert words in said
    assert changes.queues() == FIRST
    assert [write for write in changes.api.writes if not write[3]] == []
    assert (await changes.ask("GET", f"{CONF}/version"))[1] == {"versionID": 0}


async def test_validation_says_what_would_be_and_changes_nothing(changes: Changes) -> None:
    status, said, _ = await changes.ask("POST", f"{CONF}/validate", SWAP)
    assert status == 200
    shown = {one["name"]: one["value"] for one in said["property"]}
    assert (shown[f"{PREFIX}root.dev.capacity"], shown[f"{PREFIX}root.prod.capacity"]) == ("40", "60")
    assert changes.queues() == FIRST
    assert {write[3] for write in changes.api.writes} == {True}


async def test_under_the_discipline_fair_there_is_no_such_configuration(changes: Changes) -> None:
    changes.api.update("schedulers", {**changes.api.list("schedulers")[0], "spec": {"discipline": "Fair"}})
    for method, body in (("GET", None), ("PUT", SWAP)):
        status, said = await changes.refusal(method, CONF, body)
        assert (status, "is only supported by the discipline Capacity" in said) == (400, True)


# -- whose rights, and all or nothing


async def test_objects_are_read_and_written_with_the_token_of_whoever_asks(changes: Changes) -> None:
    await changes.ask("PUT", CONF, SWAP)
    assert changes.api.tokens_seen == {"Bearer alice"}


async def test_nothing_is_written_where_one_step_is_not_allowed(changes: Changes) -> None:
    changes.api.refusals["PUT", "root.prod", True] = (403, "user alice may not write queue root.prod")
    assert await changes.refusal("PUT", CONF, SWAP) == (403, "Queue root.prod: user alice may not write queue root.prod")
    assert changes.queues() == FIRST
    assert [write for write in changes.api.writes if not write[3]] == []


async def test_what_was_made_is_taken_back_where_a_later_step_fails(changes: Changes) -> None:
    changes.api.refusals["PUT", "root.prod", False] = (403, "not any more")
    body = {**SWAP, "add-queue": update("root.a", capacity="0")}
    assert await changes.refusal("PUT", CONF, body) == (403, "Queue root.prod: not any more")
    assert changes.queues() == FIRST
    logged = await changes.log.read()
    assert (logged.version, logged.pending) == (0, None)


async def test_what_its_owner_may_not_take_back_any_more_is_left_to_the_leader(changes: Changes) -> None:
    changes.api.refusals["PUT", "root.prod", False] = changes.api.refusals["DELETE", "root.a", False] = (403, "not any more")
    body = {**SWAP, "add-queue": update("root.a", capacity="0")}
    assert await changes.refusal("PUT", CONF, body) == (403, "Queue root.prod: not any more")
    assert changes.queues() == {**FIRST, "root.a": {"capacity": {"guaranteed": "0%"}}}
    assert (await changes.refusal("PUT", CONF, SWAP))[0] == 503
    changes.api.refusals.clear()
    healer = Healer(changes.client, changes.log, lambda: changes.now)
    for passed in (0, 61):
        changes.now += passed
        assert await healer.heal() == ""
    assert changes.queues() == FIRST


async def test_a_change_that_saw_half_of_another_one_is_not_made(changes: Changes) -> None:
    read = changes.log.read

    async def another_ends_after() -> Logged:
        logged = await read()
        changes.log.read = read  # type: ignore[method-assign]
        await changes.log.end(await changes.log.begin(logged, Change((), "bob")), done=True)
        return logged

    changes.log.read = another_ends_after  # type: ignore[method-assign]
    assert (await changes.refusal("PUT", CONF, SWAP))[0] == 503
    assert changes.queues() == FIRST
    assert (await changes.ask("PUT", CONF, SWAP))[0] == 200


async def test_any_edit_by_somebody_makes_another_version(changes: Changes) -> None:
    _, _, headers = await changes.ask("GET", CONF)
    raw = changes.api.get("queues", "root.dev")
    changes.api.update("queues", {**raw, "metadata": {**raw["metadata"], "annotations": {"why": "x"}}})
    assert (await changes.refusal("PUT", CONF, SWAP, If_Match=headers["ETag"]))[0] == 412


async def test_versions_may_be_named_in_several_lines(changes: Changes) -> None:
    _, _, headers = await changes.ask("GET", CONF)
    lines = [("If-Match", '"other"'), ("If-Match", headers["ETag"]), ("Authorization", "Bearer alice")]
    async with (
        aiohttp.ClientSession() as session,
        session.put(changes.url + CONF, json=SWAP, headers=CIMultiDict(lines)) as answer,
    ):
        assert answer.status == 200


@pytest.mark.parametrize("body", [b'{"\xff": 1}', b"[" * 100_000, b'{"add-queue":' * 50_000, b"", b"\0"])
async def test_what_is_not_json_is_refused(changes: Changes, body: bytes) -> None:
    for path, method in ((CONF, "PUT"), (f"{CONF}/validate", "POST"), (CHANGES, "POST")):
        if body or path != CHANGES:
            status, said = await changes.refusal(method, path, body)
            assert (status, "the body is not JSON" in said) == (400, True)


async def test_a_change_that_was_made_out_for_another_version_is_refused(changes: Changes) -> None:
    _, _, headers = await changes.ask("GET", CONF)
    assert (await changes.ask("PUT", CONF, SWAP, If_Match=headers["ETag"]))[0] == 200
    status, said = await changes.refusal("PUT", CONF, SWAP, If_Match=headers["ETag"])
    assert (status, "is not what is there any more" in said) == (412, True)
    _, _, headers = await changes.ask("GET", CONF)
    assert (await changes.ask("PUT", CONF, SWAP, If_Match=f'"other", {headers["ETag"]}'))[0] == 200
    assert (await changes.ask("PUT", CONF, SWAP, If_Match="*"))[0] == 200


async def test_one_change_at_a_time_and_what_a_dead_process_left_is_taken_back(changes: Changes) -> None:
    half = queue("root.etl", "0%")
    change = Change((created("Queue", "root.etl", {"spec": half["spec"]}), created("Queue", "root.x", {"spec": {}})), "bob")
    await changes.log.begin(await changes.log.read(), change)
    changes.api.create("queues", half)
    assert await changes.refusal("PUT", CONF, SWAP) == (503, "a change of bob is under way")
    healer = Healer(changes.client, changes.log, lambda: changes.now)
    assert await healer.heal() == ""
    changes.now += 59
    assert await healer.heal() == ""
    assert "root.etl" in changes.queues()
    changes.now += 2
    assert await healer.heal() == ""
    assert changes.queues() == FIRST
    assert (await changes.ask("PUT", CONF, SWAP))[0] == 200


async def test_the_clock_of_a_dead_process_keeps_nobody_waiting(changes: Changes) -> None:
    ahead = Log(changes.client, "treadle-system", "changes", lambda: changes.now + 1e9)
    await ahead.begin(await ahead.read(), Change((), "bob"))
    healer = Healer(changes.client, changes.log, lambda: changes.now)
    for passed in (0, 61):
        changes.now += passed
        assert await healer.heal() == ""
    assert (await changes.ask("PUT", CONF, SWAP))[0] == 200


async def test_a_clock_behind_that_of_the_leader_gives_nobodys_change_up(changes: Changes) -> None:
    behind = Log(changes.client, "treadle-system", "changes", lambda: changes.now - 1e6, lambda: changes.now)
    logged = await behind.begin(await behind.read(), Change((created("Queue", "root.etl", {"spec": {}}),), "bob"))
    first = logged.revision
    changes.api.create("queues", queue("root.etl"))
    healer = Healer(changes.client, changes.log, lambda: changes.now)
    for _ in range(5):
        assert await healer.heal() == ""
        changes.now += 30
        logged = await behind.renewed(logged)
    assert logged.revision != first
    assert "root.etl" in changes.queues()


async def test_a_queue_that_somebody_else_made_is_not_taken_back(changes: Changes) -> None:
    labelled = {"labels": {"team": "a"}, "spec": {"capacity": {"guaranteed": "0%"}, "state": "Running"}}
    steps = (created("Queue", "root.a", labelled), created("Queue", "root.b", labelled))
    await changes.log.begin(await changes.log.read(), Change(steps, "bob"))
    mine = {**queue("root.a", "0%"), "metadata": {"name": "root.a", "labels": {"team": "a", "of": "a-webhook"}}}
    changes.api.create("queues", mine)
    changes.api.create("queues", queue("root.b", "5%"))
    healer = Healer(changes.client, changes.log, lambda: changes.now)
    assert await healer.heal() == ""
    changes.now += 61
    assert await healer.heal() == (
        "a change by bob was not finished and could not be taken back whole: Queue root.b: it was changed since, or made by somebody else"
    )
    assert sorted(changes.queues()) == ["root.b", "root.dev", "root.prod"]


async def test_a_change_that_takes_long_is_not_taken_for_abandoned(changes: Changes) -> None:
    began, ends = changes.now, []

    def takes(method: str) -> None:
        changes.now += 13 if method == "PUT" else 0
        ends.append(
            changes.api.get("configmaps", "changes", "treadle-system")["data"]["underway-until"] if method == "PUT" else ""
        )

    changes.api.takes = takes
    body = {
        "add-queue": [{"queue-name": f"root.q{n}", "params": {"entry": {"key": "capacity", "value": "0"}}} for n in range(8)],
        "update-queue": [update("root.dev", capacity="40"), update("root.prod", capacity="60")],
    }
    status, said, _ = await changes.ask("PUT", CONF, body)
    assert status == 200, said
    assert [float(end) - began for end in ends if end] == [60, 73]


async def test_a_process_that_was_held_up_before_a_step_takes_its_change_back(changes: Changes) -> None:
    def held_up(method: str) -> None:
        changes.now += 40 if method == "GET" and "PUT" in {one[0] for one in changes.api.writes if not one[3]} else 0

    changes.api.takes = held_up
    status, said = await changes.refusal("PUT", CONF, SWAP)
    assert (status, "nothing of it is left" in said) == (503, True)
    assert changes.queues() == FIRST
    assert (await changes.log.read()).pending is None


async def test_a_process_that_was_held_up_leaves_alone_what_the_leader_has_taken_back(changes: Changes) -> None:
    changes.api.refusals["PUT", "root.prod", False] = (403, "not any more")
    body = {"update-queue": [update("root.dev", capacity="40"), update("root.prod", capacity="60")]}
    renewed = changes.log.renewed

    async def healed_meanwhile(logged: Logged, *, at_once: bool = False) -> Logged:
        if at_once:  # as whoever takes back does
            times = iter((0.0, 0.0, 1000.0, 1000.0))
            healer = Healer(changes.client, Log(changes.client, "treadle-system", "changes", lambda: 0.0), lambda: next(times))
            assert [await healer.heal(), await healer.heal()] == ["", ""]
            assert changes.queues() == FIRST
            changes.api.refusals.clear()
            changes.api.update("queues", {**changes.api.get("queues", "root.dev"), "spec": {"capacity": {"guaranteed": "40%"}}})
        return await renewed(logged, at_once=at_once)

    changes.log.renewed = healed_meanwhile  # type: ignore[method-assign]
    assert (await changes.refusal("PUT", CONF, body))[0] == 403
    assert changes.queues()["root.dev"] == {"capacity": {"guaranteed": "40%"}}, "what somebody wrote since stays"


async def test_a_process_that_was_held_up_goes_on_no_more_once_the_leader_takes_its_change_back(changes: Changes) -> None:
    renewed, begun = changes.log.renewed, []

    async def claimed_meanwhile(logged: Logged, *, at_once: bool = False) -> Logged:
        begun.append(changes.queues())
        if len(begun) == 2:  # before the second step
            changes.now += 61
            other = Log(changes.client, "treadle-system", "changes", lambda: changes.now, lambda: changes.now)
            await other.renewed(await other.read(), at_once=True)
        return await renewed(logged, at_once=at_once)

    changes.log.renewed = claimed_meanwhile  # type: ignore[method-assign]
    status, said = await changes.refusal("PUT", CONF, SWAP)
    assert (status, said) == (503, "the change was taken for abandoned, and is taken back by the leader")
    assert changes.queues() == begun[1] != FIRST
    healer = Healer(changes.client, changes.log, lambda: changes.now)
    for passed in (0, 59):
        changes.now += passed
        assert await healer.heal() == ""
    assert changes.queues() == begun[1], "whoever claimed it is at it"
    changes.now += 2
    assert await healer.heal() == ""
    assert changes.queues() == FIRST


async def test_an_unreadable_log_stops_nobody(changes: Changes) -> None:
    body = {"data": {"version": "many"}, "binaryData": {"underway": "AAAA", "change-000000004": "AAAA"}}
    changes.api.create("configmaps", {"metadata": {"name": "changes", "namespace": "treadle-system"}, **body})
    assert await Healer(changes.client, changes.log).heal() == ""
    assert (await changes.ask("PUT", CONF, SWAP))[0] == 200
    assert (await changes.ask("GET", f"{CONF}/version"))[1] == {"versionID": 5}
