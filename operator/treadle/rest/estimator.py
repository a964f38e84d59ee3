"""The resource estimator's REST, below ``/resourceestimator`` (``ResourceEstimatorService``), answered from the history.

A pipeline is an application of a namespace by its name, in which ``*`` stands for any letters; a run is the ms since 1970 at which its first pod started. Answers have the
shape that Hadoop's have (gson's, of ``RLESparseResourceAllocation`` and ``Map<RecurrenceId, List<ResourceSkyline>>``).
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web
from sqlalchemy.exc import SQLAlchemyError

from treadle.core.rules.reservations.estimator import InvalidHistory, NoAnswer
from treadle.history.estimates import ALL, Estimates
from treadle.history.skylines import asked, container_of, skyline_of
from treadle.history.store import NoHistory, OtherVersion
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import namespace_of, only

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.core.rules.reservations.over_time import OverTime
    from treadle.history.runs import Run
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door

Found = TypeVar("Found")

BASE = "/resourceestimator"
KIND = "applications"
MIB = 1 << 20
MOST_SOLVING = 2
"""Requests that wait for the solver at once, or are solved."""
THREADS = 2
"""Threads that read the history and solve: nothing else waits for them."""
LONGEST_NAME = 317
"""Characters of a name in a namespace that are looked for."""
_PACKAGE = "org.apache.hadoop.resourceestimator"
INVALID = f"{_PACKAGE}.solver.exceptions.InvalidInputException"
UNKNOWN = f"{_PACKAGE}.skylinestore.exceptions.RecurrenceIdNotFoundException"
UNSOLVED = f"{_PACKAGE}.solver.exceptions.SolverException"


def routes(door: Door, estimates: Estimates | None, problem: Callable[[], str]) -> list[web.RouteDef]:
    """Return the routes. ``estimates`` is None where no history is kept; ``problem`` says why nothing can be estimated, empty if it can."""
    served = Estimator(door, estimates, problem)
    return [
        web.post(f"{BASE}/translator/{{file:.+}}", door(served.translate)),
        web.get(f"{BASE}/estimator/{{pipeline}}", door(served.estimate)),
        web.get(f"{BASE}/skylinestore/history/{{pipeline}}/{{run}}", door(served.history)),
        web.delete(f"{BASE}/skylinestore/history/{{pipeline}}/{{run}}", door(served.delete)),
        web.get(f"{BASE}/skylinestore/estimation/{{pipeline}}", door(served.estimation)),
    ]


class Estimator:
    """Answers the requests. Use ``routes``."""

    def __init__(self, door: Door, estimates: Estimates | None, problem: Callable[[], str]) -> None:
        self._asker, self._estimates, self._problem = door.asker, estimates, problem
        self._solving = 0
        self._threads = ThreadPoolExecutor(THREADS, "estimates")

    async def translate(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - one signature
        """Refuse to read a log: a file of this machine is nobody's to name, and what applications use is known without."""
        raise Refused(
            403,
            "logs are not read: what applications of this cluster use is kept in the history by itself, and files of this machine are not opened",
        )

    async def estimate(self, request: web.Request, user: User) -> web.Response:
        """Return what the next run needs; it is made anew where runs have come since."""
        estimates, pattern = await self._allowed(request, user, "list")
        if why := self._problem():
            raise Refused(503, f"nothing can be estimated: {why}")
        if self._solving >= MOST_SOLVING:
            raise Refused(503, f"{MOST_SOLVING} estimates are being made, and no more are made at once", wait=5)
        self._solving += 1
        try:
            found = await self._in_thread(lambda: estimates.estimate(pattern))
        except InvalidHistory as error:
            raise Refused(400, f"{pattern}: {error}", INVALID) from error
        except NoAnswer as error:
            raise Refused(503, f"{pattern}: {error}", UNSOLVED) from error
        finally:
            self._solving -= 1
        return answer(_counted(found.prediction.over_time(), found.container))

    async def estimation(self, request: web.Request, user: User) -> web.Response:
        """Return the estimate that was made last by this copy, ``null`` where none was."""
        estimates, pattern = await self._allowed(request, user, "list")
        found = estimates.kept(pattern)
        if found is None:
            return answer(None)
        return answer(_counted(found.prediction.over_time(), found.container))

    async def history(self, request: web.Request, user: User) -> web.Response:
        """Return what runs used that are over."""
        estimates, pattern = await self._allowed(request, user, "list")
        run = request.match_info["run"]
        started = None if run == ALL else _started(run)
        found = await self._in_thread(lambda: estimates.runs(pattern, started))
        return answer([[_id_of(one), [_skyline(one)]] for one in found])

    async def delete(self, request: web.Request, user: User) -> web.Response:
        """Delete one run that is over."""
        estimates, application = await self._allowed(request, user, "delete")
        run = request.match_info["run"]
        if ALL in application or run == ALL:
            raise Refused(400, f"one run is deleted at a time, and {ALL} is none")
        started = _started(run)
        if not await self._in_thread(lambda: estimates.delete(application, started)):
            raise Refused(404, f"the history has no run {run} of application {application} that is over", UNKNOWN)
        return web.Response(status=204)

    async def _allowed(self, request: web.Request, user: User, verb: str) -> tuple[Estimates, str]:
        """Return what answers, and the application of a request whose user may do that. Raises ``Refused``."""
        only(request, "namespace")
        namespace = namespace_of(request, user)
        await self._asker.check(user, verb, KIND, namespace)
        if self._estimates is None:
            raise Refused(503, "no history is kept here (treadle run --history)")
        pipeline = request.match_info["pipeline"].removeprefix(f"{namespace}/")
        if len(pipeline) > LONGEST_NAME or "\0" in pipeline:
            raise Refused(400, f"{pipeline[:LONGEST_NAME]!r} is not the name of an application")
        return self._estimates, f"{namespace}/{pipeline}"

    async def _in_thread(self, ask: Callable[[], Found]) -> Found:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        except NoHistory as error:
            raise Refused(503, f"there is no history yet: {error}", wait=60) from error
        except (SQLAlchemyError, OtherVersion, OSError) as error:
            raise Refused(503, f"the history cannot be read: {getattr(error, 'orig', None) or error}", wait=5) from error


