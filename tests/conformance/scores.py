"""Cases of kube-scheduler's Score plugins: how many points a pod gives each node that may take it.

The objects are read as the product reads them, in JSON. Every plugin's points must be the same on every node, weighted, as far as they tell
nodes apart; and the node on which a core places the pod is one of the best. What resources are worth is ours to say, so they count for nothing here.
"""

from __future__ import annotations

from typing import Any

from conformance import filters
from treadle.core.core import Core
from treadle.core.effects import Bind
from treadle.core.events import PodSeen, SchedulerSeen
from treadle.core.model import PodSpec, SchedulerSpec
from treadle.core.model.scheduler import Weights


def built(case: dict[str, Any]) -> bool:
    return "scores" in (case.get("expect") or {})


def core_of(given: dict[str, Any]) -> tuple[Core, PodSpec]:
    core, pod = filters.core_of(given)
    core.handle(SchedulerSeen(SchedulerSpec(name=filters.OURS, weights=Weights(images=1, resources=0))), 0.0)
    return core, pod


def answer(case: dict[str, Any]) -> dict[str, Any]:
    core, pod = core_of(case["input"])
    core.handle(PodSeen(pod), 0.0)
    core.plan(0.0, 0)
    scores = core.view.preferences(pod.uid)
    (bind,) = (effect for effect in core.plan(0.0) if isinstance(effect, Bind))
    totals = {name: sum(each.values()) for name, each in case["expect"]["scores"].items()}
    return {
        "feasible": sorted(scores),
        "scores": scores,
        "chosen": totals[bind.node] == max(totals.values()),
    }


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """An answer without the plugins that say the same of all nodes."""
    scores = found["scores"]
    plugins = sorted({plugin for each in scores.values() for plugin in each})
    telling = [plugin for plugin in plugins if len({each.get(plugin, 0) for each in scores.values()}) > 1]
    return {
        "feasible": found["feasible"],
        "scores": {name: {plugin: each.get(plugin, 0) for plugin in telling} for name, each in scores.items()},
        "chosen": found.get("chosen", True),
    }
