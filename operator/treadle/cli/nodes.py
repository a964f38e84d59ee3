"""``treadle nodes``: what nodes have, and how much of it is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from treadle.cli.asking import all_of, asked, refuse
from treadle.cli.leader import HERE, Where, lines
from treadle.cli.tables import Output, OutputOption, bar, table, written
from treadle.controllers.in_words import NONE, amounts, brief, part
from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import format_amount
from treadle.core.views.nodes import CORDONED, LOST, NOT_READY, SCHEDULABLE
from treadle.kube.accounting import demand
from treadle.kube.transport import Client
from treadle.kube.wire import Pod

HEADS = ("NODE", "PARTITION", "STATE", "CPU", "MEMORY", "USED", "OPPORTUNISTIC", "OTHERS")
ALIVE = "status.phase!=Succeeded,status.phase!=Failed"
Json = Mapping[str, Any]


def nodes(partition: str | None = None, *, output: OutputOption = "table", where: Where = HERE) -> None:
    """Print the nodes: what each has and how much of it pods request.

    The scheduler says also its partition, what opportunistic pods were given, and what pods of other schedulers request. Without it that is not known, and the right to list nodes and pods is needed.

    Parameters
    ----------
    partition:
        Only those of this partition, as the scheduler knows it; '' is the default one.
    output:
        A table, with taints and what is free too (wide), or what was told as JSON or YAML.
    """
    found = lines(where, "nodes", **({} if partition is None else {"partition": partition}))
    if found is None:
        if partition is not None:
            refuse(
                f"which nodes are in partition {partition!r} the scheduler knows alone, and it is not asked; name it by --server"
            )
        found = asked(where.kubeconfig, where.context, from_objects)
    if output in {"json", "yaml"}:
        print(written(output, found), end="")
        return
    print("\n".join(table([heads(output), *(row_of(one, output) for one in found)])) if found else "no nodes")


def heads(output: Output) -> tuple[str, ...]:
    """Return the heads of the columns."""
    return (*HEADS, "FREE", "TAINTS") if output == "wide" else HEADS


def row_of(one: Json, output: Output = "table") -> tuple[str, ...]:
    """Return a node, as the REST tells it, as a row below ``heads``."""
    have, used = one["allocatable"], one["used"]
    row = (
        one["name"],
        one.get("partition") or NONE,
        one["state"],
        *(brief(name, have.get(name, "0")) for name in ("cpu", "memory")),
        bar(part(used, have)),
        amounts(one.get("opportunistic")),
        amounts(one.get("usedByOthers")),
    )
    if output != "wide":
        return row
    taints = ", ".join(f"{each['key']}:{each['effect']}" for each in one.get("taints") or ())
    return (*row, amounts(one.get("free")), taints or NONE)


async def from_objects(client: Client) -> list[Json]:
    """Return nodes as the REST tells them, from what the API server has. Raises ``KubeError``."""
    used: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in await all_of(client, "/api/v1/pods", {"fieldSelector": ALIVE}):
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        for name, value in _demand(pod) if node else ():
            used[node][name] += value
    return [_node(one, used[one["metadata"]["name"]]) for one in await all_of(client, "/api/v1/nodes", {})]


def _demand(pod: Json) -> Iterator[tuple[str, int]]:
    try:
        yield from demand(msgspec.convert(pod, Pod))
    except (InvalidSpec, msgspec.ValidationError):
        return  # of a pod whose amounts cannot be read nothing is known


def _node(one: Json, used: Mapping[str, int]) -> Json:
    spec, status = one.get("spec") or {}, one.get("status") or {}
    lost = any(each.get("key") in LOST for each in spec.get("taints") or ())
    state = NOT_READY if lost else CORDONED if spec.get("unschedulable") else SCHEDULABLE
    return {
        "name": one["metadata"]["name"],
        "state": state,
        "allocatable": status.get("allocatable") or {},
        "used": {name: format_amount(name, value) for name, value in used.items()},
        "taints": spec.get("taints") or [],
    }
