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
        self._steps: deque[tuple[int, float, str, str, str]] = deque(maxlen=length)
        self.add = self._steps.append
        """Add a step, as a plain tuple in the order of ``Step``'s fields: this is called for every placement."""

    @property
    def steps(self) -> list[Step]:
        """All remembered steps, oldest first."""
        return [Step(*step) for step in self._steps]

    def of(self, subject: str) -> list[Step]:
        """Return the remembered steps about one subject, oldest first."""
        return [step for step in self.steps if step.subject == subject]

    def newest(self, count: int = 20) -> list[str]:
        """Return the newest steps as lines for an error's message."""
        return [f"#{s.cause} at {s.at:.3f} {s.subject}: {s.what} {s.detail}".rstrip() for s in self.steps[-count:]]
