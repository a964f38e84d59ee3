"""Reads the history for those who ask by the REST: in a thread of its own, and with an answer to whatever goes wrong there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from treadle.rest.answers import Refused
from treadle.web.warnings import Seldom

if TYPE_CHECKING:
    from treadle.history.store import Store

log = logging.getLogger(__name__)
T = TypeVar("T")
NONE_KEPT = "no history is kept (treadle run --history)"
NONE_YET = "nothing has been kept in the history yet"


class Past:
    """The history at ``url``; where that is empty none is kept."""

    def __init__(self, url: str) -> None:
        """Open nothing yet."""
        self._url = url
        self._warn = Seldom(log)

    async def read(self, work: Callable[[Store], T]) -> T:
        """Return what ``work`` finds in the store. Raises ``Refused``: 404 where none is kept, 503 where it cannot be read."""
        if not self._url:
            raise Refused(404, NONE_KEPT)
        try:
            return await asyncio.to_thread(self._read, work)
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 - drivers raise what they like, and a question is no reason to end anything
            self._warn(f"the history is not told: {error}")
            raise Refused(503, "the history cannot be read now", wait=30) from None

    def _read(self, work: Callable[[Store], T]) -> T:
        from treadle.history.store import NoHistory, Store  # with its library, where a history is kept only

        store = Store(self._url)
        try:
            store.check_there()
            return work(store)
        except NoHistory:
            raise Refused(404, NONE_YET) from None
        finally:
            store.close()
