"""Why something waits."""

from typing import NamedTuple


class Wait(NamedTuple):
    """Why an ask is parked: a CamelCase reason, what blocks it (a queue's path, a shape) and what users are told."""

    reason: str
    blocker: str
    message: str
