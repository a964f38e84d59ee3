"""The pure scheduler: a function of history, with no clock, socket, thread, randomness or logging.

``Core.handle(event, now)`` takes what happened, ``Core.plan(now, budget)`` returns what to do. What has a socket or a
clock is an adapter and lives elsewhere.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.core import Core

__all__ = ["Core"]


def __getattr__(name: str) -> object:
    """Import the scheduler when it is asked for: a command that needs the model or one rule starts in half the time without it."""
    if name == "Core":
        from treadle.core.core import Core

        return Core
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
