"""Everything that the core wants done. An effect carries the id of the event that caused it."""

from typing import NamedTuple


class Bind(NamedTuple):
    """Bind a pod to a node. It is counted already; a failure must come back as ``BindFailed``."""

    uid: str
    namespace: str
    name: str
    node: str
    application: str
    queue: str
    cause: int


class ReportWaiting(NamedTuple):
    """Tell a waiting pod's owner why: PodScheduled=False with this reason and message."""

    uid: str
    namespace: str
    name: str
    reason: str
    message: str
    cause: int


Effect = Bind | ReportWaiting
