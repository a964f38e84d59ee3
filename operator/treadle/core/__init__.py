"""The pure scheduler: a function of history, with no clock, socket, thread, randomness or logging.

``Core.handle(event, now)`` takes what happened, ``Core.plan(now, budget)`` returns what to do. What has a socket or a
clock is an adapter and lives elsewhere.
"""

from treadle.core.core import Core

__all__ = ["Core"]
