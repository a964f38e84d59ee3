"""kopf, in a thread and a loop of its own, watching our four kinds and handing on what it sees.

In a thread, since kopf takes over signals and, at its end, cancels every task of the loop it runs in. Only ``on.event`` handlers
and storages that store nothing: no finalizer, no annotation, no patch of kopf's own. After a reconnect kopf reports no deletions,
so the runtime lists the kinds itself from time to time.

kopf gives up where it is told what it did not expect: a 404 when the definition of a kind is deleted, a 5xx or a 403 that
outlasts its patience, an error in a watch that is none of 410. Its other watches go on then, and it comes to its end some seconds
later. So each run of kopf is looked after: when the watch of a kind has ended, or kopf as a whole, the run is ended at once and
after a pause there is another one, which lists everything. Kinds that the server does not know are waited for without kopf's
help, since it looks for new ones only where it may watch the definitions of all.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

import aiohttp
import kopf

from treadle.api.labels import GROUP, VERSION
from treadle.api.objects import PLURALS
from treadle.kube.auth import Access
from treadle.kube.errors import CredentialsError

log = logging.getLogger(__name__)

Deliver = Callable[[str, str | None, Mapping[str, Any]], None]
"""``(kind, event type or None, object)``; called in kopf's thread."""
_KINDS: Final = frozenset(PLURALS.values())
WATCHER = "watcher for "
"""What kopf calls the task of a watch: this, the resource (``queues.v1alpha1.treadle.dev``) and where."""
KEEPER = "multidimensional multitasker"
"""What kopf calls the task that begins watches, and that ends with the first of them."""
LOOK_FIRST, LOOK_EVERY = 0.005, 1.0
"""Seconds between two looks at the watches, until all have begun and after that; that one ends is noticed at once."""
ASK_EVERY = 1.0
"""Seconds after which the server is asked again whether it knows the kinds that it did not know."""
MOST_BEGINNING = 60.0
"""Seconds that kopf may take to begin with all watches; it retries what fails."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds between two runs of kopf."""
CONNECT_TIMEOUT = 5.0
RELOGIN_PAUSE = 1.0
"""Seconds before credentials that were refused are replaced: a server that refuses all of them is not asked in a tight loop."""


class _NoDiffBase(kopf.DiffBaseStorage):
    def fetch(self, **_: Any) -> None:
        return None

    def build(self, **_: Any) -> Any:
        return {}

    def store(self, **_: Any) -> None:
        return None


class _NoProgress(kopf.ProgressStorage):
    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: Any, **_: Any) -> Any:
        return essence


