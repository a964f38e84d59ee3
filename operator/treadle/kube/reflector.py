"""List and watch of one resource: a streaming list that goes on as a watch, and a relist that yields deletions too.

The server ends watches in every burst of binds: a clean end is ordinary and the watch is reopened at once from the last
version. 410 is a relist whose difference to what was known is reported. Until the bookmark that ends the initial events no
version is safe to resume from, so a stream cut before it starts over. A watch that has been silent for longer than bookmarks
are apart is not trusted. Right after its start a server may answer 403 to rightful users, so that is retried like the rest.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar

import aiohttp
import msgspec

from treadle.kube.errors import ApiError, Unreachable
from treadle.kube.transport import Client
from treadle.kube.wire import Custom, ListMetadata, Metadata, Namespace, Node, Pod, Status, Wire

log = logging.getLogger(__name__)

T = TypeVar("T", Pod, Node, Namespace, Custom)
Change = Literal["ADDED", "MODIFIED", "DELETED"]
END_OF_LIST = "k8s.io/initial-events-end"
PAGE = 500
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0


class _Event(Wire, Generic[T]):
    type: str
    object: T


class _ErrorEvent(Wire):
    type: str
    object: Status


class _BareObject(Wire):
    metadata: Metadata


class _BareEvent(Wire):
    type: str
    object: _BareObject


class _Page(Wire):
    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class _Expired(Exception):
    """The version to resume from is too old: list again."""


class Reflector(Generic[T]):
    """Keeps a sink told of every object of one resource.

    ``sink(changes)`` gets lists of ``(change, object)`` in order; a deletion found by a relist carries the object as last seen by
    uid only. ``synced`` is set after the first complete list and never cleared; ``alive_at`` is the monotonic time of the last
    byte or bookmark. ``silence`` is how long, in seconds, a watch may say nothing at all.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        kind: type[T],
        sink: Callable[[list[tuple[Change, T]]], None],
        params: Mapping[str, str] | None = None,
        silence: float = 130.0,
    ) -> None:
        self.client = client
        self.path = path
        self.kind: type[T] = kind
        self.synced = asyncio.Event()
        self.alive_at = float("-inf")
        self.relists = 0
        self.reopened = 0
        self.missing = False
        """True while the server does not know the resource at all (404)."""
        self.problem = ""
        """Why the last attempt failed, empty while all is well."""
        self._sink: Callable[[list[tuple[Change, T]]], None] = sink
        self._params = dict(params or {})
        self._silence = silence
        self._known: dict[str, T] = {}
        self._version = ""
        self._streaming = True
        self._event: msgspec.json.Decoder[_Event[T]] = msgspec.json.Decoder(_Event[kind])  # type: ignore[valid-type]
        self._object: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)
        self._keep: Callable[[T], T] = kind_skeleton

    async def run(self) -> None:
        """List and watch until cancelled."""
        wait = FIRST_WAIT
        while True:
            try:
                if not self._version:
                    await self._list()
                    wait = FIRST_WAIT
                if self._version:
                    await self._watch()
                    wait = FIRST_WAIT
                    continue
            except _Expired:
                self._version = ""
                self.relists += 1
                continue
            except ApiError as error:
                self.missing = error.status == 404
                self._note(str(error))
            except (Unreachable, aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError) as error:
                self._note(f"{type(error).__name__}: {error}")
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            log.info("watch of %s: %s", self.path, problem)
        self.problem = problem

    def _fine(self) -> None:
        self.alive_at = time.monotonic()
        self.missing = False
        self.problem = ""

    async def _list(self) -> None:
        if self._streaming:
            try:
                await self._streaming_list()
            except ApiError as error:
                if error.status not in {400, 422}:
                    raise
                log.info("no streaming lists of %s (%s): pages are used", self.path, error)
                self._streaming = False
                await self._paged_list()
        else:
            await self._paged_list()

    async def _streaming_list(self) -> None:
        """List by a watch that begins with every object, and go on with the same watch."""
        params = {
            **self._params,
            "watch": "1",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "290",
        }
        seen: dict[str, T] = {}
        listing = True
        async with self.client.stream(self.path, params, self._silence) as answer:
            await self._check(answer)
            async for lines in _chunks(answer):
                changes: list[tuple[Change, T]] = []
                for line in lines:
                    event = self._decode(line)
                    meta = event.object.metadata
                    if event.type == "BOOKMARK":
                        if listing and (meta.annotations or {}).get(END_OF_LIST) == "true":
                            changes += self._replace(seen)
                            listing = False
                            self._listed(changes)
                            changes = []
                        if not listing:
                            self._version = meta.resource_version
                    elif listing:
                        if event.type == "DELETED":
                            seen.pop(meta.uid, None)
                        else:
                            seen[meta.uid] = self._keep(event.object)
                        changes.append((event.type, event.object))  # type: ignore[arg-type]
                    else:
                        self._take(event, changes)
                self._emit(changes)
                self._fine()
        if listing:
            raise Unreachable(f"the streaming list of {self.path} ended before its bookmark")

    async def _paged_list(self) -> None:
        seen: dict[str, T] = {}
        token = ""
        while True:
            params = {**self._params, "limit": str(PAGE), **({"continue": token} if token else {})}
            answer = await self.client.request("GET", self.path, params=params, pool="watch", timeout=60)
            if answer.status == 410:
                raise _Expired
            if answer.status != 200:
                raise answer.error()
            page = msgspec.json.decode(answer.body, type=_Page)
            changes: list[tuple[Change, T]] = []
            for item in page.items or ():
                try:
                    found = self._object.decode(item)
                except msgspec.ValidationError as error:
                    found = self._bare(msgspec.json.decode(item, type=_BareObject), error)
                seen[found.metadata.uid] = self._keep(found)
                changes.append(("ADDED", found))
            self._emit(changes)
            token = page.metadata.continue_
            if not token:
                break
        self._listed(self._replace(seen))
        self._version = page.metadata.resource_version
        self._fine()

    def _listed(self, deletions: list[tuple[Change, T]]) -> None:
        self._emit(deletions)
        self.synced.set()

    def _replace(self, seen: dict[str, T]) -> list[tuple[Change, T]]:
        """Take over a complete list and return the deletions that it implies."""
        gone: list[tuple[Change, T]] = [("DELETED", last) for uid, last in self._known.items() if uid not in seen]
        self._known = seen
        return gone

    async def _watch(self) -> None:
        params = {
            **self._params,
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "290",
        }
        try:
            async with self.client.stream(self.path, params, self._silence) as answer:
                await self._check(answer)
                self.reopened += 1
                async for lines in _chunks(answer):
                    changes: list[tuple[Change, T]] = []
                    for line in lines:
                        event = self._decode(line)
                        if event.type == "BOOKMARK":
                            self._version = event.object.metadata.resource_version
                        else:
                            self._take(event, changes)
                    self._emit(changes)
                    self._fine()
        except aiohttp.SocketTimeoutError:
            log.warning("watch of %s: nothing for %.0f s, listing again", self.path, self._silence)
            raise _Expired from None

    def _take(self, event: "_Event[T]", changes: list[tuple[Change, T]]) -> None:
        found = event.object
        if event.type == "DELETED":
            self._known.pop(found.metadata.uid, None)
        else:
            self._known[found.metadata.uid] = self._keep(found)
        self._version = found.metadata.resource_version
        changes.append((event.type, found))  # type: ignore[arg-type]

    def _emit(self, changes: list[tuple[Change, T]]) -> None:
        if changes:
            self._sink(changes)

    def _decode(self, line: bytes) -> "_Event[T]":
        """Decode one line of a watch. An ERROR carries a Status, whose ``status`` is a text: it does not fit our kinds."""
        try:
            event = self._event.decode(line)
        except msgspec.ValidationError as error:
            bare = msgspec.json.decode(line, type=_BareEvent)
            if bare.type != "ERROR":
                return _Event(bare.type, self._bare(bare.object, error))
        else:
            if event.type != "ERROR":
                return event
        status = msgspec.json.decode(line, type=_ErrorEvent).object
        if status.code == 410:
            raise _Expired
        raise ApiError(status.code, status.reason, status.message)

    def _bare(self, found: _BareObject, error: msgspec.ValidationError) -> T:
        """Return an object that we cannot read with its metadata alone: it must not stop the others."""
        log.warning(
            "%s %s/%s cannot be read and counts as empty: %s", self.path, found.metadata.namespace, found.metadata.name, error
        )
        return self.kind(metadata=found.metadata)

    async def _check(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status == 200:
            return
        body: Any = await answer.read()
        if answer.status == 410:
            raise _Expired
        if answer.status == 401:
            await self.client.renew()
        try:
            status = msgspec.json.decode(body, type=Status)
        except msgspec.DecodeError:
            status = Status(message=body[:200].decode(errors="replace"))
        raise ApiError(answer.status, status.reason, status.message)


def kind_skeleton(found: T) -> T:
    """Return an object with only its identity: what must be remembered to report that it is gone."""
    meta = found.metadata
    return type(found)(metadata=type(meta)(name=meta.name, namespace=meta.namespace, uid=meta.uid))


async def _chunks(answer: aiohttp.ClientResponse) -> "Any":
    """Yield lists of whole lines as the bytes come; there is no limit to the length of a line."""
    rest = b""
    async for chunk in answer.content.iter_any():
        lines = (rest + chunk if rest else chunk).split(b"\n")
        rest = lines.pop()
        if lines:
            yield [line for line in lines if line]
