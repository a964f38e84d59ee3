"""``treadle eta``: when an application will start and end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treadle.cli.asking import asked, named, read

WHAT = (("firstPodStart", "first pod starts"), ("lastPodStart", "last pod starts"), ("end", "ends"))


def eta(application: str, /, *, kubeconfig: Path | None = None, context: str | None = None) -> None:
    """Print when an application's pods that wait will start and when it will end, as its status says.

    Applications without an object are at /eta of the scheduler's port, for those who may get it.

    Parameters
    ----------
    application:
        An Application object, as NAMESPACE/NAME, or its NAME in the namespace of the context.
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    """
    namespace, name = named(application, kubeconfig, context)
    found = asked(kubeconfig, context, lambda client: read(client, f"namespaces/{namespace}/applications/{name}"))
    print(words_of(f"{namespace}/{name}", found.get("status") or {}), end="")


def words_of(application: str, status: dict[str, Any]) -> str:
    """Return what the status of an Application says of its future, line by line."""
    found = status.get("eta")
    if not found:
        return f"{application}: nothing is forecast (phase {status.get('phase', 'unknown')}); it waits for nothing, or no forecast has been made yet\n"
    lines = (
        [f"{application}, as of {found.get('asOf', 'unknown')}, {found.get('confidence', 0)}% of futures:"]
        if found.get("asOf")
        else [f"{application}:"]
    )
    for field, label in WHAT:
        if times := found.get(field):
            early, middle, late = (times.get(key) or "beyond the horizon" for key in ("earliest", "median", "latest"))
            lines.append(f"  {label:17} {middle}  ({early} .. {late})")
    if found.get("deadlineRisk") is not None:
        lines.append(f"  after its deadline in {found['deadlineRisk']}% of futures")
    if found.get("note"):
        lines.append(f"  {found['note']}")
    return "\n".join(lines) + "\n"
