"""The ResourceManager's web services that read, below ``/ws/v1/cluster`` (``RMWebServices``): for scripts that ask a ResourceManager, told by the leader to whoever may see it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.core.rules.placement.names import is_below
from treadle.rest import yarn_filters as filters
from treadle.rest import yarn_shapes as shapes
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.rest.sight import Sight
from treadle.rest.state import AT_ONCE
from treadle.rest.yarn_ids import checked, id_of
from treadle.rest.yarn_scheduler import Tree
from treadle.rest.yarn_xml import Writer, either

if TYPE_CHECKING:
    from treadle.core.views.nodes import NodeFigures
    from treadle.core.views.queue_details import QueueDetails
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sees
    from treadle.rest.state import Sources

Json = dict[str, Any]
BASE: Final = "/ws/v1/cluster"
ROOTS: Final = {"/apps/{id}/state": "appstate"}
"""What an answer is called in XML that is not called anything in JSON."""
HADOOP: Final = "3.4.2"
"""The version of Hadoop whose shapes these are."""


@dataclass(frozen=True, slots=True)
class About:
    """What is told of this copy and of what is over: when it started, in ms since 1970, its version, the time in seconds since 1970, and the statuses and times of making of Application objects by ``namespace/name``."""

    started: int
    version: str
    now: Callable[[], float]
    objects: Callable[[], Iterable[tuple[str, Mapping[str, Any], str]]]


def routes(door: Door, sources: Sources, about: About) -> list[web.RouteDef]:
    """Return the routes."""
    served = Cluster(Sight(door.asker, sources.view), sources, about)
    told = {
        "": served.info,
        "/info": served.info,
        "/metrics": served.metrics,
        "/scheduler": served.scheduler,
        "/apps": served.apps,
        "/apps/{id}": served.app,
        "/apps/{id}/state": served.app_state,
        "/nodes": served.nodes,
        "/nodes/{id}": served.node,
        "/appstatistics": served.statistics,
    }
    writer = Writer()
    return [
        web.get(f"{BASE}{path}", either(door(handler, xml=True), writer, ROOTS.get(path, "")), allow_head=False)
        for path, handler in told.items()
    ]


class Cluster:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources, about: About) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources, self._about = sight, sources, about

    async def info(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - anybody with a token may know it
        """Return what serves, whether it leads or not."""
        only(request)
        version = f"Treadle {self._about.version}"
        said = {
            "id": self._about.started,
            "startedOn": self._about.started,
            "state": "STARTED",
            "haState": "STANDBY" if self._sources.standing_by() else "ACTIVE",
            "rmStateStoreName": "kubernetes",
            "resourceManagerVersion": version,
            "resourceManagerBuildVersion": version,
            "resourceManagerVersionBuiltOn": "",
            "hadoopVersion": HADOOP,
            "hadoopBuildVersion": HADOOP,
            "hadoopVersionBuiltOn": "",
            "haZooKeeperConnectionState": "none: the leader is elected by a Lease of Kubernetes",
        }
        return answer({"clusterInfo": said})

    async def scheduler(self, request: web.Request, user: User) -> web.Response:
        """Return the queue tree, of the queues that a user may view."""
        only(request)
        self._sources.check_leads()
        sees = await self._sight.of_queues(user)
        details: dict[str, QueueDetails] = {}
        for number, path in enumerate(list(self._sources.view().paths())):
            one = self._sources.view().queue_details(path)
            if one is not None:
                details[path] = one
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
        return answer(Tree(self._sources.view(), sees, details).scheduler())

    async def metrics(self, request: web.Request, user: User) -> web.Response:
        """Return the sums over the cluster, to who may see nodes."""
        only(request)
        self._sources.check_leads()
        await self._sight.check_nodes(user)
        states: Counter[str] = Counter()
        async for _, one in self._apps(lambda _: True):
            states[one["state"]] += 1
        nodes = [one async for one in self._nodes()]
        return answer({"clusterMetrics": _metrics(self._sources.view(), states, nodes)})

    async def apps(self, request: web.Request, user: User) -> web.Response:
        """Return the applications that a user may see, the newest first."""
        only(request, *filters.APPS)
        asked = filters.filters_of(request)
        self._sources.check_leads()
        sees = await self._sight.of_queues(user)
        wanted = _in_queue(self._sources.view(), asked.queue, sees)
        found = [one async for path, one in self._apps(sees) if wanted(path) and asked.admit(one)]
        found.sort(key=lambda one: (-one["startedTime"], one["id"]))
        shown = [asked.shown(one) for one in found[: asked.limit]]
        return answer({"apps": {"app": shown} if shown else {}})

    async def app(self, request: web.Request, user: User) -> web.Response:
        """Return one application."""
        only(request, "deSelects")
        asked = filters.filters_of(request)
        return answer({"app": asked.shown(await self._one(request, user))})

    async def app_state(self, request: web.Request, user: User) -> web.Response:
        """Return the state of one application."""
        only(request)
        return answer({"state": (await self._one(request, user))["state"]})

    async def statistics(self, request: web.Request, user: User) -> web.Response:
        """Return how many applications, of those that a user may see, are in which state."""
        only(request, "states", "applicationTypes")
        states, types = filters.states_of(request, "states"), filters.several(request, "applicationTypes")
        if len(types) > 1:
            raise filters.bad(f"# of applicationTypes = {len(types)}, we temporarily support at most one applicationType")
        self._sources.check_leads()
        sees = await self._sight.of_queues(user)
        counts: Counter[str] = Counter()
        async for _, one in self._apps(sees):
            counts[one["state"]] += not types or types[0].lower() == one["applicationType"].lower()
        type_ = types[0].lower() if types else "*"
        items = [{"state": one, "type": type_, "count": counts[one]} for one in shapes.APP_STATES if not states or one in states]
        return answer({"appStatInfo": {"statItem": items}})

    async def nodes(self, request: web.Request, user: User) -> web.Response:
        """Return the nodes."""
        only(request, "states")
        states = filters.node_states_of(request)
        self._sources.check_leads()
        await self._sight.check_nodes(user)
        asked = (one async for one in self._nodes() if not states or shapes.OF_NODE[one.state] in states)
        found = [shapes.node(one, self._about.now()) async for one in asked]
        return answer({"nodes": {"node": found} if found else {}})

    async def node(self, request: web.Request, user: User) -> web.Response:
        """Return one node."""
        only(request)
        named = request.match_info["id"]
        name, colon, port = named.rpartition(":")
        if not colon or not port.isascii() or not port.isdecimal():
            raise Refused(400, f"Invalid NodeId [{named[:256]}]. Expected host:port", filters.ILLEGAL)
        self._sources.check_leads()
        await self._sight.check_nodes(user)
        one = self._sources.view().node(name) if int(port) == shapes.PORT else None
        if one is None:
            raise Refused(404, f"java.lang.Exception: nodeId, {named[:256]}, is not found")
        return answer({"node": shapes.node(one, self._about.now())})

    async def _nodes(self) -> AsyncIterator[NodeFigures]:
        """Yield the nodes by their names."""
        for number, name in enumerate(sorted(self._sources.view().node_names())):
            one = self._sources.view().node(name)
            if one is not None:
                yield one
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)

    async def _one(self, request: web.Request, user: User) -> Json:
        """Return the application that a request names, to whom it is to be seen. Raises ``Refused``."""
        named = checked(request.match_info["id"])
        self._sources.check_leads()
        unknown = Refused(404, f"java.lang.Exception: app with id: {named} not found")
        identities = (*self._sources.view().applications(), *(identity for identity, _, _ in self._about.objects()))
        identity = next((one for one in identities if id_of(one) == named), "")
        if not identity:
            raise unknown
        sees = await self._sight.of_members(user, "", identity.partition("/")[0], "applications")
        async for _, one in self._apps(sees, identity):
            return one
        raise unknown

    async def _apps(self, sees: Sees, only_one: str = "") -> AsyncIterator[tuple[str, Json]]:
        """Yield the applications that may be seen, with the paths of their queues: those with pods, then those whose objects say that they are over."""
        paths = dict(self._sources.view().applications())
        named = [only_one] if only_one else list(paths)
        for number, identity in enumerate(named):
            path = paths.get(identity)
            if path is not None and sees(path):
                view = self._sources.view()
                one = view.application_details(identity)
                if one is not None:
                    queue = view.queue(path) if path else None
                    share = {} if queue is None else queue.fair_share if queue.shows_shares else queue.here.guaranteed
                    partitions = view.discipline == "Capacity"
                    yield path, shapes.app(identity, one, self._about.now(), view.total, share, partitions=partitions)
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
        for identity, status, made in list(self._about.objects()):
            path = status.get("queue") or ""
            over = identity not in paths and shapes.OF_PHASE.get(status.get("phase") or "", ("",))[0] in shapes.OVER
            if over and only_one in {"", identity} and sees(path):
                yield path, shapes.ended(identity, status, _time(made), _finished(status))


def _in_queue(view: View, named: str, sees: Sees) -> Callable[[str], bool]:
    """Return whether an application of a queue is asked for: of the one that is named or one below it. Under the capacity discipline the last part of a path is a name as well, and what is none is refused, as in YARN."""
    if not named:
        return lambda _: True
    seen = [path for path in view.paths() if sees(path)]
    if view.discipline != "Capacity":
        return lambda path: is_below(path, named)
    meant = [path for path in seen if path == named] or [path for path in seen if path.rpartition(".")[2] == named]
    if not meant:
        raise filters.bad(f"Unknown queue: {named[:256]}")
    return lambda path: any(is_below(path, one) for one in meant)


def _time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _finished(status: Mapping[str, Any]) -> float | None:
    """Return when an application's object last changed its mind about itself: the newest time in its conditions."""
    times = [_time(str(one.get("lastTransitionTime") or "")) for one in status.get("conditions") or ()]
    return max((one for one in times if one is not None), default=None)


