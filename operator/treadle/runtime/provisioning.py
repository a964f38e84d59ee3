"""Asking an autoscaler for the nodes of gangs: ProvisioningRequests follow what the core says that gangs lack, by level.

Everything is read again every few seconds: which gangs lack what, which requests there are. So it does not matter who made a request, or what was missed.
A request is made when its gang has waited for nodes for a while, followed by another when it was in vain, replaced when the gang lacks something else, and deleted
when its gang has started or is gone.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from treadle.core.events import Event, GangRequested, ProvisionerKnown
from treadle.core.model.gangs import RequestPhase
from treadle.core.views.provisioning import Lack
from treadle.core.views.view import View
from treadle.kube import provisioning as p
from treadle.kube import wire
from treadle.kube.errors import KubeError
from treadle.kube.reflector import Change
from treadle.kube.transport import Client
from treadle.runtime.discovered import LOOK_EVERY, Discovered

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two looks."""
PATIENCE = 5.0
"""Seconds for which a gang has found no room before nodes are asked for: others may be about to end."""
MOST = 100
"""Requests at a time: those who have waited longest go first."""
REFUSED_FOR = 30.0
"""Seconds before a request that could not be made is made again."""
MISSED_FOR = 30.0
"""Seconds for which a request stays whose gang lacks pods that may be made anew."""

Gang = tuple[str, str]


class NotMade(Exception):
    """A request that could not be made; the message says why."""


