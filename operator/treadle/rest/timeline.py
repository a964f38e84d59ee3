"""The reader of YARN's timeline service v2, ``/ws/v2/timeline`` (``TimelineReaderWebServices`` of Hadoop 3.4), answered from our history: flows, their runs, applications and attempts.

Single containers are not kept, and nobody writes entities of their own here. Filters over infos, metrics, events and relations are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.rest import timeline_shapes as shapes
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.rest.sight import Sight
from treadle.rest.yarn_cluster import HADOOP
from treadle.rest.yarn_filters import bad
from treadle.rest.yarn_history import attempt_of
from treadle.rest.yarn_ids import checked, id_of

if TYPE_CHECKING:
    from treadle.history.runs import Run
    from treadle.history.said import Said
    from treadle.history.store import Store
    from treadle.kube.reviews import User
    from treadle.rest.past import Past
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sees
    from treadle.rest.state import Sources
    from treadle.rest.yarn_cluster import About

Json = dict[str, Any]
Rows = list[tuple[int, "Run"]]
BASE: Final = "/ws/v2/timeline"
LIMIT: Final = 100
MOST: Final = 1000
"""Entities that are told at once."""
MOST_READ: Final = 5000
"""Runs that are read for an answer."""
MOST_SAID: Final = 100
"""Events of ours that are told of an application."""
FLOWS: Final = ("limit", "daterange", "fromid")
RUNS: Final = ("limit", "createdtimestart", "createdtimeend", "metricstoretrieve", "fields", "fromid")
APPS: Final = (*RUNS, "metricslimit")
UIDS: Final = {
    "flow_uid": ("cluster", "user", "flow"),
    "run_uid": ("cluster", "user", "flow", "run"),
    "app_uid": ("cluster", "user", "flow", "run", "id"),
    "entity_uid": ("cluster", "id", "type", "prefix", "entity"),
}
"""What the parts of a UID name."""
CONTEXT: Final = (("userid", "user"), ("flowname", "flow"), ("flowrunid", "run"))
"""What names a run of an application besides its id: the parameter, and the part of a UID."""
ONE: Final = ("metricstoretrieve", "fields", "metricslimit", "userid", "flowname", "flowrunid")


@dataclass(frozen=True, slots=True)
class Page:
    """Which of a list are asked for: how many, from which one on (empty: the first), and when they were made, in ms since 1970."""

    limit: int
    first: str
    begin: int
    end: int

    def of(self, found: Iterable[Json]) -> list[Json]:
        """Return those of a list, which has the newest first."""
        shown: list[Json] = []
        begun = not self.first
        for one in found:
            begun = begun or one["info"]["FROM_ID"] == self.first
            if begun and self.begin <= one.get("createdtime", self.begin) <= self.end:
                shown.append(one)
            if len(shown) == self.limit:
                break
        return shown


def routes(door: Door, sources: Sources, about: About, past: Past) -> list[web.RouteDef]:
    """Return the routes, each with the name of the cluster and without."""
    served = Reader(Sight(door.asker, sources.view), sources, about, past)
    flow = "/users/{user}/flows/{flow}"
    told = {
        "/flows": served.flows,
        f"{flow}/runs": served.runs,
        f"{flow}/runs/{{run}}": served.run,
        f"{flow}/runs/{{run}}/apps": served.apps,
        f"{flow}/apps": served.apps,
        "/apps/{id}": served.app,
        "/apps/{id}/entity-types": served.types,
        "/apps/{id}/entities/{type}": served.entities,
        "/apps/{id}/entities/{type}/{entity}": served.entity,
        "/apps/{id}/appattempts": served.attempts,
        "/apps/{id}/appattempts/{entity}": served.entity,
        "/apps/{id}/appattempts/{attempt}/containers": served.containers,
    }
    by_uid = {
        "/flow-uid/{flow_uid}/runs": served.runs,
        "/run-uid/{run_uid}": served.run,
        "/run-uid/{run_uid}/apps": served.apps,
        "/app-uid/{app_uid}": served.app,
        "/app-uid/{app_uid}/entities/{type}": served.entities,
        "/entity-uid/{entity_uid}": served.entity,
    }
    found = [("", served.about), ("/health", served.health), *told.items(), *by_uid.items()]
    found += [(f"/clusters/{{cluster}}{path}", handler) for path, handler in told.items()]
    return [web.get(f"{BASE}{path}", door(handler), allow_head=False) for path, handler in found]


class Reader:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources, about: About, past: Past) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources, self._about, self._past = sight, sources, about, past

    async def about(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - anybody with a token may know it
        """Return what serves."""
        only(request)
        said = {"About": "Timeline Reader API"}
        for name, own in (("timeline-service", f"Treadle {self._about.version}"), ("hadoop", HADOOP)):
            said |= {f"{name}-version": own, f"{name}-build-version": own, f"{name}-version-built-on": ""}
        return answer(said)

    async def health(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - anybody with a token may know it
        """Return whether the history can be read."""
        only(request)
        try:
            await self._past.read(lambda store: list(store.runs(most=1)))
        except Refused as refused:
            return answer({"healthStatus": "READER_CONNECTION_FAILURE", "diagnosticsInfo": refused.message})
        return answer({"healthStatus": "RUNNING", "diagnosticsInfo": ""})

    async def flows(self, request: web.Request, user: User) -> web.Response:
        """Return what flows did on which day, the newest first."""
        only(request, *FLOWS)
        page = page_of(request)
        since, until = days_of(request.query.get("daterange", ""))
        of_day: dict[tuple[int, str, str], Rows] = {}
        for key, run in await self._seen(request, user, since / 1000):
            if since <= shapes.day_of(run) <= until:
                of_day.setdefault((shapes.day_of(run), run.user, run.application), []).append((key, run))
        newest = sorted(of_day.values(), key=lambda rows: (-shapes.day_of(rows[0][1]), -rows[0][1].started))
        return answer(page.of(shapes.flow(rows) for rows in newest))

    async def runs(self, request: web.Request, user: User) -> web.Response:
        """Return the runs of a flow, the newest first."""
        only(request, *RUNS)
        page, shown = page_of(request), shown_of(request, runs=True)
        found = await self._of_flow(request, user)
        return answer(page.of(shapes.flow_run(run, self._about.now(), shown) for _, run in found))

    async def run(self, request: web.Request, user: User) -> web.Response:
        """Return a run of a flow, with its metrics."""
        only(request, "metricstoretrieve")
        for _, run in await self._of_flow(request, user):
            shown = shapes.Shown(frozenset({shapes.METRICS}), shown_of(request).metrics)
            return answer(shapes.flow_run(run, self._about.now(), shown))
        named = names_of(request)
        words = f"Flow run {{flow name: {named['flow'][:128]}, run id: {named['run'][:128]} }} is not found"
        raise Refused(404, f"java.lang.Exception: {words}")

    async def apps(self, request: web.Request, user: User) -> web.Response:
        """Return the applications of a flow, or of one of its runs: one for each run."""
        only(request, *APPS)
        page, shown = page_of(request), shown_of(request)
        found = await self._of_flow(request, user)
        now = self._about.now()
        return answer(page.of(shapes.application(key, run, (), now, shown) for key, run in found))

    async def app(self, request: web.Request, user: User) -> web.Response:
        """Return an application with the last of its runs, or the one that is named, and what was said of it then."""
        only(request, *ONE)
        shown = shown_of(request)
        key, run = (await self._of_app(request, user))[0]
        said = await self._said(run) if shown.has(shapes.EVENTS) else []
        return answer(shapes.application(key, run, said, self._about.now(), shown))

    async def types(self, request: web.Request, user: User) -> web.Response:
        """Return the types of entities that are kept of an application."""
        only(request)
        await self._of_app(request, user)
        return answer([shapes.APPLICATION, shapes.ATTEMPT])

    async def attempts(self, request: web.Request, user: User) -> web.Response:
        """Return the runs of an application as its attempts, the newest first."""
        only(request, *APPS)
        return answer(await self._entities(request, user, shapes.ATTEMPT))

    async def entities(self, request: web.Request, user: User) -> web.Response:
        """Return the entities of a type; of types that are not kept there are none."""
        only(request, *APPS)
        return answer(await self._entities(request, user, names_of(request)["type"]))

    async def entity(self, request: web.Request, user: User) -> web.Response:
        """Return one entity."""
        only(request, *ONE, "entityidprefix")
        names, shown = names_of(request), shown_of(request)
        kind, named = names.get("type", shapes.ATTEMPT), names["entity"]
        prefix = request.query.get("entityidprefix", names.get("prefix", "0"))
        for key, run in await self._of_app(request, user) if prefix == "0" else ():
            if kind == shapes.ATTEMPT and named == attempt_of(key, run):
                return answer(shapes.attempt(key, run, self._about.now(), shown))
            if kind == shapes.APPLICATION and named == id_of(run.application):
                return answer(shapes.application(key, run, (), self._about.now(), shown))
        raise Refused(404, f"java.lang.Exception: Timeline entity {{id: {named[:128]}, type: {kind[:128]} }} is not found")

    async def containers(self, request: web.Request, user: User) -> web.Response:
        """Return the containers of an attempt, of which none are kept."""
        only(request, *APPS)
        await self._of_app(request, user)
        return answer([])

    async def _entities(self, request: web.Request, user: User, kind: str) -> list[Json]:
        page, shown, now = page_of(request), shown_of(request), self._about.now()
        found = await self._of_app(request, user)
        if kind == shapes.ATTEMPT:
            return page.of(shapes.attempt(key, run, now, shown) for key, run in found)
        if kind == shapes.APPLICATION:
            return page.of(shapes.application(key, run, (), now, shown) for key, run in found[:1])
        return []

    async def _said(self, run: Run) -> list[Said]:
        """Return what was said of an application from the making of a run's first pod to its end."""

        def read(store: Store) -> list[Said]:
            from treadle.history.said import Wanted

            return list(store.events(Wanted(run.application, since=run.submitted, most=MOST_SAID)))

        until = run.ended or self._about.now()
        return [one for one in await self._past.read(read) if one.at <= until]

    async def _seen(self, request: web.Request, user: User, since: float = 0.0, application: str = "") -> Rows:
        """Return the runs that a user may see, the newest first."""
        self._sources.check_leads()
        if names_of(request).get("cluster", shapes.CLUSTER) != shapes.CLUSTER:
            return []
        sees: Sees
        if await self._sight.all_queues(user):
            sees = _everything
        elif application:
            sees = await self._sight.of_members(user, "", application.partition("/")[0], "applications")
        else:
            sees = await self._sight.of_queues(user)
        found = await self._past.read(
            lambda store: [
                (key, run)
                for key, run in store.numbered_runs("" if "*" in application else application, since=since, most=MOST_READ)
                if application in {"", run.application}
            ]
        )
        return [(key, run) for key, run in found if sees(run.queue)]

    async def _of_flow(self, request: web.Request, user: User) -> Rows:
        """Return the runs of the flow that a path names, or the one run of it that it names."""
        names = names_of(request)
        who, which = names["user"], names.get("run", "")
        if which and re.fullmatch(r"[0-9]{1,18}", which, re.ASCII) is None:
            raise bad("flowrunid is not a numeric value.")
        found = await self._seen(request, user, application=names["flow"])
        return [(key, run) for key, run in found if run.user == who and which in {"", str(shapes.run_id(run))}]

    async def _of_app(self, request: web.Request, user: User) -> Rows:
        """Return the runs of the application that a path names, the last one first; of its user, flow and run alone where those are named. Raises ``Refused`` where there is none."""
        names = names_of(request)
        named = checked(names["id"])
        self._sources.check_leads()
        identity = await self._past.read(lambda store: next((one for one in store.applications() if id_of(one) == named), ""))
        found = await self._seen(request, user, application=identity) if identity else []
        wanted = [request.query.get(asked, names.get(own, "")) for asked, own in CONTEXT]
        found = [
            (key, run) for key, run in found if all(one in {"", own} for one, own in zip(wanted, _context(run), strict=True))
        ]
        if not found:
            raise Refused(404, f"java.lang.Exception: App {named} not found")
        return found


