"""Pods, nodes and what holds pods back, as they are told: amounts as quantities, times as RFC 3339. The document describes answers by these models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType

from treadle.core.units.resources import format_amount

if TYPE_CHECKING:
    from treadle.core.views import holding, nodes
    from treadle.core.views.pods import PodLine

Quantities = dict[str, str]


class Pod(Struct, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A pod that has an application. ``state`` is Waiting or Placed; ``since`` is when it began to wait, or when its node was decided."""

    namespace: str
    name: str
    uid: str
    application: str
    state: str
    reason: str
    message: str
    priority: int
    requests: Quantities
    queue: str = ""
    node: str = ""
    since: str = ""
    created: str = ""
    user: str = ""
    role: str = ""
    gang: str = ""
    partition: str = ""
    opportunistic: bool = False
    leaving: bool = False


class Taint(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""


class Node(Struct, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A node. ``free`` is what is left of ``allocatable`` beside ``used`` and ``withheld``, ``usedByOthers`` the part of ``used`` that pods of other schedulers request."""

    name: str
    partition: str
    state: str
    labels: dict[str, str]
    taints: list[Taint]
    allocatable: Quantities
    used: Quantities
    free: Quantities
    used_by_others: Quantities = {}
    withheld: Quantities = {}
    opportunistic: Quantities = {}
    problem: str = ""


class Ahead(Struct, forbid_unknown_fields=True):
    """What is served before: how many pods of the queue, and the applications that have them, the first ones."""

    pods: int
    applications: list[str]


class Limit(Struct, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A maximum that is in the way, of one resource, in a partition of nodes where these are parted."""

    queue: str
    resource: str
    used: str
    maximum: str
    wanted: str
    missing: str
    partition: str = ""


class Closest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The node on which the least is in the way of the pod; its name is told to those who may see nodes.

    ``lacks`` is by how much too little is free there, ``refusals`` are the rules that keep the pod off, in kube-scheduler's words.
    """

    lacks: Quantities = {}
    name: str = ""
    refusals: list[str] = []


class Nodes(Struct, forbid_unknown_fields=True):
    """The nodes: how many there are, how many would take the pod by now, and how many are out for which reason."""

    known: int
    roomy: int
    reasons: dict[str, int]
    closest: Closest | UnsetType = UNSET


class Held(Struct, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """Pods of one application that are alike and wait: ``pod`` is the first of ``pods``, ``change`` what has to change for them to start."""

    pod: str
    pods: int
    application: str
    reason: str
    message: str
    change: str
    ahead: Ahead
    queue: str = ""
    since: str = ""
    limit: Limit | UnsetType = UNSET
    nodes: Nodes | UnsetType = UNSET


def quantities(amounts: Mapping[str, int]) -> Quantities:
    """Return amounts as quantities."""
    return {name: format_amount(name, value) for name, value in amounts.items()}


def moment(seconds: float | None) -> str:
    """Return seconds since 1970 as text, empty where they are not known."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if seconds else ""


def pod_said(one: PodLine) -> Pod:
    """Return a pod as it is told."""
    return Pod(
        namespace=one.namespace,
        name=one.name,
        uid=one.uid,
        application=one.application,
        state="Placed" if one.node else "Waiting",
        reason=one.reason,
        message=one.message,
        priority=one.priority,
        requests=quantities(one.requests),
        queue=one.queue,
        node=one.node,
        since=moment(one.since),
        created=moment(one.created),
        user=one.user,
        role=one.role,
        gang=one.gang,
        partition=one.partition,
        opportunistic=one.opportunistic,
        leaving=one.leaving,
    )


def node_said(one: nodes.NodeFigures) -> Node:
    """Return a node as it is told."""
    return Node(
        name=one.name,
        partition=one.partition,
        state=one.state,
        labels=dict(one.labels),
        taints=[Taint(taint.key, taint.effect, taint.value) for taint in one.taints],
        allocatable=quantities(one.allocatable),
        used=quantities(one.used),
        free=quantities(one.free),
        used_by_others=quantities(one.others),
        withheld=quantities(one.withheld),
        opportunistic=quantities(one.opportunistic),
        problem=one.problem,
    )


def held_said(one: holding.Held, *, with_nodes: bool) -> Held:
    """Return what holds pods back, as it is told to who may see nodes by their names or may not."""
    return Held(
        one.pod,
        one.pods,
        one.application,
        one.reason,
        one.message,
        one.change,
        Ahead(one.ahead, list(one.before)),
        one.queue,
        moment(one.since),
        UNSET if one.limit is None else _limit(one.limit),
        UNSET if one.nodes is None else _nodes(one.nodes, with_nodes=with_nodes),
    )


def _limit(one: holding.Limit) -> Limit:
    used, most, wanted, missing = (format_amount(one.resource, value) for value in (one.used, one.most, one.wanted, one.missing))
    return Limit(one.queue, one.resource, used, most, wanted, missing, one.partition)


def _nodes(one: holding.NodesOut, *, with_nodes: bool) -> Nodes:
    found = one.closest
    if found is None:
        return Nodes(one.known, one.roomy, one.reasons)
    refusals = [refusal.reason for refusal in found.refusals]
    return Nodes(one.known, one.roomy, one.reasons, Closest(quantities(found.lacks), found.node if with_nodes else "", refusals))


def plain(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said, without what is None."""
    return {name: value for name, value in status.items() if value is not None}
