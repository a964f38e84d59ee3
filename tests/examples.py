"""How many examples a property is tried with: the same ones every time, or with ``TREADLE_SEARCH=20`` twenty times as many new ones."""

from __future__ import annotations

import os

SEARCH = int(os.environ.get("TREADLE_SEARCH", "0"))
"""How many times more examples than usual are tried; 0: the usual ones."""


def examples(usual: int) -> int:
    """Return how many examples a property is tried with now."""
    return usual * max(SEARCH, 1)
