"""The log of changes as others may have written it: what is no change stops nothing."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import msgspec
import pytest

from rest.changes import CHANGES, CONF, Changes, changing, update
from treadle.changes.change import Change
from treadle.changes.execution import Healer

SWAP = {"update-queue": [update("root.dev", capacity="40"), update("root.prod", capacity="60")]}
WHOLE = {"field": [], "after": {"spec": {}}}


def step(*edits: Any, kind: Any = "Queue", name: Any = "root.a") -> Any:
    return {"kind": kind, "name": name, "edits": list(edits)}


def said(*steps: Any, **more: Any) -> bytes:
    return msgspec.json.encode({"user": "eve", "groups": [], "at": 1.0, "message": "", "steps": list(steps), **more})


FORGED = {
    "no object": b"[]",
    "nested deeply": b"[" * 200_000,
    "not UTF-8": b'{"user": "\xff"}',
    "a kind of others": said(step(WHOLE, kind="Pod")),
    "a name that leads elsewhere": said(step(WHOLE, name="../schedulers/treadle")),
    "a name with a query": said(step(WHOLE, name="root.a?dryRun=All")),
    "no edit": said(step()),
    "a path of numbers": said(step({"field": [1], "after": {}})),
    "no path": said(step({"after": {}})),
    "an object that is none": said(step({"field": [], "after": 5})),
    "an object with a part that is none": said(step({"field": [], "after": {"annotations": 5}})),
    "an object with other parts": said(step({"field": [], "after": {"metadata": {}}})),
    "made and edited": said(step(WHOLE, {"field": ["spec", "state"], "after": "Stopped"})),
    "made and deleted": said(step({"field": [], "before": {}, "after": {}})),
    "neither made nor deleted": said(step({"field": []})),
    "an edit of another part": said(step({"field": ["metadata", "name"], "after": "x"})),
    "a part that is no object": said(step({"field": ["annotations"], "after": 5})),
    "a time that no date has": said(at=1e300),
    "a time before all": said(at=-1.0),
    "a user that is none": said(user=5),
    "groups that are none": said(groups="abc"),
    "a message that is none": said(message={}),
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_what_is_no_change_is_not_read_as_one(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a"):
        Change.read(text)


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
async def test_what_is_no_change_stops_nothing(text: bytes) -> None:
    packed = base64.b64encode(gzip.compress(text)).decode()
    binary = {"change-000000004": packed, "underway": packed}
    async with changing() as changes:
        await _forge(changes, {"version": "9" * 5000}, binary)
        healer = Healer(changes.client, changes.log, lambda: changes.now)
        for passed in (0, 61):
            changes.now += passed
            assert await healer.heal() == ""
        assert (await changes.ask("GET", CHANGES))[1] == {"version": 4, "changes": []}
        for method, path in (("GET", f"{CHANGES}/4"), ("POST", f"{CHANGES}/4/undo")):
            assert (await changes.ask(method, path))[0] == 404
        assert (await changes.ask("PUT", CONF, SWAP))[0] == 200
        assert (await changes.ask("GET", f"{CONF}/version"))[1] == {"versionID": 5}


async def _forge(changes: Changes, data: dict[str, str], binary: dict[str, str]) -> None:
    body = {"metadata": {"name": "changes", "namespace": "treadle-system"}, "data": data, "binaryData": binary}
    changes.api.create("configmaps", body)
