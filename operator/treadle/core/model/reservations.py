"""What somebody wants to have reserved: requests, how they belong together, and between when (YARN's ``ReservationDefinition``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

LARGEST = (1 << 63) - 1
_WHOLE = re.compile(r"[+-]?0*[0-9]{1,19}")


class Interpreter(Enum):
    """How the requests of a reservation belong together (``ReservationRequestInterpreter``)."""

    ANY = "Any"
    """One of them is enough."""
    ALL = "All"
    """All of them, at whatever times."""
    ORDER = "Order"
    """All of them; one starts when the one before is over, or later."""
    ORDER_NO_GAP = "OrderNoGap"
    """All of them, each in one block that starts when the one before is over."""


ORDERED = frozenset({Interpreter.ORDER, Interpreter.ORDER_NO_GAP})
"""Where requests come one after the other."""


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """Containers of one size for one duration in ms; they start and end in gangs of ``concurrency``. ``demand`` is a dense vector."""

    demand: Sequence[int]
    count: int
    concurrency: int = 1
    duration: int = -1


@dataclass(frozen=True, slots=True)
class ReservationDefinition:
    """Requests, to be served from ``arrival`` to ``deadline`` (ms since the epoch), and again each period of ``recurrence`` ms, "0" for once."""

    arrival: int
    deadline: int
    requests: Sequence[ReservationRequest] = ()
    interpreter: Interpreter = Interpreter.ALL
    recurrence: str = "0"
    name: str = ""
    priority: int | None = None

    @property
    def period(self) -> int:
        """After how many ms it comes again; 0 if it does not. Raises ``ValueError`` where ``recurrence`` is no whole number of 64 bits."""
        period = int(self.recurrence) if _WHOLE.fullmatch(self.recurrence) else LARGEST + 1
        if not -LARGEST - 1 <= period <= LARGEST:
            raise ValueError(f"{self.recurrence!r} is no period in ms")
        return period
