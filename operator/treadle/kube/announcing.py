"""What is about to be written is announced first, many things by one write, so that a successor knows what may still be under way."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

log = logging.getLogger(__name__)

Announce = Callable[[list[str]], Awaitable[bool]]
"""Writes down what may be under way from now on, each as ``namespace/name/uid``, in place of what was there; returns whether it is written."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
"""Seconds after which an announcement that failed is tried again; the wait doubles."""


class Announcing:
    """Announces names for as long as they are in ``of``. Without ``announce`` nobody can come after us, and nothing waits."""

    def __init__(self, announce: Announce | None) -> None:
        self._announce = announce
        self._names: dict[str, None] = {}
        self._unwritten: list[asyncio.Future[None]] = []
        self._more = asyncio.Event()

    @property
    def settled(self) -> bool:
        """Whether nothing that was announced may be under way."""
        return not self._names

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Enter when the name is announced; an empty name needs none."""
        if self._announce is None or not name:
            yield
            return
        written = asyncio.get_running_loop().create_future()
        self._names[name] = None
        self._unwritten.append(written)
        self._more.set()
        try:
            await written
            yield
        finally:
            self._names.pop(name, None)

    async def run(self) -> None:
        """Announce until cancelled; what fails is tried again for as long as somebody waits for it."""
        if self._announce is None:
            return
        while True:
            await self._more.wait()
            self._more.clear()
            batch, self._unwritten = self._unwritten, []
            wait = FIRST_WAIT
            while any(not each.done() for each in batch) and not await self._written(self._announce):
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
            for each in batch:
                if not each.done():
                    each.set_result(None)

    async def _written(self, announce: Announce) -> bool:
        try:
            return await announce(list(self._names))
        except Exception:
            log.exception("what is about to be written could not be announced")
            return False
