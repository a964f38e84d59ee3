"""The log of changes: a ConfigMap in the namespace of the scheduler, which only the scheduler writes.

It has the number of the last change, the newest changes, and, before anything is written, the one that is under way: so that whoever comes after a process that died in the middle
takes back what is half done (a write-ahead log, as ``YarnConfigurationStore`` keeps one). Only one change is under way at a time, since two writers of the ConfigMap
cannot both find it as they read it.
"""

from __future__ import annotations

import base64
import gzip
import logging
import re
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from treadle.changes.change import Change
from treadle.kube.transport import MERGE, Client

log = logging.getLogger(__name__)

MOST_KEPT: Final = 100
MOST_BYTES: Final = 700_000
"""Of a ConfigMap's MiB."""
MOST_UNPACKED: Final = 64 << 20
ABANDONED_AFTER: Final = 60.0
"""Seconds without a word of its process after which a change that is under way is taken for one whose process has died, by the clock of whoever looks."""
RENEWED_AFTER: Final = 10.0
"""Seconds between two words of the process."""
LAST_REQUEST: Final = 31.0
"""Seconds before a change is taken for abandoned from which on nothing is sent for it any more: a request that is under way has ended by then."""
_VERSION, _PENDING, _UNTIL = "version", "underway", "underway-until"
_KEY: Final = re.compile(r"change-([0-9]{9})")
_NUMBER: Final = re.compile("[0-9]{1,9}")


class Busy(Exception):
    """Another change is under way."""


class TooSlow(Exception):
    """A change whose process did not come to a word for so long that others take it for abandoned."""


class TooLarge(Exception):
    """A change for which the log has no room."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The log as it was read: the number of the last change, the newest ones as they are kept, and the one that is under way.

    ``revision`` is another one after each word of the process that makes it; ``said_at`` is when this process said its last one, by its own clock.
    """

    version: int
    kept: Mapping[int, str]
    pending: Change | None
    revision: str
    said_at: float = 0.0

    def change(self, version: int) -> Change | None:
        """Return a change by its number, None if it is not kept (any more)."""
        return _unpacked(self.kept.get(version))


class Log:
    """Reads and writes the ConfigMap. ``now`` is the time in seconds since the epoch, ``clock`` one that nobody sets. All methods raise ``KubeError``.

    What is over by the time of day is only told: no two machines have the same one.
    """

    def __init__(
        self, client: Client, namespace: str, name: str, now: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Keep where it is."""
        self._client, self._now, self._clock, self._name = client, now, clock, name
        self._folder = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> Logged:
        """Return the log; an empty one where there is none yet."""
        answer = await self._client.request("GET", f"{self._folder}/{self._name}")
        if answer.status == 404:
            return Logged(0, {}, None, "")
        if answer.status != 200:
            raise answer.error()
        return _logged(answer.json())

    async def begin(self, logged: Logged, change: Change) -> Logged:
        """Note that a change is under way, and return the log with it. Raises ``Busy`` where somebody else was faster, or ``TooLarge``."""
        if logged.pending is not None:
            raise Busy(f"a change of {logged.pending.user} is under way")
        packed = _packed(change)
        if len(packed) > MOST_BYTES // 2:
            raise TooLarge(
                f"{len(packed)} bytes of the log are needed for it, and {MOST_BYTES // 2} are allowed; make it in parts"
            )
        said_at = self._clock()
        found = await self._write(logged, _kept(logged.kept, len(packed)), logged.version, packed)
        return replace(found, said_at=said_at)

    def check_time(self, logged: Logged) -> None:
        """Raise ``TooSlow`` where nothing further may be sent for the change that is under way."""
        if self._clock() > logged.said_at + ABANDONED_AFTER - LAST_REQUEST:
            raise TooSlow("the API server answers too slowly for a change to be made, so nothing of it is left")

    async def renewed(self, logged: Logged, *, at_once: bool = False) -> Logged:
        """Say, where it is time to or ``at_once``, that somebody is at the change that is under way, and return the log with it.

        Raises ``Busy`` where somebody else has said so since: only one process makes a change or takes it back.
        """
        said_at = self._clock()
        if not at_once and said_at < logged.said_at + RENEWED_AFTER:
            return logged
        body = {"metadata": {"resourceVersion": logged.revision}, "data": {_UNTIL: self._until()}}
        answer = await self._client.request("PATCH", f"{self._folder}/{self._name}", body, content_type=MERGE)
        if answer.status in {404, 409}:
            raise Busy("the change was taken for abandoned, and is taken back by the leader")
        if answer.status != 200:
            raise answer.error()
        return replace(_logged(answer.json()), said_at=said_at)

    async def end(self, logged: Logged, *, done: bool) -> int:
        """Note that the change that is under way is done, or was taken back, and return the number of the last change."""
        assert logged.pending is not None
        kept, version = dict(logged.kept), logged.version
        if done:
            version += 1
            kept[version] = _packed(logged.pending)
        await self._write(logged, kept, version, "")
        return version

    def _until(self) -> str:
        return f"{self._now() + ABANDONED_AFTER:.3f}"

    async def _write(self, logged: Logged, kept: Mapping[int, str], version: int, pending: str) -> Logged:
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._name},
            "data": {_VERSION: str(version), **({_UNTIL: self._until()} if pending else {})},
            "binaryData": {
                **{f"change-{number:09}": text for number, text in kept.items()},
                **({_PENDING: pending} if pending else {}),
            },
        }
        if logged.revision:
            # A merge patch, so that labels of others stay; keys that are not kept any more have to be named in it.
            gone = {f"change-{number:09}": None for number in logged.kept.keys() - kept.keys()}
            body["data"].setdefault(_UNTIL, None)
            body["binaryData"] = {_PENDING: None, **gone, **body["binaryData"]}
            body["metadata"]["resourceVersion"] = logged.revision
            answer = await self._client.request("PATCH", f"{self._folder}/{self._name}", body, content_type=MERGE)
        else:
            answer = await self._client.request("POST", self._folder, body)
        if answer.status == 409:
            raise Busy("another change began at the same time")
        if answer.status not in {200, 201}:
            raise answer.error()
        return _logged(answer.json())


def _kept(kept: Mapping[int, str], room: int) -> dict[int, str]:
    """Return the newest changes for which there is room beside one of ``room`` bytes, which is kept twice for a moment."""
    left, found = MOST_BYTES - 2 * room, dict[int, str]()
    for number in sorted(kept, reverse=True)[: MOST_KEPT - 1]:
        left -= len(kept[number])
        if left < 0:
            break
        found[number] = kept[number]
    return found


def _logged(body: Mapping[str, Any]) -> Logged:
    data, binary = body.get("data") or {}, body.get("binaryData") or {}
    kept = {int(match[1]): text for name, text in binary.items() if (match := _KEY.fullmatch(name)) is not None}
    version = data.get(_VERSION, "")
    pending = _unpacked(binary.get(_PENDING))
    number = int(version) if _NUMBER.fullmatch(version) else max(kept, default=0)
    return Logged(number, kept, pending, body["metadata"]["resourceVersion"])


def _packed(change: Change) -> str:
    return base64.b64encode(gzip.compress(change.written(), mtime=0)).decode()


def _unpacked(text: str | None) -> Change | None:
    """Return an entry; None for what nobody here wrote, which would stop all that comes after."""
    if text is None:
        return None
    try:
        return Change.read(zlib.decompressobj(wbits=31).decompress(base64.b64decode(text), MOST_UNPACKED))
    except (ValueError, zlib.error) as error:
        log.warning("the log of changes of queues has an entry that cannot be read: %s", error)
        return None
