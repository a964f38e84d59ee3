"""The workloads of scheduler_perf as their YAML has them: operations with parameters, and the templates of objects."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cluster.control_plane import TOOLS

Json = dict[str, Any]
MODULE = "k8s.io/kubernetes"
INDEX = re.compile(r"\{\{((?P<function>DivideInt|Mod) )?\.Index( (?P<by>\d+))?\}\}")
"""An object's number, or what is worked out of it, in a template."""
SMALLEST = "smallest"
"""Asks for the first size of each workload, which has a handful of nodes: to see whether it is played at all."""


@dataclass(frozen=True)
class Case:
    """A workload in one size."""

    name: str
    size: str
    folder: Path
    operations: tuple[Json, ...]
    params: Json
    default_pod: str

    def value(self, operation: Json, field: str, default: Any = None) -> Any:
        """Return a field of an operation, or the parameter that stands for it."""
        named = operation.get(f"{field}Param")
        return operation.get(field, default) if named is None else self.params[named.removeprefix("$")]

    def template(self, path: str) -> Json:
        """Return an object as its template has it, with ``{{.Index}}`` and the like left in its texts: ``numbered`` fills them in."""
        found: Json = yaml.safe_load((self.folder / path).read_text())
        return found

    @property
    def needs_claims(self) -> bool:
        """Whether claims are made from templates, which a controller does."""
        return any("claimtemplate" in one.get("templatePath", "") for one in self.operations)

    @property
    def preempts(self) -> bool:
        """Whether pods of higher priority are to have the room of others."""
        return self.name.startswith("Preemption")


@cache
def source() -> Path:
    """Return where the Go module of the kube-scheduler that is measured keeps its scheduler_perf."""
    command = ["go", "mod", "download", "-json", MODULE]
    told = json.loads(subprocess.run(command, cwd=TOOLS, check=True, capture_output=True, text=True).stdout)
    return Path(told["Dir"]) / "test/integration/scheduler_perf"


def cases(names: Iterable[str], size: str) -> Iterator[Case]:
    """Return workloads by name. Raises ``ValueError`` for one that there is not, or not in this size."""
    known = {
        entry["name"]: (path.parent, entry)
        for path in sorted(source().glob("**/performance-config.yaml"))
        for entry in yaml.safe_load(path.read_text())
    }
    for name in names:
        if name not in known:
            raise ValueError(f"unknown workload {name!r}; there are {', '.join(sorted(known))}")
        folder, entry = known[name]
        chosen = next((one for one in entry["workloads"] if _suits(one, size)), None) or (
            None if size else entry["workloads"][-1]
        )
        if chosen is None:
            raise ValueError(f"{name} has no size {size!r}; there are {', '.join(one['name'] for one in entry['workloads'])}")
        yield Case(
            name,
            chosen["name"],
            folder,
            tuple(entry["workloadTemplate"]),
            chosen["params"],
            entry.get("defaultPodTemplatePath", ""),
        )


def numbered(template: Json, number: int) -> Json:
    """Return an object with its number, counted from 0, where its template has one."""

    def value(found: re.Match[str]) -> str:
        match found["function"], int(found["by"] or 1):
            case "DivideInt", by:
                return str(number // by)
            case "Mod", by:
                return str(number % by)
        return str(number)

    mine: Json = json.loads(INDEX.sub(value, json.dumps(template)))
    return mine


def _suits(workload: Json, size: str) -> bool:
    if size == SMALLEST:
        return True
    return workload["name"].startswith(size) if size else "performance" in workload.get("labels", ())
