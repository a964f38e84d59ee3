"""What the API server itself does to pods: admission, the limits of an update, binding, and the question of a disruption budget.

Pure functions on manifests. The answers are those of pkg/registry/core/pod of Kubernetes 1.36 (strategy.go, storage,
eviction.go).
"""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from treadle.fakeapi.errors import ApiError, Json, bad_request, conflict, invalid
from treadle.fakeapi.selectors import selector_test
from treadle.kube.quantities import exact

QUANTITY: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
FINISHED = ("Succeeded", "Failed")
_DEFAULTS = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler", "priority": 0}
_FIXED = (
    "nodeName",
    "schedulerName",
    "priority",
    "priorityClassName",
    "overhead",
    "resources",
    "hostNetwork",
    "topologySpreadConstraints",
)


def with_condition(status: Json, kind: str, value: str, now: str, reason: str = "", message: str = "") -> Json:
    """A status with one condition set; its time moves only when its value does."""
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    old = conditions.get(kind, {})
    since = old["lastTransitionTime"] if old.get("status") == value else now
    said = {key: text for key, text in (("reason", reason), ("message", message)) if text}
    conditions[kind] = {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": since} | said
    return status | {"conditions": list(conditions.values())}


def admitted(pod: Json, classes: Mapping[str, Json], now: str) -> Json:
    """A new pod with its defaults, priority and first status.

    Raises 422 without containers and 403 for an unknown priority class.
    """
    name, spec = pod["metadata"]["name"], _DEFAULTS | (pod.get("spec") or {})
    if not spec.get("containers"):
        raise invalid("Pod", name, "spec.containers: Required value")
    for key in {"containers", "initContainers"} & set(spec):
        spec[key] = [_with_requests(container) for container in spec[key]]
    given = spec.get("priorityClassName") or next((key for key, item in classes.items() if item.get("globalDefault")), None)
    if given is not None:
        if given not in classes:
            raise ApiError(403, "Forbidden", f'pods "{name}" is forbidden: no PriorityClass with name {given} was found')
        spec |= {"priorityClassName": given, "priority": classes[given]["value"]}
    status: Json = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        text = "Scheduling is blocked due to non-empty scheduling gates"
        status = with_condition(status, "PodScheduled", "False", now, "SchedulingGated", text)
    return pod | {"spec": spec, "status": status}


def check_amounts(pod: Json) -> None:
    """Raise what validation says of the amounts of a pod that somebody sends (pkg/apis/core/validation, ``ValidateResourceRequirements``): 422, and 400 for what is no quantity."""
    name, spec = (pod.get("metadata") or {}).get("name", ""), pod.get("spec") or {}
    for key in ("containers", "initContainers"):
        _check_amounts(name, f"spec.{key}", spec.get(key) or [])


def _check_amounts(name: str, where: str, containers: list[Json]) -> None:
    wrong = []
    for number, container in enumerate(containers):
        amounts = container.get("resources") or {}
        found: dict[str, dict[str, Fraction]] = {"requests": {}, "limits": {}}
        for kind, by_name in found.items():
            for resource, text in (amounts.get(kind) or {}).items():
                at = f"{where}[{number}].resources.{kind}[{resource}]: Invalid value: {json.dumps(str(text))}"
                try:
                    by_name[resource] = Fraction(exact(text))
                except ValueError:
                    raise bad_request(f"{at}: quantities must match the regular expression '{QUANTITY}'") from None
                if by_name[resource] < 0:
                    wrong.append(f"{at}: must be greater than or equal to 0")
        limits = found["limits"]
        wrong += [
            f"{where}[{number}].resources.requests: Invalid value: {json.dumps(str(amounts['requests'][resource]))}: "
            f"must be less than or equal to {resource} limit of {amounts['limits'][resource]}"
            for resource, amount in found["requests"].items()
            if amount > limits.get(resource, amount)
        ]
    if wrong:
        raise invalid("Pod", name, *wrong)


def _with_requests(container: Json) -> Json:
    amounts = container.get("resources") or {}
    if not amounts.get("limits"):
        return container
    return container | {"resources": amounts | {"requests": amounts["limits"] | (amounts.get("requests") or {})}}


def check_update(old: Json, new: Json) -> None:
    """Refuse the changes of a spec that a scheduler must be able to rely on not to happen."""
    before, after = ({key: spec.get(key) for key in _FIXED} | {"containers": _sizes(spec)} for spec in (old["spec"], new["spec"]))
    changed = [key for key in before if before[key] != after[key]]
    if changed:
        text = f"spec: Forbidden: pod updates may not change fields other than images, deadlines, gates and tolerations (here: {changed[0]})"
        raise invalid("Pod", old["metadata"]["name"], text)


def _sizes(spec: Json) -> list[Any]:
    return [
        (c["name"], c.get("resources"), c.get("ports")) for key in ("containers", "initContainers") for c in spec.get(key) or ()
    ]


def resized(old: Json, new: Json) -> Json:
    """The old pod with the resources of `new`; anything else that `new` changes is ignored."""
    wanted = {container["name"]: container.get("resources", {}) for container in new["spec"]["containers"]}
    containers = [c | {"resources": wanted.get(c["name"], c.get("resources", {}))} for c in old["spec"]["containers"]]
    return old | {"spec": old["spec"] | {"containers": containers}}


def bound(pod: Json, binding: Json, node: Json | None, now: str) -> Json:
    """The pod on the node that the Binding names. Like the real server it asks neither for the node nor for the pod's phase."""
    given, target, name = binding.get("metadata") or {}, binding.get("target") or {}, pod["metadata"]["name"]
    if not target.get("name") or target.get("kind", "Node") != "Node":
        raise ApiError(500, "InternalError", "Internal error occurred: target.name: Required value, and target.kind must be Node")
    check_preconditions("pods/binding", pod, given)
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict("pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise conflict("pods/binding", name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    places = {
        key: value
        for key, value in ((node or {}).get("metadata", {}).get("labels") or {}).items()
        if key.startswith("topology.kubernetes.io/")
    }
    metadata = dict(pod["metadata"])
    for key, added in (("annotations", given.get("annotations")), ("labels", (given.get("labels") or {}) | places)):
        if added:
            metadata[key] = (metadata.get(key) or {}) | added
    status = {key: value for key, value in pod["status"].items() if key != "nominatedNodeName"}
    spec = pod["spec"] | {"nodeName": target["name"]}
    return pod | {"metadata": metadata, "spec": spec, "status": with_condition(status, "PodScheduled", "True", now)}


def check_preconditions(what: str, obj: Json, wanted: Json) -> None:
    """409 when `wanted` names another uid or resourceVersion than the object has."""
    for key, words in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        has = obj["metadata"][key]
        if wanted.get(key, has) != has:
            text = f"Precondition failed: {words} in precondition: {wanted[key]}, {words} in object meta: {has}"
            raise conflict(what, obj["metadata"]["name"], f"StorageError: invalid object, Code: 4, AdditionalErrorMsg: {text}")


def charged_budget(pod: Json, budgets: Iterable[Json]) -> Json | None:
    """The budget that pays for an eviction, None when none has to. Raises 429 when it cannot and 500 when there are two."""
    phase, labels = pod["status"].get("phase"), pod["metadata"].get("labels") or {}
    matching = [b for b in budgets if b["spec"].get("selector") is not None and selector_test(b["spec"]["selector"])(labels)]
    if not matching or pod["metadata"].get("deletionTimestamp") or phase in {"Pending", *FINISHED}:
        return None
    if len(matching) > 1:
        raise ApiError(
            500,
            "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )
    budget, known = matching[0], matching[0].get("status") or {}
    name, healthy, needed = budget["metadata"]["name"], known.get("currentHealthy", 0), known.get("desiredHealthy", 0)
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in pod["status"].get("conditions") or ())
    if not ready and (budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow" or healthy >= needed > 0):
        return None
    seen = known.get("observedGeneration", 0) >= budget["metadata"]["generation"]
    if seen and known.get("disruptionsAllowed", 0) > 0:
        return budget
    why = f"needs {needed} healthy pods and has {healthy} currently" if seen else "is still being processed by the server."
    causes = [{"reason": "DisruptionBudget", "message": f"The disruption budget {name} {why}"}]
    refusal = "Cannot evict pod as it would violate the pod's disruption budget."
    raise ApiError(429, "TooManyRequests", refusal, {"causes": causes}, retry_after=None if seen else 10)