def _metrics(view: View, states: Counter[str], nodes: list[NodeFigures]) -> Json:
    """Return ``ClusterMetricsInfo``."""
    counts = view.counts()
    root = view.queue_details("root")
    assert root is not None
    of_nodes = Counter(shapes.OF_NODE[one.state] for one in nodes)
    free: Counter[str] = Counter()
    for one in nodes:
        if shapes.OF_NODE[one.state] == "RUNNING":
            free.update({name: max(0, value) for name, value in one.free.items()})
    total = view.total
    said: Json = {
        "appsSubmitted": states.total(),
        "appsCompleted": states["FINISHED"],
        "appsPending": states["SUBMITTED"] + states["ACCEPTED"],
        "appsRunning": states["RUNNING"],
        "appsFailed": states["FAILED"],
        "appsKilled": states["KILLED"],
    }
    amounts = {"reserved": root.held, "available": free, "allocated": root.used, "pending": root.pending, "total": total}
    for name, amount in amounts.items():
        down = name in {"available", "total"}
        said[f"{name}MB"] = shapes.mebibytes(amount, down=down)
        said[f"{name}VirtualCores"] = shapes.cores(amount, down=down)
    unknown = (
        "utilizedMB", "utilizedVirtualCores", "utilizedMBPercent", "utilizedVirtualCoresPercent", "rmSchedulerBusyPercent",
        "containerAssignedPerSecond", "rmEventQueueSize", "schedulerEventQueueSize",
    )  # fmt: skip
    said |= {
        **dict.fromkeys(unknown, shapes.UNKNOWN),
        "containersAllocated": root.pods,
        "containersReserved": counts.holds,
        "containersPending": root.waiting,
        "totalNodes": len(nodes),
        "activeNodes": of_nodes["RUNNING"],
        "lostNodes": of_nodes["LOST"],
        "unhealthyNodes": 0,
        "decommissioningNodes": of_nodes["DECOMMISSIONING"],
        "decommissionedNodes": 0,
        "rebootedNodes": 0,
        "shutdownNodes": 0,
        "totalAllocatedContainersAcrossPartition": root.pods,
        "crossPartitionMetricsAvailable": view.discipline == "Capacity",
    }
    if view.discipline == "Capacity":
        said |= {
            "totalUsedResourcesAcrossPartition": shapes.resource(root.used),
            "totalClusterResourcesAcrossPartition": shapes.resource(total, down=True),
            "totalReservedResourcesAcrossPartition": shapes.resource(root.held),
        }
    return said
