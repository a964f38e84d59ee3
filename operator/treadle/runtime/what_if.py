"""What would be if, as a part of a running Treadle: asked of a process of its own, one at a time, so that neither the loop nor the machine is held up."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.forecast.forward import foreseen
from treadle.rest.what_if import Unanswered
from treadle.runtime.aside import ask, pack
from treadle.runtime.what_if_child import Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from treadle.core.events import Event
    from treadle.core.model import Settings
    from treadle.core.views.view import View
    from treadle.forecast.what_if import Answer, Question

LOOKS, PATIENCE = 20.0, 30.0
"""Seconds that a process may look ahead, and after which it is ended."""
COME_AGAIN = 5


class WhatIf:
    """Answers questions. ``telling`` gives the facts of the core one by one, ``may_ask`` says whether it decides anything at present."""

    def __init__(
        self,
        telling: Callable[[], Iterator[Event]],
        view: Callable[[], View],
        settings: Settings,
        may_ask: Callable[[], bool] = lambda: True,
    ) -> None:
        self._telling, self._view, self._may_ask = telling, view, may_ask
        self._settings = replace(settings, solver=None)
        self._asking = False
        self.command = (sys.executable, "-m", "treadle.runtime.what_if_child")
        self.patience = PATIENCE

    async def ask(self, question: Question) -> Answer:
        """Return what would be. Raises ``Unanswered``."""
        if not self._may_ask():
            raise Unanswered("nothing is decided at the moment, so nothing can be said of what would be", COME_AGAIN)
        if self._asking:
            raise Unanswered("another question is being answered, and one is at a time", COME_AGAIN)
        self._asking = True
        try:
            packed = await pack(Asked(self._settings, self._view().now, question, LOOKS), foreseen(self._telling()))
            found: Answer = await ask(self.command, packed.body, self.patience)
        except (RuntimeError, OSError) as error:
            raise Unanswered(f"no answer was found: {error}", COME_AGAIN) from error
        finally:
            self._asking = False
        return found
