"""What pods on nodes count for in their queues beside their demand: the devices of their claims.

A claim is charged once, to one of the pods that are placed with it: the first that it is reserved for, else the one that was charged before, else the oldest. When
that pod leaves, the next one is charged. It is level-triggered: whenever a pod comes to a node or leaves it, and whenever its claims or classes change, the
claim is looked at anew (``settle``), and the difference is charged. What pods of others hold is taken off what there is to share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.devices.counting import counts_of, counts_of_extended
from treadle.core.kernel.devices.on_nodes import ANYWHERE
from treadle.core.kernel.devices.registry import special_key
from treadle.core.kernel.pods.charges import charge, discharge

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model.devices import Counts
    from treadle.core.units.resources import Demand

NOBODY = -1
"""In place of the row of a node: what is on none, or on several."""


def enter(state: State, record: PodRecord) -> None:
    """Charge a pod that has come to a node, or been counted there anew, for its claims, as far as no other pod is."""
    for key in _keys(record):
        settle(state, key)


def leave(state: State, record: PodRecord) -> None:
    """Charge a pod for nothing any more; others that have its claims are charged in its place."""
    for key in list(state.device_charges.by_pod.get(record.spec.uid, ())):
        settle(state, key, without=record)


def settle(state: State, key: str, without: PodRecord | None = None) -> None:
    """Let the pod be charged for a claim that it is due from now, with what the claim comes to now."""
    charges, devices = state.device_charges, state.shapes.devices
    before = charges.of.get(key)
    payer = _payer(state, key, without, before[0] if before is not None else None)
    now = None if payer is None else (payer, _counts(state, payer, key))
    if before is not None and (now is None or now[0] is not before[0]):
        _pay(state, before[0], key, None)
    if now is None:
        charges.of.pop(key, None)
        devices.payers.pop(key, None)
    else:
        charges.of[key] = now
        devices.payers[key] = now[0].spec.uid
        if before is None or before != now:
            _pay(state, now[0], key, now[1])
    if (before and before[0]) is not (now and now[0]) and len(devices.users.get(key, ())) > 1:
        devices.mark(key)  # those who wait with it would be charged otherwise


def follow(state: State) -> None:
    """Take over which classes count as what, and how many devices there are."""
    devices = state.shapes.devices
    if devices.kinds_changed:
        devices.kinds_changed = False
        for kind in devices.kinds.values():
            state.types.position(kind)
        state.widen()
    if devices.uncounted and state.device_charges.stock.follow():
        state.updates.cluster_changed = True


def to_share(state: State) -> dict[int, dict[int, int]]:
    """Return what devices there are to share, by row of the node (``NOBODY``: of no single one) and position of the type.

    That is what there is, of known nodes, less what pods of others are charged for on theirs; what these have of elsewhere leaves less than nothing.
    """
    charges, nodes, index = state.device_charges, state.nodes, state.types.index
    found: dict[int, dict[int, int]] = {}
    for (node, kind), count in charges.stock.there.items():
        row = NOBODY if node == ANYWHERE else nodes.row.get(node, NOBODY)
        if node == ANYWHERE or (row != NOBODY and nodes.specs[row] is not None):
            of_row = found.setdefault(row, {})
            of_row[index[kind]] = of_row.get(index[kind], 0) + count
    for uid in charges.by_pod:
        record = state.pods.get(uid)
        if record is not None and record.application is None and record.paid:
            of_row = found.setdefault(record.node, {})
            for position, value in record.paid:
                of_row[position] = of_row.get(position, 0) - value
    return found


def broken(state: State) -> list[str]:
    """Return what contradicts itself: each claim of pods that are placed is charged to one of them, with what it comes to, and nothing else is charged; what is to be looked at is left out."""
    charges, devices = state.device_charges, state.shapes.devices
    problems: list[str] = []
    due: dict[str, dict[str, Counts]] = {}
    placed = {key: None for record in state.pods.values() if record.node >= 0 for key in _keys(record)}
    for key, (record, counts) in charges.of.items():
        if state.pods.get(record.spec.uid) is not record or record.node < 0:
            problems.append(f"pod {record.spec.uid} is charged for claim {key!r} and not placed")
        if devices.payers.get(key) != record.spec.uid:
            problems.append(f"claim {key!r} is charged to pod {record.spec.uid}, known is {devices.payers.get(key)}")
        if key not in devices.marked and counts != _counts(state, record, key):
            problems.append(f"claim {key!r} is charged with {counts}, it comes to {_counts(state, record, key)}")
        due.setdefault(record.spec.uid, {})[key] = counts
    problems += [f"claim {key!r} is charged to nobody" for key in placed if key not in charges.of and key not in devices.marked]
    if due != charges.by_pod:
        problems.append(f"pods are charged {charges.by_pod}, claims make {due}")
    for record in state.pods.values():
        total = _summed(state, charges.by_pod.get(record.spec.uid, {}))
        if record.paid != total:
            problems.append(f"pod {record.spec.uid} is charged {record.paid}, its claims make {total}")
    return problems


def _keys(record: PodRecord) -> list[str]:
    claims, devices = record.spec.constraints.claims, record.shape.devices
    if claims is None:
        return []
    keys = list(dict.fromkeys(f"{claims.namespace}/{name}" for name, _ in claims.claims))
    if devices is not None and devices.extended:
        keys.append(special_key(claims.namespace, record.spec.uid))
    return keys


def _payer(state: State, key: str, without: PodRecord | None, incumbent: PodRecord | None) -> PodRecord | None:
    devices = state.shapes.devices
    users, claim = devices.users.get(key, {}), devices.claims.get(key)
    placed = [
        record for uid in users if (record := state.pods.get(uid)) is not None and record.node >= 0 and record is not without
    ]
    if len(placed) < 2:
        return placed[0] if placed else None
    reserved = {one.uid: at for at, one in enumerate(claim.reserved)} if claim is not None else {}

    def rank(record: PodRecord) -> tuple[int, bool, float, str]:
        uid = record.spec.uid
        return (reserved.get(uid, len(reserved)), record is not incumbent, record.spec.created, uid)

    return min(placed, key=rank)


def _counts(state: State, record: PodRecord, key: str) -> Counts:
    devices = state.shapes.devices
    needs = record.shape.devices
    if key == special_key(record.spec.namespace, record.spec.uid):
        return counts_of_extended(needs.extended, devices) if needs is not None else ()
    claim = devices.claims.get(key)
    return () if claim is None else counts_of(claim, devices)


def _pay(state: State, record: PodRecord, key: str, counts: Counts | None) -> None:
    """Let what a pod is charged for a claim be so much; None: it is not charged for it."""
    by_pod, uid = state.device_charges.by_pod, record.spec.uid
    mine = by_pod.setdefault(uid, {})
    if counts is None:
        del mine[key]
        if not mine:
            del by_pod[uid]
    else:
        mine[key] = counts
    _change(state, record, _summed(state, mine))


def _summed(state: State, by_claim: dict[str, Counts]) -> Demand:
    total: dict[str, int] = {}
    for each in by_claim.values():
        for kind, count in each:
            total[kind] = total.get(kind, 0) + count
    return state.types.demand(total.items())


def _change(state: State, record: PodRecord, paid: Demand) -> None:
    before, record.paid = record.paid, paid
    if before == paid:
        return
    part = record.part
    if part is None:
        state.updates.cluster_changed = True
        return
    discharge(state, part, before)
    charge(state, part, paid)
    if record.master and part.queue is not None:
        ledgers = [part.queue.master_usage]
        if part.quota is not None:
            ledgers.append(part.quota.masters)
        for held in ledgers:
            for demand, sign in ((before, -1), (paid, 1)):
                for position, value in demand:
                    held[position] += sign * value
        if part.queue.masters_blocked:
            state.masters_relieved[part.queue] = None
