"""The workloads of Kubernetes' own scheduler_perf on a real API server: Treadle and kube-scheduler in turn, each on a fresh control plane.

Their YAML comes with the Go module of the kube-scheduler that is measured. ``TREADLE_PERF`` names workloads (all of ``NAMES`` without
it); ``TREADLE_PERF_SIZE`` is how the name of a size begins, such as ``500Nodes``, or ``smallest``
(without it the first that Kubernetes measures itself).

For each and either scheduler: how many pods were bound of those measured, the seconds from the first creation to the last bind (pods
are created while they are scheduled, as in scheduler_perf), the rate, and the scheduler's processor seconds meanwhile.
"""

import asyncio
import os
import sys
from typing import Any

from bench.scheduler_perf.cases import Case, cases
from bench.scheduler_perf.playing import Outcome, Player
from bench.scheduler_perf.schedulers import SCHEDULERS
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane

NAMES = (
    "SchedulingBasic",
    "SchedulingWithMixedChurn",
    "SchedulingNodeAffinity",
    "Unschedulable",
    "PreemptionBasic",
    "PreemptionAsync",
    "SchedulingSecrets",
    "TopologySpreading",
    "PreferredTopologySpreading",
    "SchedulingWithNodeInclusionPolicy",
    "SchedulingPodAntiAffinity",
    "SchedulingPodMatchingAntiAffinity",
    "SchedulingPodAffinity",
    "SchedulingPreferredPodAffinity",
    "SchedulingPreferredPodAntiAffinity",
    "MixedSchedulingBasePod",
    "SchedulingRequiredPodAntiAffinityWithNSSelector",
    "SchedulingPreferredAntiAffinityWithNSSelector",
    "SchedulingRequiredPodAffinityWithNSSelector",
    "SchedulingPreferredAffinityWithNSSelector",
    "SchedulingInTreePVs",
    "SchedulingMigratedInTreePVs",
    "SchedulingCSIPVs",
    "PreemptionPVs",
    "SchedulingWhileGated",
    "SchedulingGatedPodsWithPodAffinityImpactForThroughput",
    "SchedulingDaemonset",
    "SchedulingWithExtendedResource",
    "SchedulingWithResourceClaimTemplate",
    "SchedulingWithResourceClaim",
)
WITHOUT = ("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority,StorageObjectInUseProtection",)
"""As scheduler_perf has it: its pods name priorities without classes."""
CONTROLLERS = f"{DEFAULT_CONTROLLERS},resourceclaim-controller"


def play(case: Case, scheduler: str) -> Outcome:
    """Play a workload on a control plane of its own."""
    with ControlPlane(arguments=WITHOUT) as plane:
        if case.needs_claims:
            plane.start_controller_manager(CONTROLLERS)
        with SCHEDULERS[scheduler](plane, case) as running:
            return asyncio.run(Player(plane, running, case).play())


def measure() -> dict[str, Any]:
    """Play the workloads that are asked for; ``ratio`` is of rates, ``cpu_ratio`` of processor seconds, Treadle's to kube-scheduler's."""
    named = tuple(filter(None, os.environ.get("TREADLE_PERF", "").split(","))) or NAMES
    found: dict[str, Any] = {}
    for case in cases(named, os.environ.get("TREADLE_PERF_SIZE", "")):
        outcomes = {}
        for scheduler in SCHEDULERS:
            outcomes[scheduler] = play(case, scheduler)
            print(f"{case.name} {case.size} {scheduler}: {outcomes[scheduler]}", file=sys.stderr, flush=True)
        ours, theirs = outcomes["treadle"], outcomes["kube-scheduler"]
        found[f"{case.name} {case.size}"] = {
            "measured": ours.measured,
            "bound": [ours.bound, theirs.bound],
            "per_s": [round(ours.per_s), round(theirs.per_s)],
            "cpu_s": [round(ours.cpu_s, 1), round(theirs.cpu_s, 1)],
            "ratio": round(ours.per_s / max(theirs.per_s, 0.01), 2),
            "cpu_ratio": round(ours.cpu_s / max(theirs.cpu_s, 0.01), 2),
        }
    return {"benchmark": "scheduler_perf", "of": ["treadle", "kube-scheduler"], "workloads": found}
