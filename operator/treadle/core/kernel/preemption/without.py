"""Whether a node would take a pod if some that are on it had left: by the rules about the pods around it, volumes and host ports."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.pods import volumes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord


@contextmanager
def without(state: State, records: Collection[PodRecord]) -> Iterator[None]:
    """Let pods count for nothing in the rules of others for the time of a ``with`` block; their resources stay counted."""
    ports = state.nodes.ports
    for record in records:
        for tally in record.kind.tallies:
            tally.add(record.node, -1)
        if record.shape.ports:
            left = list(ports[record.node])
            for port in record.shape.ports:
                left.remove(port)
            ports[record.node] = tuple(left)
        if record.shape.storage is not None:
            state.shapes.in_use.leave(record.spec.uid)
    try:
        yield
    finally:
        for record in records:
            for tally in record.kind.tallies:
                tally.add(record.node, 1)
            ports[record.node] += record.shape.ports
            if record.shape.storage is not None:
                volumes.enter(state, record)


def passes_without(state: State, shape: Shape, row: int, records: Collection[PodRecord]) -> bool:
    """Whether a node lets pods of a shape in when some pods on it have left, resources aside."""
    if shape.between is None and not shape.ports:
        return True
    with without(state, records):
        return (not shape.ports or host_ports.free(shape.ports, state.nodes.ports[row])) and (
            shape.between is None or not shape.between.refusal(row)
        )
