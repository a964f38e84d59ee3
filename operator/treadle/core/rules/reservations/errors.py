"""Why a reservation is refused. The classes are YARN's exceptions of planning; messages name what was asked and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.core.errors import CoreError


@dataclass(frozen=True, slots=True)
class Lack:
    """Where a reservation does not fit: from ``start`` until ``end``, in ms. ``asked`` is what it would have there, ``allowed`` what may be had; both are empty where no place was found at all.

    ``average``: both are means over the time, not amounts at each moment.
    """

    start: int
    end: int
    asked: Sequence[int] = ()
    allowed: Sequence[int] = ()
    average: bool = False


class PlanningError(CoreError):
    """The reservation does not fit into the plan (``PlanningException``); ``lack`` tells where, if that is what is wrong."""

    def __init__(self, message: str, lack: Lack | None = None) -> None:
        """Keep where it does not fit."""
        self.lack = lack
        super().__init__(message)


class OvercommitError(PlanningError):
    """The plan would promise more than it has (``ResourceOverCommitException``)."""


class QuotaError(PlanningError):
    """The user would have more than one may (``PlanningQuotaException``)."""


class ContractError(PlanningError):
    """A request contradicts itself, or asks for a container that no node may run (``ContractValidationException``)."""


class UnknownReservation(CoreError):
    """The plan has no reservation of that name, or has one already where a new one was to be added."""
