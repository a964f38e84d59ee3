"""Who stands in the queues at nodes: pods by node, in the order in which they came there, and nodes by pod."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.core.rules.opportunistic.queue_limits import QueueBounds, QueueLimit


@dataclass(slots=True)
class NodeQueues:
    """The queues. A pod stands in those of several nodes, and leaves all of them when it is placed or gone."""

    at: dict[str, dict[str, None]] = field(default_factory=dict)
    """Pods, by uid, that wait for room of a node, by its name; nodes without any are left out."""
    of: dict[str, dict[str, None]] = field(default_factory=dict)
    """The nodes, by name, of pods, by uid."""
    limit: QueueLimit = field(default_factory=lambda: QueueLimit(QueueBounds()))
    turn: int = 0
    """How many pods have come: not all of them come to the same nodes."""
    shed: int = 0
    """How many times a pod had to leave a queue that was too long."""
    shed_from: dict[str, dict[str, None]] = field(default_factory=dict)
    """The nodes, by name, whose queues pods, by uid, had to leave for that."""
    edits: int = -1
    """Up to which edit of nodes it was looked whether they admit those who stand there."""

    def enter(self, uid: str, node: str) -> None:
        """Let a pod stand at the end of the queue of a node."""
        self.at.setdefault(node, {})[uid] = None
        self.of.setdefault(uid, {})[node] = None

    def leave(self, uid: str) -> None:
        """Let a pod stand nowhere."""
        for node in list(self.of.get(uid, ())):
            self.leave_node(uid, node)
        self.shed_from.pop(uid, None)

    def shorten(self, node: str, most: int) -> None:
        """Let the last ones of a queue that is longer than ``most`` leave it. Who had to once comes to stand where it never has to again."""
        for uid in list(self.at.get(node, ()))[most:]:
            self.leave_node(uid, node)
            self.shed += 1
            self.shed_from.setdefault(uid, {})[node] = None

    def leave_node(self, uid: str, node: str) -> None:
        """Let a pod stand in the queue of a node no longer."""
        for found, one, other in ((self.at, node, uid), (self.of, uid, node)):
            del found[one][other]
            if not found[one]:
                del found[one]

    def close(self, node: str) -> None:
        """Let nobody stand in the queue of a node."""
        for uid in list(self.at.get(node, ())):
            self.leave_node(uid, node)

    def clear(self) -> None:
        """Let nobody stand anywhere."""
        self.at.clear()
        self.of.clear()
        self.shed_from.clear()

    def places(self, uid: str) -> list[tuple[str, int, int]]:
        """Return where a pod stands: nodes, its number there from 1 on, and how many stand there."""
        return [(node, list(self.at[node]).index(uid) + 1, len(self.at[node])) for node in self.of.get(uid, ())]