def _context(run: Run) -> tuple[str, str, str]:
    return run.user, run.application, str(shapes.run_id(run))


def _everything(_: str) -> bool:
    return True


def names_of(request: web.Request) -> dict[str, str]:
    """Return what the parts of a path name, and those of a UID in it. Raises ``Refused``."""
    found = dict(request.match_info)
    for kind, parts in UIDS.items():
        if kind in found:
            named = shapes.parts_of(found[kind])
            if len(named) != len(parts):
                raise bad(f"Incorrect UID {found[kind][:256]}")
            found |= dict(zip(parts, named, strict=True))
    return found


def shown_of(request: web.Request, *, runs: bool = False) -> shapes.Shown:
    """Return which fields are asked for; of ``runs`` of flows there are metrics alone. Raises ``Refused``."""
    named = [one.strip() for one in request.query.get("fields", "").split(",") if one.strip()]
    for one in named:
        if one.upper() not in shapes.FIELDS:
            raise bad(f"{one[:64]} is not a valid field.")
        if runs and one.upper() not in {shapes.ALL, shapes.METRICS}:
            raise bad("Invalid fields specified in query. Only ALL and METRICS are allowed for flow runs.")
    prefixes = [one.strip() for one in request.query.get("metricstoretrieve", "").split(",") if one.strip()]
    if any(character in one for one in prefixes for character in "!()"):
        raise bad("metricstoretrieve: expressions are not read here; allowed are beginnings of names with commas between them")
    fields = frozenset({one.upper() for one in named} | ({shapes.METRICS} if prefixes else set()))
    return shapes.Shown(fields, prefixes, number_of(request, "metricslimit", 1) or 1)


