"""``treadle apps``: applications, where they are and what they wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.cli.asking import asked, read
from treadle.cli.leader import HERE, Where, lines
from treadle.cli.queues import check_queue
from treadle.cli.tables import Output, OutputOption, table, written
from treadle.controllers.in_words import NONE, amounts
from treadle.core.rules.placement.names import is_below

HEADS = (
    "APPLICATION",
    "QUEUE",
    "USER",
    "PHASE",
    "RUNNING",
    "WAITING",
    "SUCCEEDED",
    "FAILED",
    "USED",
    "WAITS FOR",
    "STARTS",
    "ENDS",
)


def apps(
    queue: str = "",
    /,
    *,
    namespace: str = "",
    waiting: bool = False,
    output: OutputOption = "table",
    where: Where = HERE,
) -> None:
    """Print applications: their queue, their pods, why the next one waits, and when it is likely to start and end.

    Where the scheduler is asked these are all that it knows, else those that have an Application object; `treadle explain pod` tells of any pod.

    Parameters
    ----------
    queue:
        Only those in this queue and below it.
    namespace:
        Only those of this namespace.
    waiting:
        Only those with pods that wait.
    output:
        A table, with what it waits for in words too (wide), or the objects as JSON or YAML.
    """
    found = [one for one in _known(namespace, where) if _wanted(one.get("status") or {}, queue, waiting=waiting)]
    if queue and not found:
        check_queue(queue, where)
    if output in {"json", "yaml"}:
        print(written(output, found), end="")
        return
    heads = (*HEADS, "IN WORDS") if output == "wide" else HEADS
    print("\n".join(table([heads, *(row_of(one, output) for one in found)])) if found else "no applications")


def _known(namespace: str, where: Where) -> list[Mapping[str, Any]]:
    told = lines(where, "applications", **({"namespace": namespace} if namespace else {}))
    if told is not None:
        return [{"metadata": {"namespace": one["namespace"], "name": one["name"]}, "status": one} for one in told]
    path = f"namespaces/{namespace}/applications" if namespace else "applications"
    items: list[Mapping[str, Any]] = asked(where.kubeconfig, where.context, lambda client: read(client, path))["items"]
    return items


def _wanted(status: Mapping[str, Any], queue: str, *, waiting: bool) -> bool:
    if queue and not is_below(status.get("queue") or "", queue):
        return False
    return not waiting or bool((status.get("pods") or {}).get("pending"))


def row_of(one: Mapping[str, Any], output: Output = "table") -> tuple[str, ...]:
    """Return an application as a row below ``HEADS``; wide with the words of what its next pod waits for."""
    meta, status = one["metadata"], one.get("status") or {}
    pods, eta = status.get("pods") or {}, status.get("eta") or {}
    return (
        f"{meta['namespace']}/{meta['name']}",
        status.get("queue") or NONE,
        status.get("user") or NONE,
        status.get("phase") or NONE,
        *(str(pods.get(name) or 0) for name in ("running", "pending", "succeeded", "failed")),
        amounts(status.get("used")),
        (status.get("waiting") or {}).get("reason") or NONE,
        *((eta.get(name) or {}).get("median") or NONE for name in ("firstPodStart", "end")),
        *(((status.get("waiting") or {}).get("message") or NONE,) if output == "wide" else ()),
    )
