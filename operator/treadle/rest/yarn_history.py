"""The web services of YARN's generic history, ``/ws/v1/applicationhistory`` (``AHSWebServices`` of Hadoop 3.4), answered from our history.

An application is told once, with the last of its runs; a run is an attempt, numbered by its row in the store. Single containers are not kept.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.rest import yarn_filters as filters
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.rest.sight import Sight
from treadle.rest.yarn_cluster import HADOOP
from treadle.rest.yarn_ids import checked, id_of
from treadle.rest.yarn_shapes import MIB, OVER, TYPE, UNKNOWN, milliseconds

if TYPE_CHECKING:
    from treadle.history.runs import Run
    from treadle.history.store import Store
    from treadle.kube.reviews import User
    from treadle.rest.past import Past
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sees
    from treadle.rest.state import Sources
    from treadle.rest.yarn_cluster import About

Json = dict[str, Any]
BASE: Final = "/ws/v1/applicationhistory"
APPS: Final = (
    "state", "states", "finalStatus", "user", "queue", "limit", "startedTimeBegin", "startedTimeEnd", "finishedTimeBegin",
    "finishedTimeEnd", "applicationTypes", "name",
)  # fmt: skip
"""The parameters of a list of applications."""
NUMBERS: Final = ("limit", "startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd")
MOST: Final = 1000
"""Applications that are told at once; YARN's limit is ``yarn.timeline-service.generic-application-history.max-applications``."""
MOST_READ: Final = 5000
"""Runs that are read for a list of applications."""
NONE: Final = "N/A"
OF_OUTCOME: Final = {
    "Succeeded": ("FINISHED", "SUCCEEDED"),
    "Failed": ("FAILED", "FAILED"),
    "Deleted": ("KILLED", "KILLED"),
}
"""The state and the final status by how a run ended; of one of which that is not known it is said that it has ended."""
_ATTEMPT = re.compile(r"appattempt_([0-9]{1,19})_([0-9]{1,10})_([0-9]{1,18})", re.ASCII)
_EXCEPTIONS: Final = "org.apache.hadoop.yarn.exceptions"


def routes(door: Door, sources: Sources, about: About, past: Past) -> list[web.RouteDef]:
    """Return the routes."""
    served = Generic(Sight(door.asker, sources.view), sources, about, past)
    told = {
        "": served.apps,
        "/about": served.about,
        "/apps": served.apps,
        "/apps/{id}": served.app,
        "/apps/{id}/appattempts": served.attempts,
        "/apps/{id}/appattempts/{attempt}": served.attempt,
        "/apps/{id}/appattempts/{attempt}/containers": served.containers,
        "/apps/{id}/appattempts/{attempt}/containers/{container}": served.container,
    }
    return [web.get(f"{BASE}{path}", door(handler), allow_head=False) for path, handler in told.items()]


