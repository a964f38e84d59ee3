"""What is remembered of sets that are placed together."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Together:
    """What placing sets keeps (``kernel.together``).

    ``large`` is how many pods of an application waited at once, by its id, where they were more than a set has, until its object is edited. ``sets`` counts the sets that were
    placed, by what came of the solver (``kernel.together.improving``), ``again`` is when an application's set is tried again for which the solver had no time, by its id. ``failures`` is how often it broke, and ``words`` is what it said then. ``credit`` is the time in seconds that
    it may still take, at ``credit_at``. ``largest`` is the most of each resource type that a pod of a set has asked for.
    """

    large: dict[str, int] = field(default_factory=dict)
    sets: dict[str, int] = field(default_factory=dict)
    again: dict[str, float] = field(default_factory=dict)
    failures: int = 0
    words: str = ""
    largest: dict[int, int] = field(default_factory=dict)
    credit: float = float("inf")
    credit_at: float = 0.0

    def forget(self, application: str) -> None:
        """Forget an application that has no pods any more."""
        self.large.pop(application, None)
        self.again.pop(application, None)
