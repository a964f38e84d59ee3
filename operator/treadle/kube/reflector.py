"""List and watch of one resource: a streaming list that goes on as a watch, and a relist that yields deletions too.

The server ends watches in every burst of binds: a clean end is ordinary and the watch is reopened at once from the last
version. 410 is a relist whose difference to what was known is reported. Until the bookmark that ends the initial events no
version is safe to resume from, so a stream cut before it starts over. A watch that has been silent for longer than bookmarks
are apart is not trusted. Right after its start a server may answer 403 to rightful users, so that is retried like the rest.
An object that cannot be read is skipped: what was known of it stays, and the others go on.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Generic, Literal, TypeVar

import msgspec

from treadle.kube import binary
from treadle.kube.binary import NotUnderstood
from treadle.kube.errors import ApiError, KubeError, Unreachable
from treadle.kube.formats import JSON, PREFERRED, PROTOBUF, Bare, Event, Expired, Format, Frames, Lines, Unreadable, status_of
from treadle.kube.streams import Silent, Stream
from treadle.kube.transport import Client
from treadle.kube.wire import ListMetadata, Object, Wire

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)
Change = Literal["ADDED", "MODIFIED", "DELETED"]
END_OF_LIST = "k8s.io/initial-events-end"
PAGE = 500
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
BREATH = 0.02
"""Seconds between two readings of a watch in a burst: the server sends every event by itself, and to be woken for each costs more than to
read it. After a quiet while nothing is kept waiting."""
LARGE = 1 << 16
"""Bytes of a reading that is followed by the next at once: a list."""


class _Page(Wire):
    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class Reflector(Generic[T]):
    """Keeps a sink told of every object of one resource.

    ``sink(changes)`` gets lists of ``(change, object)`` in order; a deletion found by a relist carries the object's identity
    only, and comes after the additions, so a namesake with another uid has been told of before it. ``synced`` is set after the
    first complete list and never cleared; ``alive_at`` is the monotonic time of the last byte or bookmark. ``silence`` is how
    long, in seconds, a watch may say nothing at all.
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
        """Everything that the sink has been told of and not told the end of, by uid."""
        self._version = ""
        self._streaming = True
        self._fruitful = False
        self._lines: Format[T] = Lines(kind)
        self._frames: Format[T] = Frames(kind)
        self._accept = PREFERRED if kind in binary.KINDS else JSON
        self._object: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def reached(self, version: int) -> bool:
        """Whether the sink has been told of everything up to a resourceVersion; they are ordered (KEP-5504)."""
        return self._version.isdecimal() and int(self._version) >= version

    async def run(self) -> None:
        """List and watch until cancelled. What brought nothing is tried again after a wait that doubles up to some seconds."""
        wait = FIRST_WAIT
        while True:
            self._fruitful = False
            listing = not self._version
            try:
                if listing:
                    await self._list()
                else:
                    await self._watch()
            except Expired:
                self._version = ""
                self.relists += 1
            except NotUnderstood as error:  # with JSON it is read, or told which object it is
                log.warning("watch of %s: protobuf is not understood (%s), JSON is used", self.path, error)
                self._accept = JSON
            except ApiError as error:
                self.missing = error.status == 404
                self._note(str(error))
            except (KubeError, OSError, msgspec.DecodeError) as error:
                self._note(f"{type(error).__name__}: {error}")
            if self._fruitful:
                wait = FIRST_WAIT
            if self.problem or not (self._fruitful or (listing and self._version)):
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            log.info("watch of %s: %s", self.path, problem)
        self.problem = problem

    def _fine(self, *, fruitful: bool = True) -> None:
        """Take note that the server answers; ``fruitful`` if it told something."""
        self.alive_at = time.monotonic()
        self.missing = False
        self.problem = ""
        self._fruitful |= fruitful

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
        if not await self._follow(params, set()):
            raise Unreachable(f"the streaming list of {self.path} ended before its bookmark")

    async def _paged_list(self) -> None:
        listed: set[str] = set()
        token = ""
        while True:
            params = {**self._params, "limit": str(PAGE), **({"continue": token} if token else {})}
            answer = await self.client.request("GET", self.path, params=params, pool="watch", timeout=60)
            if answer.status == 410:
                raise Expired
            if answer.status != 200:
                raise answer.error()
            page = msgspec.json.decode(answer.body, type=_Page)
            changes: list[tuple[Change, T]] = []
            for item in page.items or ():
                try:
                    found = self._object.decode(item)
                except msgspec.ValidationError as error:
                    self._pass_over(Unreadable("ADDED", msgspec.json.decode(item, type=Bare).metadata, str(error)), listed)
                else:
                    self._take(Event("ADDED", found), changes, listed)
            self._emit(changes)
            token = page.metadata.continue_
            if not token:
                break
        self._emit(self._gone(listed))
        self._version = page.metadata.resource_version
        self.synced.set()
        self._fine(fruitful=False)

    def _gone(self, listed: set[str]) -> list[tuple[Change, T]]:
        """Return the deletions that a complete list implies."""
        gone = [uid for uid in self._known if uid not in listed]
        return [("DELETED", self._known.pop(uid)) for uid in gone]

    async def _watch(self) -> None:
        params = {
            **self._params,
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "290",
        }
        await self._follow(params, None)

    async def _follow(self, params: Mapping[str, str], listed: set[str] | None) -> bool:
        """Read a watch to its end.

        ``listed`` collects the uids of a list that it begins with; returns whether that is complete.
        """
        async with self._stream(params) as answer:
            self.reopened += 1
            form = self._frames if answer.content_type.startswith(PROTOBUF) else self._lines
            async for messages in _batches(answer, form):
                changes: list[tuple[Change, T]] = []
                try:
                    for message in messages:
                        event = form.event(message)
                        if isinstance(event, Unreadable):
                            self._pass_over(event, listed)
                        elif event.type == "BOOKMARK":
                            meta = event.object.metadata
                            if listed is not None and (meta.annotations or {}).get(END_OF_LIST) == "true":
                                changes += self._gone(listed)
                                listed = None
                            if listed is None:
                                self._version = meta.resource_version
                        else:
                            self._take(event, changes, listed)
                finally:  # what came before a message that ends the watch is noted already, so it must be told
                    self._emit(changes)
                if listed is None:
                    self.synced.set()
                self._fine()
        return listed is None

    @asynccontextmanager
    async def _stream(self, params: Mapping[str, str]) -> AsyncIterator[Stream]:
        """Open a watch that the server has accepted; one that has been silent for too long ends as an expired one."""
        try:
            async with self.client.stream(self.path, params, self._silence, self._accept) as answer:
                await self._check(answer)
                self._fine(fruitful=False)
                yield answer
        except Silent:
            log.warning("watch of %s: nothing for %.0f s, listing again", self.path, self._silence)
            raise Expired from None

    def _take(self, event: "Event[T]", changes: list[tuple[Change, T]], listed: set[str] | None) -> None:
        """Note an event. While ``listed`` collects what a list holds no version is taken over: it would skip what is to come."""
        found = event.object
        uid = found.metadata.uid
        if event.type == "DELETED":
            self._known.pop(uid, None)
            if listed is not None:
                listed.discard(uid)
        else:
            if uid not in self._known:
                self._known[uid] = kind_skeleton(found)
            if listed is not None:
                listed.add(uid)
        if listed is None:
            self._version = found.metadata.resource_version
        changes.append((event.type, found))  # type: ignore[arg-type]

    def _pass_over(self, event: Unreadable, listed: set[str] | None) -> None:
        """Skip an object that cannot be read.

        It exists, so a list does not imply that it is gone; a deletion needs no reading.
        """
        meta = event.metadata
        log.warning("%s %s/%s cannot be read and is skipped: %s", self.path, meta.namespace, meta.name, event.why)
        if listed is None:
            self._version = meta.resource_version
        else:
            listed.add(meta.uid)

    def _emit(self, changes: list[tuple[Change, T]]) -> None:
        if changes:
            self._sink(changes)

    async def _check(self, answer: Stream) -> None:
        if answer.status == 200:
            return
        body = await answer.read()
        if answer.status == 410:
            raise Expired
        if answer.status == 401:
            await self.client.renew()
        status = status_of(body)
        raise ApiError(answer.status, status.reason, status.message)


def kind_skeleton(found: T) -> T:
    """Return an object with only its identity: what must be remembered to report that it is gone."""
    meta = found.metadata
    return type(found)(metadata=type(meta)(name=meta.name, namespace=meta.namespace, uid=meta.uid))


async def _batches(answer: Stream, form: Format[T]) -> AsyncIterator[list[bytes]]:
    """Yield lists of whole messages as the bytes come; there is no limit to the length of one."""
    rest, clock, breathed = b"", asyncio.get_running_loop().time, 0.0
    async for chunk in answer.chunks():
        burst = clock() < breathed + BREATH
        messages, rest = form.cut(rest + chunk if rest else chunk)
        if messages:
            yield messages
        if burst and len(chunk) < LARGE:
            await answer.rest(BREATH)
        breathed = clock()
