"""What refuses a reservation is a planning error, which agents may answer with another try; a wrong name is not."""

from __future__ import annotations

import pytest

from treadle.core.rules.reservations.errors import ContractError, OvercommitError, PlanningError, QuotaError, UnknownReservation


@pytest.mark.parametrize("kind", [OvercommitError, QuotaError, ContractError])
def test_refusals_are_planning_errors(kind: type[Exception]) -> None:
    assert issubclass(kind, PlanningError)


def test_a_wrong_name_is_no_planning_error() -> None:
    assert not issubclass(UnknownReservation, PlanningError)
