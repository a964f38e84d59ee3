"""Why a reservation is refused. The classes are YARN's exceptions of planning; messages name what was asked and what is allowed."""

from __future__ import annotations

from treadle.core.errors import CoreError


class PlanningError(CoreError):
    """The reservation does not fit into the plan (``PlanningException``)."""


class OvercommitError(PlanningError):
    """The plan would promise more than it has (``ResourceOverCommitException``)."""


class QuotaError(PlanningError):
    """The user would have more than one may (``PlanningQuotaException``)."""


class ContractError(PlanningError):
    """A request contradicts itself, or asks for a container that no node may run (``ContractValidationException``)."""


class UnknownReservation(CoreError):
    """The plan has no reservation of that name, or has one already where a new one was to be added."""