def _started(run: str) -> float:
    """Return when a run began, in seconds since 1970."""
    if not run.isascii() or not run.isdigit() or len(run) > 15:
        raise Refused(400, f"run {run[:64]!r} is none; allowed are ms since 1970, or {ALL} for all")
    return int(run) / 1000


def _id_of(run: Run) -> dict[str, str]:
    return {"pipelineId": run.application.partition("/")[2], "runId": str(round(run.started * 1000))}


def _skyline(run: Run) -> dict[str, Any]:
    """Return a run as ``ResourceSkyline``; times in its skyline are seconds since its first pod started."""
    container = container_of(run) if any(asked(step.amounts) for step in run.steps) else {}
    return {
        "jobId": str(round(run.started * 1000)),
        "jobInputDataSize": 0.0,
        "jobSubmissionTime": round(run.submitted * 1000),
        "jobFinishTime": round((run.ended or run.started) * 1000),
        "containerSpec": _resource(container),
        "skylineList": _counted(skyline_of(run, container).used, container),
        "outcome": run.outcome,
    }


def _counted(used: OverTime, container: Mapping[str, int]) -> dict[str, Any]:
    """Return containers over time as ``RLESparseResourceAllocation`` is written: from when on there is how much, nothing at the end."""
    steps = zip(used.times, used.values, strict=True)
    return {"resourceAllocation": {str(time): _resource(container, max(value, default=0)) for time, value in steps}}


def _resource(container: Mapping[str, int], count: int = 1) -> dict[str, int]:
    """Return containers as MiB and whole cores, each container's rounded up."""
    return {"memory": -(-container.get("memory", 0) // MIB) * count, "vcores": -(-container.get("cpu", 0) // 1000) * count}
