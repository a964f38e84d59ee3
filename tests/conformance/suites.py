"""Which part of ours answers which kind of case."""

from __future__ import annotations

from typing import Any

from conformance import (
    constraints,
    estimator,
    filters,
    following,
    mapping,
    opportunistic_nm,
    opportunistic_rm,
    processor,
    replay,
    replay_capacity,
    reservation_input,
    reservations,
    scores,
)

PARTS = (
    constraints,
    processor,
    scores,
    filters,
    replay,
    replay_capacity,
    mapping,
    opportunistic_rm,
    opportunistic_nm,
    reservations,
    reservation_input,
    estimator,
    following,
)


def part_for(case: dict[str, Any]) -> Any:
    """The module that answers a case; None while none does."""
    return next((part for part in PARTS if part.built(case)), None)


def built(case: dict[str, Any]) -> bool:
    return part_for(case) is not None


def answer(case: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = part_for(case).answer(case)
    return found


def comparable(case: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """An answer without what Hadoop leaves to hash tables."""
    cleaned: dict[str, Any] = getattr(part_for(case), "comparable", replay.comparable)(found)
    return cleaned
