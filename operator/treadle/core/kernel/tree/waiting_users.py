"""Users of a leaf who wait at their limit: what the kernel keeps for a discipline without looking into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import Ask, Queue


class UsersAtLimit(Protocol):
    """The users of a leaf whose asks wait at their limit (``disciplines.capacity.user_limits``)."""

    waiting: list[tuple[float, str]]
    looked: object
    awake: bool

    def add(self, leaf: Queue, ask: Ask) -> None:
        """Let an ask of the leaf wait for its user."""

    def begin(self, leaf: Queue) -> None:
        """Order all users and their asks anew."""

    def wait(self, name: str, share: float) -> None:
        """Let a user wait, if not already."""

    def woken(self) -> None:
        """Take the first user out of those who wait."""

    def first(self, leaf: Queue, name: str) -> Ask | None:
        """Return the first ask of a user that waits here, None if there is none."""
