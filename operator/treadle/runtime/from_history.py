"""Makes Reservations by itself for applications that run again and again, in queues that allow it (Morpheus, OSDI 2016).

Only the leader does, seldom, and off the loop: the history is read and the linear programs are solved in a thread. What somebody has edited is left alone, and so is what somebody else has reserved for the same names.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy.exc import SQLAlchemyError

from treadle.api.labels import MADE_FROM_HISTORY
from treadle.core.errors import CoreError
from treadle.history.proposing import Wishes
from treadle.history.recurring import Wanted, claims, differs, groups, ours, untouched, wanted
from treadle.history.store import NoHistory, OtherVersion, Store
from treadle.kube.errors import ApiError, KubeError
from treadle.rest.answers import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from treadle.controllers.ledger import Entry, Key
    from treadle.rest.objects import Objects
    from treadle.runtime.solver import Highs

log = logging.getLogger(__name__)

FIRST, EVERY = 60.0, 600.0
"""Seconds until the first look after the start, and between two."""
DAYS = 30.0
"""How far back runs are looked at."""
MOST_RUNS = 5_000
"""Runs of a queue that are read at most, the newest."""
DAY = 86_400.0


class Asked(NamedTuple):
    """A queue that allows it, by its path, and how."""

    path: str
    exclude: tuple[str, ...]
    zone: str
    reprovision: bool


class FromHistory:
    """Makes, writes anew and deletes. ``trouble`` is why it cannot, empty where it can; ``made`` counts what was done."""

    def __init__(
        self,
        url: str,
        entries: Mapping[Key, Entry],
        objects: Objects,
        solver: Highs,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url, self._entries, self._objects, self._solver, self._clock = url, entries, objects, solver, clock
        self.trouble = ""
        self.made = {"made": 0, "changed": 0, "deleted": 0}
        self._known: dict[tuple[str, str, str], tuple[tuple[tuple[str, float], ...], Asked, Wanted]] = {}
        """By queue, namespace and family what was found last, from which runs and for what."""
        self._over = False
        self._thread = ThreadPoolExecutor(1, "from-history")

    async def run(self, may: Callable[[], bool]) -> None:
        """Look until cancelled, while we may."""
        try:
            await asyncio.sleep(FIRST)
            while True:
                if may():
                    await self.look()
                await asyncio.sleep(EVERY)
        finally:
            self._over = True  # the thread ends with the application that it looks at

    async def look(self) -> None:
        """Bring the Reservations that were made up to the history of now."""
        asked = self._queues()
        if not asked:
            self.trouble = ""
            return
        try:
            self.trouble = await self._follow(asked)
        except (KubeError, Refused, SQLAlchemyError, OSError, OtherVersion) as error:
            self.trouble = f"reservations cannot be made from the history: {getattr(error, 'orig', None) or error}"
        except NoHistory:
            self.trouble = ""  # nothing has run yet
        except Exception as error:
            log.exception("a look at the history ended")
            self.trouble = f"reservations cannot be made from the history: {type(error).__name__}: {error}"
        if self.trouble:
            log.warning("%s", self.trouble)

    def _queues(self) -> list[Asked]:
        found = []
        for entry in self._entries.values():
            said = entry.from_history
            if said is not None:
                found.append(Asked(entry.name, tuple(said.exclude or ()), said.time_zone or "", bool(said.reprovision)))
        return sorted(found)

    async def _follow(self, asked: Iterable[Asked]) -> str:
        if self._solver.problem:
            return f"queues ask for reservations from the history: {self._solver.problem}"
        there: dict[str, list[dict[str, Any]]] = {}
        trouble, known = "", {}
        for one in asked:
            found = await asyncio.get_running_loop().run_in_executor(self._thread, self._wanted, one)
            for each in found:
                namespace = each.group.namespace
                known[one.path, namespace, each.group.family] = _runs_of(each), one, each
                try:
                    if namespace not in there:
                        there[namespace] = await self._objects.list(namespace)
                    if await self._one(one, each, there[namespace]):
                        del there[namespace]
                except (Refused, ApiError) as error:
                    there.pop(namespace, None)
                    if not (isinstance(error, Refused) and error.status == 404):  # else the namespace is gone
                        trouble = (
                            trouble
                            or f"a reservation for {each.group.family} in namespace {namespace} cannot be made from the history: {error}"
                        )
        self._known = known
        return trouble

    def _wanted(self, one: Asked) -> list[Wanted]:
        """Read and solve; in the thread."""
        now = self._clock()
        with closing(Store(self._url)) as store:
            store.check_there()
            runs = [run for run in store.runs("", one.path, now - DAYS * DAY, MOST_RUNS) if run.ended is not None]
        wishes = Wishes(zone=_zone(one.zone), reprovision=one.reprovision)
        found = []
        for group in groups(runs, one.exclude):
            if self._over:
                break
            before = self._known.get((one.path, group.namespace, group.family))
            if before is not None and before[:2] == (_runs_of(Wanted(group, None, "")), one):
                found.append(before[2])
                continue
            try:
                found.append(wanted(group, one.path, self._solver, now, wishes))
            except CoreError as error:
                found.append(Wanted(group, None, str(error)))
        return found

    async def _one(self, one: Asked, each: Wanted, there: list[dict[str, Any]]) -> bool:
        """Make what there should be, write it anew where it differs, delete what there should not be any more; returns whether anything was written. ``there`` are the objects of the namespace."""
        group = each.group
        mine = next((raw for raw in there if ours(raw) and raw["spec"]["queue"] == one.path and claims(raw, group.names)), None)
        if mine is None:
            if each.body is not None and not any(claims(raw, group.names) for raw in there):
                await self._make(each.body, {raw["metadata"]["name"] for raw in there})
                return True
            return False
        if not untouched(mine):
            return False
        name = f"{group.namespace}/{mine['metadata']['name']}"
        if each.body is None:
            if await self._objects.delete(mine, unchanged=True):
                self.made["deleted"] += 1
                log.info("reservation %s, which was made from the history, is deleted: %s", name, each.why)
            return True
        refused = (mine.get("status") or {}).get("phase") == "Rejected"
        if differs(mine["spec"], each.body["spec"]) or (refused and mine["spec"] != each.body["spec"]):
            notes = {**(mine["metadata"].get("annotations") or {}), **each.body["metadata"]["annotations"]}
            body = {**mine, "metadata": {**mine["metadata"], "annotations": notes}, "spec": each.body["spec"]}
            if await self._objects.replace(body) is not None:
                self.made["changed"] += 1
                log.info("reservation %s is written anew from the history", name)
            return True
        return False

    async def _make(self, body: dict[str, Any], taken: set[str]) -> None:
        meta = body["metadata"]
        if meta["name"] in taken:
            mark = meta["annotations"][MADE_FROM_HISTORY][:6]
            meta["name"] = f"{meta['name']}-{mark}"
        if await self._objects.create(body) is not None:
            self.made["made"] += 1
            log.info("reservation %s/%s is made from the history", meta["namespace"], meta["name"])


def _runs_of(one: Wanted) -> tuple[tuple[str, float], ...]:
    return tuple((run.application, run.started) for run in one.group.runs)


def _zone(name: str) -> ZoneInfo | None:
    return ZoneInfo(name) if name and name != "UTC" else None  # what is no zone makes its queue invalid
