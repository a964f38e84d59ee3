"""The story: a ring of the newest transitions, each with the id of the event that caused it.

Explanations and errors quote it, so that "why" and "how did we get here" have one source.
"""

from collections import deque
from typing import NamedTuple


class Step(NamedTuple):
    """One transition: the event's id, when, about what (a uid, a path, a name), what happened, and where or why."""

    cause: int
    at: float
    subject: str
    what: str
    detail: str = ""


class Story:
    """A bounded history of steps, oldest forgotten first."""

    def __init__(self, length: int = 20_000) -> None:
        self.steps: deque[Step] = deque(maxlen=length)

    def of(self, subject: str) -> list[Step]:
        """Return the remembered steps about one subject, oldest first."""
        return [step for step in self.steps if step.subject == subject]

    def newest(self, count: int = 20) -> list[str]:
        """Return the newest steps as lines for an error's message."""
        return [f"#{s.cause} at {s.at:.3f} {s.subject}: {s.what} {s.detail}".rstrip() for s in list(self.steps)[-count:]]
