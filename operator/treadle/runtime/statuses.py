"""Writing the status of our own kinds: all of them looked at every few seconds, only differences written."""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from treadle.controllers.ledger import Entry, Ledger
from treadle.controllers.status import merge_patch, status_of
from treadle.core import Core
from treadle.core.views.view import View
from treadle.kube.patcher import Patcher, Write

log = logging.getLogger(__name__)


NUMBERS = {
    "fairShare",
    "steadyFairShare",
    "guaranteed",
    "maximum",
    "used",
    "usedCapacity",
    "pending",
    "inWords",
    "reserved",
    "opportunistic",
    "partitions",
    "headroom",
    "applications",
    "pods",
    "waiting",
    "eta",
}
"""What moves all the time in a busy cluster."""
NUMBERS_PER_SECOND = 25.0
"""How many objects a second are written because their numbers moved, at the most and on average; conditions are written at once."""
PART, LONGEST_REST = 0.02, 20.0
"""The part of a core that looking at statuses may take, where that makes the rests between two looks longer; seconds of the longest."""


class Statuses:
    """Compares what the status of every object should be with what it is."""

    def __init__(
        self,
        core: Core,
        ledger: Ledger,
        patcher: Patcher,
        every: float = 2.0,
        set_aside: Callable[[str, str], str] = lambda _kind, _name: "",
        refresh: Callable[[], object] | None = None,
        failing: Callable[[], str] = lambda: "",
        forecast: Callable[[Entry], dict[str, Any] | None] = lambda _entry: None,
        ending: Callable[[Entry], dict[str, Any]] = lambda _entry: {},
    ) -> None:
        self._core = core
        self._ledger = ledger
        self._patcher = patcher
        self._every = every
        self._set_aside = set_aside
        self._failing = failing
        self._forecast = forecast
        self._ending = ending
        self._refresh = refresh if refresh is not None else lambda: core.refresh_shares(time.monotonic())

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Write until cancelled, while ``may_write``."""
        took = 0.0
        while True:
            await asyncio.sleep(max(self._every, min(took / PART, LONGEST_REST)))
            if may_write():
                start = time.thread_time()
                try:
                    self.write()
                except Exception:
                    log.exception("statuses could not be computed")
                took = time.thread_time() - start

    def write(self) -> int:
        """Queue a patch for each object whose status is out of date and return how many there were."""
        self._refresh()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        apart = len(self._ledger.entries) / NUMBERS_PER_SECOND
        view = self._core.view
        return sum(self._write(entry, now, view, apart) for entry in self._ledger.entries.values())

    def write_reservation(self, identity: str) -> None:
        """Queue a patch for the status of a reservation now, if it is out of date: what was decided is not promised before it is written."""
        namespace, _, name = identity.partition("/")
        entry = self._ledger.entries.get(("Reservation", namespace, name))
        if entry is not None:
            self._write(entry, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), self._core.view)

    def _write(self, entry: Entry, now: str, view: View, apart: float = 0.0) -> bool:
        """Queue a patch for an object; returns whether its status was out of date. Where only numbers moved it is left until so many seconds after the last one."""
        try:
            status = self._status_of(entry, now, view)
        except Exception:
            log.exception("the status of %s %s could not be computed", entry.kind, entry.name)
            return False
        patch, clock = merge_patch(entry.status, status), time.monotonic()
        if not patch or (patch.keys() <= NUMBERS and clock < entry.written_at + apart):
            return False
        entry.written_at = clock
        body: dict[str, Any] = {"status": patch}
        done = _taken(entry, status)
        if "plannedGeneration" in patch or "accepted" in patch:
            # decided by what was read of the object: somebody else may have decided since, and that was promised
            body["metadata"] = {"resourceVersion": str(entry.version)}
            done = self._decided(entry, done)
        self._patcher.submit(f"status/{entry.uid}", Write(f"{entry.path}/status", body, done=done))
        return True

    def _decided(self, entry: Entry, done: Callable[[int], None]) -> Callable[[int], None]:
        def written(code: int) -> None:
            done(code)
            if code == 409:
                self._ledger.unwritten(entry)

        return written

    def _status_of(self, entry: Entry, now: str, view: View) -> dict[str, Any]:
        serving = self._ledger.scheduler
        known = f"{entry.namespace}/{entry.name}" if entry.namespace else entry.name
        name = "" if entry.kind == "Scheduler" and entry.name == serving else known
        of_application = entry.kind == "Application"
        forecast = self._forecast(entry) if of_application else None
        ending = self._ending(entry) if of_application else {}
        return status_of(entry, view, serving, now, self._set_aside(entry.kind, name), self._failing(), forecast, ending)


def _taken(entry: Entry, status: dict[str, object]) -> Callable[[int], None]:
    def done(code: int) -> None:
        if code < 300:
            entry.status = {key: value for key, value in status.items() if value is not None}

    return done
