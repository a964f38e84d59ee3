"""Containers of opportunistic pods as manifests."""

from __future__ import annotations

from typing import Any

TYPE = "treadle.dev/execution-type"
GIB = 1 << 30


def container(
    name: str, cpu: str = "0", memory: str = "0", limits: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": limits or {}}, **fields}
