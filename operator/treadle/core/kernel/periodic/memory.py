"""What looks at lifetimes remember of each other."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Lifetimes:
    """When everybody was last looked at, whether anybody has a lifetime, and which pods were deleted, and when."""

    looked: float = float("-inf")
    active: bool = False
    asked: dict[str, float] = field(default_factory=dict)
