"""Names that a queue may have on Kubernetes: an object's name, short enough for a label, in which pods name their queue.

Hadoop takes nearly any name. What users, groups and namespaces are called is therefore made to fit, and what cannot be is
refused.
"""

import re
from functools import lru_cache
from typing import Final

from treadle.core.rules.placement.rules import clean

PATH: Final = r"root(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
MOST_BYTES: Final = 63
MOST_LEVELS: Final = 8
_MATCH: Final = re.compile(PATH)
_OTHERS: Final = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=8192)
def tidy(name: str) -> str:
    """Return a user's, group's, namespace's or application's name as a part of a path, empty if nothing of it is left.

    After Hadoop's own cleaning it is put into lower case, and whatever is not a letter or digit becomes one hyphen:
    ``First.Last`` is ``first-dot-last``, ``system:serviceaccount:etl:runner`` is ``system-serviceaccount-etl-runner``. Two names
    may become one.
    """
    return _OTHERS.sub("-", clean(name).lower()).strip("-")


@lru_cache(maxsize=8192)
def path_problem(path: str) -> str | None:
    """Say why a path cannot name a queue, or None if it can."""
    if len(path.encode()) > MOST_BYTES:
        return f"a queue path may have at most {MOST_BYTES} characters (pods name it in a label)"
    if _MATCH.fullmatch(path) is None:
        if _MATCH.fullmatch(path.lower()) is not None:
            return f'names of queues are in lower case, as Kubernetes has them: "{path.lower()}", not "{path}"'
        return f'a queue is named by its path: "root" or "root.…", not "{path}"'
    if path.count(".") >= MOST_LEVELS:
        return f"a queue path may have at most {MOST_LEVELS} levels"
    return None


def is_below(path: str, queue: str) -> bool:
    """Whether a path is that of a queue, or of one below it; all are below the empty one."""
    return not queue or path == queue or path.startswith(f"{queue}.")
