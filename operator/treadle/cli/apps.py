"""``treadle apps``: applications, where they are and what they wait for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treadle.cli.asking import asked, read
from treadle.cli.tables import Output, table, written
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
    output: Output = "table",
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> None:
    """Print the Application objects: their queue, their pods, why the next one waits, and when it is likely to start and end.

    Pods without an Application object are not listed; `treadle explain pod` tells of any pod.

    Parameters
    ----------
    queue:
        Only those in this queue and below it.
    namespace:
        Only those of this namespace.
    waiting:
        Only those with pods that wait.
    output:
        A table, or the objects as JSON or YAML.
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    """
    where = f"namespaces/{namespace}/applications" if namespace else "applications"
    items: list[dict[str, Any]] = asked(kubeconfig, context, lambda client: read(client, where))["items"]
    found = [one for one in items if _wanted(one.get("status") or {}, queue, waiting=waiting)]
    if output != "table":
        print(written(output, found), end="")
        return
    print("\n".join(table([HEADS, *(row_of(one) for one in found)])) if found else "no applications")


def _wanted(status: Mapping[str, Any], queue: str, *, waiting: bool) -> bool:
    if queue and not is_below(status.get("queue") or "", queue):
        return False
    return not waiting or bool((status.get("pods") or {}).get("pending"))


def row_of(one: Mapping[str, Any]) -> tuple[str, ...]:
    """Return an application as a row below ``HEADS``."""
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
    )