def page_of(request: web.Request) -> Page:
    """Return which of a list are asked for. Raises ``Refused``."""
    limit = number_of(request, "limit", LIMIT)
    begin, end = number_of(request, "createdtimestart", 0), number_of(request, "createdtimeend", (1 << 63) - 1)
    return Page(min(limit, MOST) or LIMIT, request.query.get("fromid", ""), begin, end)


def number_of(request: web.Request, name: str, default: int) -> int:
    """Return a parameter that is a number. Raises ``Refused``."""
    text = request.query.get(name, "").strip()
    if not text:
        return default
    if re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) is None:
        raise bad(f"{name} is not a numeric value.")
    return int(text)


def days_of(text: str) -> tuple[int, int]:
    """Return the first and the last day of a ``daterange`` (``yyyyMMdd-yyyyMMdd``, one day, or one open end), in ms since 1970. Raises ``Refused``."""
    if not text:
        return 0, (1 << 63) - 1
    first, dash, last = text.partition("-")
    wrong = bad(f"Invalid date range {text[:64]}")
    begin = _day(first, wrong) if first else 0
    end = (_day(last, wrong) if last else (1 << 63) - 1) if dash else begin
    if begin > end or (dash and not first and not last):
        raise wrong
    return begin, end


def _day(text: str, wrong: Refused) -> int:
    if re.fullmatch(r"[0-9]{8}", text, re.ASCII) is None:
        raise wrong
    try:
        found = datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        raise wrong from None
    return (found - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