class Generic:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources, about: About, past: Past) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources, self._about, self._past = sight, sources, about, past

    async def about(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - anybody with a token may know it
        """Return what serves."""
        only(request)
        version = f"Treadle {self._about.version}"
        said = {"About": "Generic History Service API"}
        for name, own in (("timeline-service", version), ("hadoop", HADOOP)):
            said |= {f"{name}-version": own, f"{name}-build-version": own, f"{name}-version-built-on": ""}
        return answer(said)

    async def apps(self, request: web.Request, user: User) -> web.Response:
        """Return the applications that a user may see, each with its last run, those that began last first."""
        only(request, *APPS)
        for name in NUMBERS:
            if text := request.query.get(name, ""):
                _check_number(text)
        asked = filters.filters_of(request)
        for one in sorted(asked.states - OVER):
            raise filters.bad(f"Invalid application-state {one.lower()} specified. It should be a final state")
        # Who began at the very time from which on they are asked for is not told, as in YARN.
        asked = replace(asked, started=(asked.started[0] + ("startedTimeBegin" in request.query), asked.started[1]))
        self._sources.check_leads()
        sees = await self._sight.of_queues(user)
        everything = await self._sight.all_queues(user)
        since = asked.started[0] / 1000 if "startedTimeBegin" in request.query else 0.0

        def read(store: Store) -> list[tuple[int, Run]]:
            return list(store.numbered_runs(queue=asked.queue, since=since, most=MOST_READ))

        newest: dict[str, Json] = {}
        now = self._about.now()
        for key, run in await self._past.read(read):
            if run.application in newest or not (everything or sees(run.queue)) or asked.queue not in {"", run.queue}:
                continue
            newest[run.application] = app(key, run, now)
        found = [one for one in newest.values() if _admits(asked, one)]
        return answer({"app": found[: min(asked.limit, MOST)]})

    async def app(self, request: web.Request, user: User) -> web.Response:
        """Return one application."""
        only(request)
        key, run = (await self._runs(request, user))[0]
        return answer(app(key, run, self._about.now()))

    async def attempts(self, request: web.Request, user: User) -> web.Response:
        """Return the runs of an application, the first one first."""
        only(request)
        found = await self._runs(request, user)
        return answer({"appAttempt": [attempt(key, run) for key, run in reversed(found)]})

    async def attempt(self, request: web.Request, user: User) -> web.Response:
        """Return one run of an application."""
        only(request)
        return answer(attempt(*await self._attempt(request, user)))

    async def containers(self, request: web.Request, user: User) -> web.Response:
        """Return the containers of a run, of which none are kept."""
        only(request)
        await self._attempt(request, user)
        return answer({"container": []})

    async def container(self, request: web.Request, user: User) -> web.Response:
        """Refuse: single containers are not kept."""
        only(request)
        await self._attempt(request, user)
        named = request.match_info["container"][:128]
        words = f"The entity for container {named} doesn't exist in the timeline store: single containers are not kept"
        raise Refused(404, f"{_EXCEPTIONS}.ContainerNotFoundException: {words}")

    async def _runs(self, request: web.Request, user: User) -> list[tuple[int, Run]]:
        """Return the runs of the application that a request names, the last one first. Raises ``Refused``."""
        named = checked(request.match_info["id"])
        self._sources.check_leads()
        words = f"The entity for application {named} doesn't exist in the timeline store"
        unknown = Refused(404, f"{_EXCEPTIONS}.ApplicationNotFoundException: {words}")
        identity = await self._past.read(lambda store: next((one for one in store.applications() if id_of(one) == named), ""))
        if not identity:
            raise unknown
        sees: Sees = await self._sight.of_members(user, "", identity.partition("/")[0], "applications")
        everything = await self._sight.all_queues(user)
        found = await self._past.read(lambda store: list(store.numbered_runs(application=identity, most=MOST)))
        seen = [(key, run) for key, run in found if everything or sees(run.queue)]
        if not seen:
            raise unknown
        return seen

    async def _attempt(self, request: web.Request, user: User) -> tuple[int, Run]:
        """Return the run that a request names. Raises ``Refused``."""
        text = request.match_info["attempt"]
        named = _ATTEMPT.fullmatch(text)
        if named is None:
            what = "Invalid AppAttemptId" if text.startswith("appattempt_") else "Invalid AppAttemptId prefix"
            raise Refused(400, f"java.lang.IllegalArgumentException: {what}: {text[:128]}")
        own = checked(request.match_info["id"])
        if f"application_{int(named[1])}_{int(named[2]):04}" != own:
            raise Refused(404, "java.lang.Exception: appId and appAttemptId don't match")
        for key, run in await self._runs(request, user):
            if key == int(named[3]):
                return key, run
        words = f"The entity for application attempt {text} doesn't exist in the timeline store"
        raise Refused(404, f"{_EXCEPTIONS}.ApplicationAttemptNotFoundException: {words}")


def _check_number(text: str) -> None:
    """Raise ``Refused`` for what is no whole number, in the words that the history server has for it."""
    if re.fullmatch(r"[-+]?[0-9]{1,18}", text, re.ASCII) is None:
        raise Refused(400, f'For input string: "{text[:64]}"', "java.lang.NumberFormatException")


def _admits(asked: filters.Filters, one: Json) -> bool:
    own = {"state": one["appState"], "finalStatus": one["finalAppStatus"], "applicationType": one["type"], "applicationTags": ""}
    return asked.admit({**one, **own})


def state_of(run: Run) -> tuple[str, str]:
    """Return the state and the final status of a run."""
    return ("RUNNING", "UNDEFINED") if run.ended is None else OF_OUTCOME.get(run.outcome, ("FINISHED", "ENDED"))


def attempt_of(key: int, run: Run) -> str:
    """Return the id of a run by its row in the store."""
    return f"{id_of(run.application).replace('application', 'appattempt', 1)}_{key:06}"


def app(key: int, run: Run, now: float) -> Json:
    """Return a run as ``AppInfo`` of ``org.apache.hadoop.yarn.server.webapp.dao``. ``now`` is in seconds since 1970."""
    from treadle.history.runs import used

    state, final = state_of(run)
    last = run.steps[-1] if run.steps and run.ended is None else None
    amounts = {} if last is None else last.amounts
    total = used(run.steps, run.ended or now)
    megabytes, cores = round(total.get("memory", 0.0) / MIB), round(total.get("cpu", 0.0) / 1000)
    return {
        "appId": id_of(run.application),
        "currentAppAttemptId": attempt_of(key, run),
        "user": run.user,
        "name": run.application,
        "queue": run.queue,
        "type": TYPE,
        "host": NONE,
        "rpcPort": -1,
        "appState": state,
        "runningContainers": 0 if last is None else last.pods,
        "progress": 0.0 if run.ended is None else 100.0,
        "diagnosticsInfo": diagnostics_of(run),
        "originalTrackingUrl": NONE,
        "trackingUrl": NONE,
        "finalAppStatus": final,
        "submittedTime": milliseconds(run.submitted),
        "startedTime": milliseconds(run.submitted),
        "launchTime": milliseconds(run.started),
        "finishedTime": milliseconds(run.ended),
        "elapsedTime": milliseconds(max(0.0, (run.ended or now) - run.submitted)),
        "priority": 0,
        "allocatedCpuVcores": -(-amounts.get("cpu", 0) // 1000),
        "allocatedMemoryMB": -(-amounts.get("memory", 0) // MIB),
        "allocatedGpus": amounts.get("nvidia.com/gpu", 0),
        **dict.fromkeys(("reservedCpuVcores", "reservedMemoryMB", "reservedGpus"), 0 if last is None else UNKNOWN),
        "unmanagedApplication": True,
        "aggregateResourceAllocation": f"{megabytes} MB-seconds, {cores} vcore-seconds",
    }


def diagnostics_of(run: Run) -> str:
    """Return how the pods of a run that has ended did."""
    if run.ended is None:
        return ""
    return f"{run.pods} pods: {run.succeeded} succeeded, {run.failed} failed, {run.deleted} were deleted"


def attempt(key: int, run: Run) -> Json:
    """Return a run as ``AppAttemptInfo``."""
    state, _ = state_of(run)
    return {
        "appAttemptId": attempt_of(key, run),
        "host": NONE,
        "rpcPort": -1,
        "trackingUrl": NONE,
        "originalTrackingUrl": NONE,
        "diagnosticsInfo": diagnostics_of(run),
        "appAttemptState": state,
        "startedTime": milliseconds(run.started),
        "finishedTime": milliseconds(run.ended),
    }
