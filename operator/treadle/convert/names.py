"""Names of Hadoop's queues and node labels made to fit Kubernetes: lower-case letters, digits and hyphens."""

import re
from typing import Final

from treadle.core.rules.placement.names import MOST_BYTES, MOST_LEVELS

RULE: Final = "names are lower-case letters, digits and hyphens"
ROOT: Final = "root"


class NameRefused(Exception):
    """A name that cannot be carried over; the message says which, and why."""


def clean(name: str, instead: str = "queue") -> str:
    """Return one part of a path as we have it; ``instead`` where nothing of it is left."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-") or instead


def clean_path(path: str) -> str:
    """Return a path, or a queue's own name, as we have it. Variables such as ``%user`` stay."""
    return ".".join(part if part.startswith("%") else clean(part) for part in path.split("."))


class Renames:
    """Which of Hadoop's queues has which path with us. No two may have one."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {ROOT: ROOT}
        self._theirs: dict[str, str] = {ROOT: ROOT}

    def add(self, path: str) -> str:
        """Return our path for Hadoop's, whose parent was added before. Raises ``NameRefused``."""
        above, _, name = path.rpartition(".")
        ours = f"{self._ours[above]}.{clean(name)}"
        if ours in self._theirs:
            raise NameRefused(f"queues {self._theirs[ours]} and {path} would both be called {ours}; rename one")
        if len(ours) > MOST_BYTES:
            raise NameRefused(
                f"queue {ours} has {len(ours)} characters; a path has at most {MOST_BYTES}, since pods name it in a label"
            )
        if ours.count(".") >= MOST_LEVELS:
            raise NameRefused(f"queue {ours} has {ours.count('.') + 1} levels; a path has at most {MOST_LEVELS}")
        self._ours[path], self._theirs[ours] = ours, path
        return ours

    def of(self, path: str) -> str:
        """Return our path for one of Hadoop's; one that was never added is cleaned."""
        return self._ours.get(path) or clean_path(path)
