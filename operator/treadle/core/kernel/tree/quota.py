"""What one user may have in a leaf, as the kernel sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from treadle.core.units.resources import Vector

USER_LIMIT = "UserLimit"
"""The reason of a pod whose user has come to the quota."""


class Member(Protocol):
    """A user of a leaf."""

    name: str


class Quota(Protocol):
    """What the user of an application may have in its leaf, in one partition (``Application.quota``); without one no user is limited.

    ``used`` and ``masters`` are written by the code that counts a placement, which puts ``user`` into ``touched``.
    Who holds no more than ``lower_bound``, (type, amount) pairs, is below the limit whatever others do.
    """

    used: Vector
    masters: Vector
    lower_bound: tuple[tuple[int, int], ...]
    touched: dict[Any, None]

    @property
    def user(self) -> Member:
        """The user."""

    def exceeded(self) -> bool:
        """Whether the user holds more than the limit, so that nothing is added."""

    def denied(self) -> str:
        """Return why the application gets no nodes of its partition, empty if it may."""

    def demand_changed(self) -> None:
        """Take note that the application asks for something now, or no longer."""
