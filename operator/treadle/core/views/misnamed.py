"""Applications that ask for a queue which does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.assign import asked_for
from treadle.core.kernel.tree.near import meant
from treadle.core.rules.placement.rules import qualified

if TYPE_CHECKING:
    from treadle.core.kernel.state import State


def queue_missing(state: State, identity: str, wanted: str = "") -> str:
    """Say that the queue which an application asks for does not exist, and where it is instead; empty where nothing is wrong, or its pods wait for that.

    Before its first pod it goes by ``wanted``, what its object asks for; where rules make queues nothing is said then.
    """
    application, tree = state.applications.get(identity), state.tree
    if application is None:
        path = qualified(wanted)
        rules = tree.rules is not None or bool(state.scheduler.mapping)
        return _words(state, path, "") if path and path not in tree.queues and not rules else ""
    if application.queue is None:
        return ""
    path = asked_for(state, application, identity.partition("/")[0])
    if not path or path in tree.queues:
        return ""
    return _words(state, path, application.queue.path)


def _words(state: State, path: str, taken: str) -> str:
    near = meant(path, filter(state.tree.is_defined, state.tree.queues))
    return (
        f"queue {path} is asked for and does not exist"
        + (f", did you mean {near}?" if near else "")
        + (f"; its pods are in {taken}" if taken else "")
    )