class Operator:
    """The kopf part; ``start`` returns at once and ``stop`` waits for the thread.

    ``begun`` is called in kopf's thread when all kinds are being watched, again too: what was deleted meanwhile no watch tells.
    """

    def __init__(self, access: Access, deliver: Deliver, begun: Callable[[], None] = lambda: None) -> None:
        self._access = access
        self._deliver = deliver
        self._begun = begun
        self._stop = threading.Event()
        self._run: _Run | None = None
        self._logins = 0
        self._sessions: list[aiohttp.ClientSession] = []
        self._problem = "the watches of our kinds have not begun"
        self._thread = threading.Thread(target=self._operate, name="controllers", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def problem(self) -> str:
        """Return why not all of our kinds are being watched, empty if they are."""
        return self._problem if self.alive else "the controllers are not running"

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread."""
        self._stop.set()
        run = self._run
        if run is not None:
            run.end_from_outside()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _operate(self) -> None:
        """Let kopf run, again and again.

        A run that went well for a while is followed by the next at once, others after a pause that doubles.
        """
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            served = self._served()
            if not served:
                self._stop.wait(ASK_EVERY)
                continue
            self._run = run = _Run(served)
            if not self._stop.is_set():  # which may have come before there was a run to end
                asyncio.run(self._one_run(run))
            self._run = None
            if time.monotonic() - run.began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            self._stop.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _served(self) -> frozenset[str]:
        """Return the plurals of our kinds that the server knows; what is wrong with that becomes the problem."""
        try:
            found = asyncio.run(self._ask())
        except (OSError, TimeoutError, aiohttp.ClientError, ValueError, CredentialsError) as error:
            self._note(f"asking for the kinds of {GROUP}: {error or type(error).__name__}")
            return frozenset()
        missing = sorted(_KINDS - found)
        if missing:
            self._note(f"the CustomResourceDefinitions of {', '.join(missing)} are not installed")
        return found

    async def _ask(self) -> frozenset[str]:
        timeout = aiohttp.ClientTimeout(total=CONNECT_TIMEOUT)
        async with (
            self._session() as session,
            session.get(f"{self._access.server}/apis/{GROUP}/{VERSION}", timeout=timeout) as answer,
        ):
            if answer.status not in {200, 404}:
                if answer.status == 401:
                    await asyncio.to_thread(self._access.renew)
                raise OSError(f"{answer.status} {answer.reason}")
            names = {one["name"] for one in (await answer.json()).get("resources") or ()} if answer.status == 200 else set()
        return _KINDS & names

    async def _one_run(self, run: "_Run") -> None:
        """Let kopf run until it ends, a watch has ended, the server knows kinds that are not watched, or we are told to end."""
        self._logins = 0
        # Without an identity kopf asks for the user's name, which the image's user has not.
        me: Any = "treadle"
        task = run.begin(
            kopf.operator(
                registry=self._registry(),
                settings=_settings(),
                identity=me,
                standalone=True,
                clusterwide=True,
                stop_flag=run.flag,
            )
        )
        missing, asked = _KINDS - run.served, time.monotonic()
        try:
            while not run.flag.is_set() and not task.done():
                await run.changed(LOOK_EVERY if run.complete() else LOOK_FIRST)
                ended = run.ended()
                if ended and not run.flag.is_set():
                    self._note(f"the watch of {', '.join(ended)} has ended")
                    break
                if not missing:
                    self._note("" if run.complete() else self._problem)
                elif run.complete() and time.monotonic() >= asked + ASK_EVERY:
                    asked = time.monotonic()
                    if missing & await asyncio.to_thread(self._served):
                        break
        finally:
            why = await run.end()
            for session in self._sessions:
                await session.close()
            self._sessions.clear()
            if why is not None:
                self._note(f"the watches of our kinds have ended: {type(why).__name__}: {why}")

    def _note(self, problem: str) -> None:
        if problem != self._problem and not self._stop.is_set():
            log.info("controllers: %s", problem or "all of our kinds are being watched")
            if not problem:
                self._begun()
        self._problem = problem

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry)(self._login)
        for kind, plural in PLURALS.items():
            handler: Any = self._handler(kind)
            kopf.on.event(GROUP, VERSION, plural, registry=registry, id=f"see-{kind.lower()}")(handler)
        return registry

    def _handler(self, kind: str) -> Callable[..., Awaitable[None]]:
        async def see(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf names its arguments
            self._deliver(kind, type, dict(body))  # a plain function would be called in a pool of threads, which outlives the run

        return see

    async def _login(self, **_: Any) -> kopf.AiohttpSession:
        """Give kopf a session of our own making: the TLS settings are ours, and after a 401 the credentials are fresh ones."""
        access = self._access
        if self._logins:
            await asyncio.sleep(RELOGIN_PAUSE)
            try:
                await asyncio.to_thread(access.renew)
            except CredentialsError as error:
                log.warning("credentials of the controllers cannot be renewed: %s", error)
        self._logins += 1
        session = self._session()
        self._sessions.append(session)
        return kopf.AiohttpSession(server=access.server, aiohttp_session=session, default_namespace=access.namespace)

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._access.tls or True)
        return aiohttp.ClientSession(connector=connector, headers=self._access.headers())


class _Run:
    """One run of kopf, in a loop of its own. ``served`` are the plurals of the kinds that the server knows, ``flag`` ends it."""

    def __init__(self, served: Iterable[str]) -> None:
        self.served = frozenset(served)
        self.flag = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._watchers: dict[str, asyncio.Task[Any]] = {}
        self._keeper: asyncio.Task[Any] | None = None
        self.began = time.monotonic()

    def begin(self, operator: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start kopf."""
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(operator, name="kopf")
        return self._task

    def end_from_outside(self) -> None:
        """Let the run end; called in another thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
                loop.call_soon_threadsafe(self.flag.set)

    async def changed(self, within: float) -> None:
        """Wait until kopf or a watch has ended, for some time at the most. kopf has nothing to do with this wait, so it does not cancel it."""
        assert self._task is not None
        self._look()
        await asyncio.wait({self._task, *self._watchers.values()}, timeout=within, return_when=asyncio.FIRST_COMPLETED)

    def _look(self) -> None:
        """Find the tasks of kopf's watchers, which are told apart by their names."""
        for task in asyncio.all_tasks():
            name = task.get_name()
            if name.startswith(WATCHER):
                self._watchers.setdefault(name.removeprefix(WATCHER).partition(".")[0], task)
            elif name == KEEPER:
                self._keeper = task

    def complete(self) -> bool:
        """Whether every kind that the server knows is being watched."""
        return self.served <= self._watchers.keys()

    def ended(self) -> list[str]:
        """Return the kinds whose watch has ended, or has not begun for a long while."""
        ended = [kind for kind, task in self._watchers.items() if task.done()]
        kept = self._keeper is None or not self._keeper.done()
        if not self.complete() and (not kept or time.monotonic() > self.began + MOST_BEGINNING):
            ended += sorted(self.served - self._watchers.keys())
        return ended

    async def end(self) -> BaseException | None:
        """End kopf with all that it began, and return what it ended with by itself."""
        task = self._task
        assert task is not None
        # kopf's own way to cancel its streams fails in their callbacks, and what its other tasks ended with nobody asks for
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: log.debug("at the end of kopf: %s", context["message"])
        )
        if not self.flag.is_set():
            task.cancel()
        await asyncio.wait({task})
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for one in left:
            one.cancel()
        if left:
            await asyncio.wait(left)
        why = None if task.cancelled() else task.exception()
        looked_at = (*self._watchers.values(), *([self._keeper] if self._keeper is not None else []))
        failed = (one.exception() for one in looked_at if one.done() and not one.cancelled())
        return next((one for one in (*failed, why) if one is not None), None)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.networking.error_backoffs = [0.2, 0.5, 1, 2, 3]
    settings.networking.connect_timeout = CONNECT_TIMEOUT
    settings.process.ultimate_exiting_timeout = None  # it kills the whole process
    settings.queueing.idle_timeout = 1.0
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = _NoProgress()
    return settings
