"""Pods as the controllers of other projects make them, in the files beside this one: each namespace of a file is one run of a workload.

What is expected of each run is here, for the tests without an API server and for those on a real one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """What a run is to Treadle. ``gangs`` has the pods that start together in each gang, for those gangs of which more than one does."""

    project: str
    namespace: str
    application: str
    queue: str
    masters: int
    workers: int
    gangs: tuple[tuple[str, int], ...] = ()
    service: bool = False
    """Whether its pods run until they are deleted."""

    @property
    def whole(self) -> bool:
        """Whether all its pods start together, the master too."""
        return any(count == self.masters + self.workers for _, count in self.gangs)


RUNS = [
    Run("spark", "spark-submit", "spark-1f0c9f6f5e7a4c0f8a1b2c3d4e5f6a7b", "root.spark", 1, 2),
    Run("spark", "spark-volcano", "spark-2a7be01c77d54f3d9d7c1f0e2b3a4c5d", "root.spark", 1, 2),
    Run("spark", "spark-operator", "spark-3c5d9b1a8f7e4d2c8b6a5f4e3d2c1b0a", "root.spark", 1, 2, (("spark-executor", 2),)),
    Run("flink", "flink-native", "flink/clicks", "root.flink", 1, 2, service=True),
    Run("kuberay", "ray-plain", "raycluster/tune", "root.ray", 1, 2, service=True),
    Run("kuberay", "ray-yunikorn", "tune-17", "root.ray", 1, 2, (("small", 2),), service=True),
    Run("kuberay", "ray-volcano", "podgroup/ray-tune-pg", "root.ray", 1, 2, (("ray-tune-pg", 3),), service=True),
    Run("kuberay", "ray-plugins", "podgroup/tune", "root.ray", 1, 2, (("tune", 3),), service=True),
    Run("jobset", "jobset-coordinator", "jobset/train", "root.jobset", 1, 4),
    Run("jobset", "jobset-exclusive", "jobset/shards", "root.jobset", 0, 0),
    Run("mpi", "mpi-plain", "mpijob/pi", "root.mpi", 1, 2),
    Run("mpi", "mpi-volcano", "podgroup/pi", "root.mpi", 1, 2, (("pi", 3),)),
    Run("mpi", "mpi-plugins", "podgroup/pi", "root.mpi", 1, 2, (("pi", 3),)),
    Run("argo", "argo-steps", "workflow/etl-k7f2x", "root.argo", 0, 0),
]
ALIASES = ["scheduler-plugins-scheduler", "volcano", "yunikorn"]
"""The names of schedulers that the controllers write into their pods where an integration of theirs is switched on."""


def manifests(run: Run, kind: str) -> list[Json]:
    """The objects of a run of one kind, in the order in which they are made."""
    documents = yaml.safe_load_all((FOLDER / f"{run.project}.yaml").read_text())
    return [one for one in documents if one["kind"] == kind and one["metadata"]["namespace"] == run.namespace]
