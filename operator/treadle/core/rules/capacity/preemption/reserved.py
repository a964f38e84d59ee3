"""Victims on nodes that are held: what runs there makes room for whom the node is held (Hadoop's ``ReservedContainerCandidatesSelector``)."""

from __future__ import annotations

from typing import Any

from treadle.core.rules.capacity.preemption.ideal import Dealing, compute
from treadle.core.rules.capacity.preemption.selection import Obtain, wanted
from treadle.core.rules.capacity.preemption.snapshot import Round
from treadle.core.units.amounts import add_to, plus, take_from


def by_holds(round_: Round) -> None:
    """Choose victims on held nodes, where the least must be taken first."""
    compute(round_, Dealing(with_held=True))
    quotas = {path: wanted(round_, path) for path in round_.leaves}
    looked = []
    for node in round_.nodes:
        if node.hold is not None:
            found = _on_node(round_, node, quotas, only_look=True)
            if found is not None:
                looked.append((found[0], node))
    for _, node in sorted(looked, key=lambda each: each[0]):
        found = _on_node(round_, node, quotas, only_look=False)
        for container in found[1] if found is not None else ():
            round_.choose(container)


def _on_node(round_: Round, node: Any, quotas: dict[str, Obtain], *, only_look: bool) -> tuple[float, list[Any]] | None:
    calculator, none = round_.context.calculator, round_.context.none()
    reserved = node.hold.demand
    room = list(node.free)
    for container in node.killable:
        room = plus(room, container.demand)
    if calculator.fits(reserved, room):
        return None
    taken, total = [], list(none)
    for container in sorted(node.containers, key=lambda one: (one.owner.order, one.sequence), reverse=True):
        if container in node.killable or container.master:
            continue
        quota = quotas.get(container.owner.leaf.path, {}).get(node.partition)
        if quota is None or not calculator.fits(container.demand, quota) or not calculator.fits(container.demand, round_.budget):
            continue
        if not only_look:
            take_from(quota, container.demand)
            take_from(round_.budget, container.demand)
        if not round_.is_chosen(container):
            if not only_look:
                taken.append(container)
            add_to(total, container.demand)
        room = plus(room, container.demand)
        if calculator.fits(reserved, room):
            return calculator.ratio(total, reserved), taken
    for container in taken:
        quota = quotas.get(container.owner.leaf.path, {}).get(node.partition)
        if quota is not None:
            add_to(quota, container.demand)
    return None