class Provisioner:
    """Keeps the ProvisioningRequests of one scheduler as they should be; ``view`` is the core as it is now, ``put`` takes what the core has to know."""

    def __init__(
        self,
        client: Client,
        scheduler: str,
        view: Callable[[], View],
        put: Callable[[Event], None],
        every: float = EVERY,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self.counts = dict.fromkeys(("requested", "refused", "provisioned", "failed"), 0)
        """Requests that were made, those that could not be, and those that the autoscaler has answered since, each once for each answer."""
        self._client, self._scheduler, self._view, self._put, self._every = client, scheduler, view, put, every
        self._kind = Discovered(
            client, "ProvisioningRequests", p.VERSIONS, p.RESOURCE, wire.ProvisioningRequest, self._take, self._served, look_every
        )
        self._known: dict[str, p.Known] = {}
        """Our requests, by uid."""
        self._deleted: set[str] = set()
        """Those that we have deleted, until the watch says so."""
        self._whole: set[str] = set()
        """Those whose PodTemplates are known to be there."""
        self._told: dict[Gang, tuple[str, str]] = {}
        self._again: dict[Gang, float] = {}
        """When a request that could not be made may be made again."""
        self._missed: dict[Gang, float] = {}
        """Since when a gang for which nodes were asked lacks pods."""
        self._consumed: dict[Gang, tuple[tuple[str, str], ...]] = {}

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Follow until cancelled, while ``may_write``."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kind.run(), name="provisioning-requests")
            group.create_task(self._follow(may_write), name="provisioning")

    def notes(self, application: str, gang: str) -> tuple[tuple[str, str], ...]:
        """Return the annotations of a pod that is bound to what was asked for its gang; none if nothing was."""
        return self._consumed.get((application, gang), ())

    @property
    def asks(self) -> bool:
        """Whether any nodes are asked for."""
        return bool(self._consumed)

    def _take(self, change: Change, seen: wire.ProvisioningRequest) -> None:
        uid = seen.metadata.uid
        if change == "DELETED":
            self._known.pop(uid, None)
            self._deleted.discard(uid)
            self._whole.discard(uid)
            return
        found = p.known(seen, self._scheduler)
        if found is not None and uid not in self._deleted and seen.metadata.deletion_timestamp is None:
            before = self._known.get(uid)
            if before is not None and found.standing.phase != before.standing.phase and found.standing.phase in self.counts:
                self.counts[found.standing.phase] += 1
            self._known[uid] = found
        else:
            self._known.pop(uid, None)

    def _served(self, served: bool, trouble: str) -> None:
        if not served:
            self._known.clear()
            self._deleted.clear()
            self._whole.clear()
        words = f"ProvisioningRequests cannot be watched: {trouble}" if trouble else ""
        self._put(ProvisionerKnown(served, words))

    async def _follow(self, may_write: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(self._every)
            if may_write() and self._kind.watch is not None and self._kind.watch.synced.is_set():
                try:
                    await self.look()
                except KubeError as error:
                    log.info("ProvisioningRequests: %s", error)
                except Exception:
                    log.exception("ProvisioningRequests could not be followed")

    async def look(self) -> None:
        """Make, replace and delete requests as gangs need them now, and tell the core how they are doing. Raises ``KubeError``."""
        asked_for = {(one.application, one.gang) for one in self._known.values()}
        wanted = {(lack.application, lack.gang): lack for lack in self._view().gangs_lacking(asked_for)}
        current: dict[Gang, p.Known] = {}
        for request in sorted(self._known.values(), key=lambda one: (one.attempt, one.uid)):
            older = current.get((request.application, request.gang))
            current[request.application, request.gang] = request
            if older is not None:
                await self._delete(older)
        for gang, request in list(current.items()):
            if gang not in wanted:
                await self._delete(request)
                del current[gang]
        for gang, lack in wanted.items():
            try:
                await self._see_to(gang, lack, current)
            except NotMade as error:
                self._again[gang] = time.monotonic() + REFUSED_FOR
                self.counts["refused"] += 1
                self._say(gang, "refused", f"No nodes are asked for: {error}")
        self._tell(wanted, current)

    async def _see_to(self, gang: Gang, lack: Lack, current: dict[Gang, p.Known]) -> None:
        """Let the request for a gang, if there is to be one, be as it should be. Raises ``NotMade``, ``KubeError``."""
        request = current.get(gang)
        if not lack.pods:
            self._missed.setdefault(gang, time.monotonic())
            if request is not None and time.monotonic() > self._missed[gang] + MISSED_FOR:
                await self._delete(request)
                del current[gang]
            return
        self._missed.pop(gang, None)
        attempt = 1
        if request is not None:
            failed = request.standing.phase == "failed"
            other = request.content != p.digest(lack) and request.standing.phase != "provisioned"
            if not other and not failed:
                if request.uid not in self._whole:
                    await self._complete(request, lack)
                return
            if not other and not (lack.short and p.may_retry(request, datetime.now(UTC))):
                return
            attempt = 1 if other else request.attempt + 1
        if not lack.short or self._view().now < lack.since + PATIENCE or time.monotonic() < self._again.get(gang, 0.0):
            return
        if request is None and len(current) >= MOST:
            return
        current[gang] = await self._make(lack, attempt)
        self._again.pop(gang, None)
        if request is not None:
            await self._delete(request)

    async def _make(self, lack: Lack, attempt: int) -> p.Known:
        """Make a request with its PodTemplates. Raises ``NotMade``, and ``KubeError`` where there is no answer."""
        if len(lack.pods) > p.MOST_KINDS:
            raise NotMade(f"its pods are of {len(lack.pods)} kinds, and a ProvisioningRequest has at most {p.MOST_KINDS}")
        version = self._kind.version
        name = p.name_of(lack, self._scheduler, attempt)
        body = p.request(lack, self._scheduler, attempt, version, [f"{name}-{at}" for at in range(len(lack.pods))])
        namespace = body["metadata"]["namespace"]
        answer = await self._client.request("POST", f"/apis/{version}/namespaces/{namespace}/{p.RESOURCE}", body, pool="status")
        if answer.status == 409:  # a predecessor has made it
            answer = await self._client.request("GET", f"/apis/{version}/namespaces/{namespace}/{p.RESOURCE}/{name}")
        if answer.status >= 400:
            raise NotMade(f"the API server refuses the ProvisioningRequest: {answer.status} {answer.error().message}")
        seen = msgspec.json.decode(answer.body, type=wire.ProvisioningRequest)
        if seen.metadata.deletion_timestamp is not None:
            raise NotMade(f"ProvisioningRequest {name} is being deleted")
        made = p.known(seen, self._scheduler)
        if made is None:
            raise NotMade(f"ProvisioningRequest {name} is there and is not of this scheduler")
        self._known[made.uid] = made
        self.counts["requested"] += 1
        log.info(
            "nodes for gang %s of %s are asked for by ProvisioningRequest %s/%s", lack.gang, lack.application, namespace, name
        )
        await self._complete(made, lack)
        return made

    async def _complete(self, request: p.Known, lack: Lack) -> None:
        """Make the PodTemplates of a request that are not there; the rest is made with the next look. Raises ``NotMade``, ``KubeError``."""
        for at, alike in enumerate(lack.pods):
            path = f"/api/v1/namespaces/{request.namespace}"
            answer = await self._client.request("GET", f"{path}/pods/{alike.pod}")
            if answer.status != 200 or answer.json().get("metadata", {}).get("uid") != alike.uid:
                return  # it is gone; what the gang lacks is another by now
            owner = (self._kind.version, request.name, request.uid)
            body = p.template(answer.json(), f"{request.name}-{at}", lack.selector, owner)
            answer = await self._client.request("POST", f"{path}/podtemplates", body, pool="status")
            if answer.status not in {201, 409}:
                await self._delete(request)
                raise NotMade(
                    f"the API server refuses the PodTemplate of pod {alike.pod}: {answer.status} {answer.error().message}"
                )
        self._whole.add(request.uid)

    async def _delete(self, request: p.Known) -> None:
        path = f"/apis/{self._kind.version}/{request.path}"
        answer = await self._client.request("DELETE", path, {"preconditions": {"uid": request.uid}}, pool="status")
        if answer.status in {200, 202, 404, 409}:
            self._deleted.add(request.uid)
            self._known.pop(request.uid, None)
        else:
            log.info("ProvisioningRequest %s/%s is not deleted: %s", request.namespace, request.name, answer.error())

    def _tell(self, wanted: dict[Gang, Lack], current: dict[Gang, p.Known]) -> None:
        self._consumed = {
            gang: ((p.CONSUMES, request.name), (p.CLASS, request.class_name))
            for gang, request in current.items()
            if request.class_name
        }
        for gang in list(self._told):
            if gang not in wanted or (gang not in current and self._told[gang][0] != "refused"):
                self._say(gang, "", "")
        for gang, request in current.items():
            self._say(gang, request.standing.phase, p.words(request))
        for known in (self._again, self._missed):
            for gang in [gang for gang in known if gang not in wanted]:
                del known[gang]

    def _say(self, gang: Gang, phase: RequestPhase, words: str) -> None:
        if self._told.get(gang, ("", "")) == (phase, words):
            return
        if phase:
            self._told[gang] = (phase, words)
        else:
            self._told.pop(gang, None)
        self._put(GangRequested(*gang, phase, words))
