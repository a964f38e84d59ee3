"""How an opportunistic pod is rewritten when it is made: it requests nothing, and what it would like stands in an annotation.

A kubelet and kube-scheduler compare requests alone, so what is not requested can be given beside what is. The requests of cpu and memory become an
explicit "0", as absent ones would be filled in from limits again. Limits stay; where there is a request and no limit, the limit becomes what was
requested: it caps the container, and makes the pod Burstable, which can be promoted later (a pod's class never changes).

A pod is left as it is that requests anything else (extended resources, huge pages, ephemeral storage, claims for devices, an overhead), which a node
keeps for it, so that it is guaranteed whatever it says; and one with resources for the pod as a whole (``spec.resources``), which would count instead of
the containers'. The scheduler counts them by their requests.

The MutatingAdmissionPolicy of the chart says the same in CEL, and one table of pods tests both. Done again it changes nothing, so it may be invoked anew
after others have added containers.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from treadle.api.execution import DEMAND, MEASURED, OPPORTUNISTIC
from treadle.api.labels import EXECUTION_TYPE

Json = dict[str, Any]
NOTHING: Final = "0"
LISTS: Final = ("containers", "initContainers")
ELSE: Final = ("overhead", "resourceClaims")
"""Fields of a spec by which a node keeps something for the pod."""


def concerns(pod: Mapping[str, Any], scheduler_names: frozenset[str]) -> bool:
    """Whether a pod is rewritten: it is ours, says that it is opportunistic, requests cpu and memory alone, and those of its containers."""
    spec = pod.get("spec") or {}
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return (
        labels.get(EXECUTION_TYPE) == OPPORTUNISTIC
        and spec.get("schedulerName") in scheduler_names
        and not any(spec.get(field) for field in ELSE)
        and "resources" not in spec
        and all(_requests_nothing_else(container) for name in LISTS for container in spec.get(name) or ())
    )


def _requests_nothing_else(container: Mapping[str, Any]) -> bool:
    resources = container.get("resources") or {}
    return not resources.get("claims") and set(resources.get("requests") or ()) <= set(MEASURED)


def patch(pod: Mapping[str, Any], scheduler_names: frozenset[str]) -> list[Json]:
    """Return the operations of a JSON patch (RFC 6902) that rewrite a pod, in order; none where there is nothing to do.

    ``pod`` is as the API server has it when it asks: with defaults, and with quantities as texts in their canonical form.
    """
    if not concerns(pod, scheduler_names):
        return []
    spec, metadata = pod.get("spec") or {}, pod.get("metadata") or {}
    operations = _annotate(metadata, demand(pod))
    for name in LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            resources = container.get("resources") or {}
            wanted = rewritten(resources)
            if wanted != resources:
                operations.append({"op": "add", "path": f"/spec/{name}/{index}/resources", "value": wanted})
    return operations


def rewritten(resources: Mapping[str, Any]) -> Json:
    """Return the resources that a container of an opportunistic pod gets."""
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    for name in MEASURED:
        request = str(requests.get(name, NOTHING))
        if request != NOTHING and name not in limits:
            limits[name] = request
        requests[name] = NOTHING
    return {**resources, "requests": requests, **({"limits": limits} if limits else {})}


def demand(pod: Mapping[str, Any]) -> str:
    """Return what a pod would like: what its annotation says, and for containers that are not in there what they request.

    Such as ``c cpu=2 memory=1Gi;side cpu=1 memory=0``. A container that requests nothing would like its limits.
    """
    spec = pod.get("spec") or {}
    given = ((pod.get("metadata") or {}).get("annotations") or {}).get(DEMAND, "")
    named = {entry.strip().split(" ")[0] for entry in given.split(";")}
    containers = (container for name in LISTS for container in spec.get(name) or ())
    added = [_entry(container) for container in containers if container.get("name") not in named]
    return ";".join([given, *added] if given else added)


def _entry(container: Mapping[str, Any]) -> str:
    resources = container.get("resources") or {}
    return f"{container.get('name')} {' '.join(f'{name}={_wish(resources, name)}' for name in MEASURED)}"


def _wish(resources: Mapping[str, Any], name: str) -> str:
    amounts: Iterable[str] = (str((resources.get(kind) or {}).get(name, NOTHING)) for kind in ("requests", "limits"))
    return next((amount for amount in amounts if amount != NOTHING), NOTHING)


def _annotate(metadata: Mapping[str, Any], text: str) -> list[Json]:
    annotations = metadata.get("annotations")
    if (annotations or {}).get(DEMAND) == text:
        return []
    if annotations is None:
        return [{"op": "add", "path": "/metadata/annotations", "value": {DEMAND: text}}]
    return [{"op": "add", "path": f"/metadata/annotations/{DEMAND.replace('~', '~0').replace('/', '~1')}", "value": text}]
