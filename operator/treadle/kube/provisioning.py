"""ProvisioningRequests of the cluster-autoscaler's API (``autoscaling.x-k8s.io/v1``): how one is written for a gang, and what its conditions say.

Each kind of pod is a PodTemplate that the request names and owns. What is ours is told by annotations, so nothing has to be remembered elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from treadle.api.labels import API_VERSION, GROUP

if TYPE_CHECKING:
    from treadle.core.views.provisioning import Lack
    from treadle.kube import wire

RESOURCE: Final = "provisioningrequests"
VERSIONS: Final = ("autoscaling.x-k8s.io/v1", "autoscaling.x-k8s.io/v1beta1")
"""The group and version at which the kind may be served, the best first; both have the same form."""
CONSUMES: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS: Final = "autoscaling.x-k8s.io/provisioning-class-name"
"""What pods are annotated with that use what was asked for."""
SCHEDULER: Final = f"{GROUP}/scheduler"
APPLICATION: Final = f"{GROUP}/application"
GANG: Final = f"{GROUP}/gang"
ATTEMPT: Final = f"{GROUP}/attempt"
CONTENT: Final = f"{GROUP}/content"
"""Our annotations on a request: whose it is, for which gang, the how manieth in a row, and a digest of what it asks for."""
MOST_KINDS: Final = 32
"""Kinds of pods in a request, as the kind's schema has it."""
TOKENS: Final = "kube-api-access-"
"""How the names of volumes begin that the server adds to pods by itself."""
FIRST_RETRY, LAST_RETRY = 60.0, 1800.0
"""Seconds before nodes are asked for again that could not be had; they double with each try."""
LONGEST_WORDS: Final = 300
"""Characters of what an autoscaler says that are repeated to those who wait."""

Json = dict[str, Any]
Phase = Literal["pending", "provisioned", "failed"]


class Standing(NamedTuple):
    """What the conditions of a request come to: its phase, what the autoscaler says, and since when it is so."""

    phase: Phase
    reason: str
    message: str
    since: datetime | None


class Known(NamedTuple):
    """A request of ours."""

    namespace: str
    name: str
    uid: str
    application: str
    gang: str
    attempt: int
    content: str
    standing: Standing
    class_name: str

    @property
    def path(self) -> str:
        """The object's path below that of its group and version."""
        return f"namespaces/{self.namespace}/{RESOURCE}/{self.name}"


_LOST: Final = ("Failed", "CapacityRevoked", "BookingExpired")
"""Conditions with which nothing more comes of a request: it was in vain, or what was had is not kept any more."""


def standing(status: wire.ProvisioningStatus | None) -> Standing:
    """Return what the conditions of a request come to."""
    found = {one.type: one for one in (status.conditions or () if status is not None else ())}
    for kind in _LOST:
        one = found.get(kind)
        if one is not None and one.status == "True":
            return Standing("failed", one.reason or kind, one.message, one.last_transition_time)
    one = found.get("Provisioned")
    if one is not None and one.status == "True":
        return Standing("provisioned", one.reason, one.message, one.last_transition_time)
    one = one or found.get("Accepted")
    return (
        Standing("pending", one.reason, one.message, one.last_transition_time)
        if one is not None
        else Standing("pending", "", "", None)
    )


def known(seen: wire.ProvisioningRequest, scheduler: str) -> Known | None:
    """Return a request as one of ours, None if it is not."""
    meta = seen.metadata
    notes = meta.annotations or {}
    if notes.get(SCHEDULER) != scheduler or not notes.get(APPLICATION):
        return None
    attempt = notes.get(ATTEMPT, "")
    return Known(
        meta.namespace,
        meta.name,
        meta.uid,
        notes[APPLICATION],
        notes.get(GANG, ""),
        int(attempt) if attempt.isdecimal() and len(attempt) < 6 else 1,
        notes.get(CONTENT, ""),
        standing(seen.status),
        notes.get(CLASS, ""),
    )


def pause(attempt: int) -> float:
    """Return how many seconds after it was in vain a request is followed by another."""
    return min(FIRST_RETRY * float(2 ** min(attempt - 1, 16)), LAST_RETRY)


def may_retry(request: Known, now: datetime) -> bool:
    """Whether it is time to ask again for what could not be had."""
    since = request.standing.since
    return since is None or (now - (since if since.tzinfo is not None else since.replace(tzinfo=UTC))).total_seconds() >= pause(
        request.attempt
    )


def words(request: Known) -> str:
    """Return what is told of a request to those who wait."""
    at = request.standing
    named = f"ProvisioningRequest {request.name} ({request.class_name})"
    said = ": ".join(part for part in (at.reason, at.message[:LONGEST_WORDS]) if part)
    if at.phase == "failed":
        again = f"asked for again {pause(request.attempt):.0f} s after that"
        return f"{named} was in vain, {again}{f'; it says {said}' if said else ''}"
    if at.phase == "provisioned":
        return f"{named} is provisioned, its nodes are waited for{f'; it says {said}' if said else ''}"
    return f"Nodes for all of them are asked for by {named}{f', which says {said}' if said else ', which has no answer yet'}"


def digest(lack: Lack) -> str:
    """Return what a request for a gang asks for, in short: another digest is another request."""
    asked = lack.asked
    parts = [
        asked.class_name,
        sorted(asked.parameters),
        sorted([one.count, sorted(one.demand)] for one in lack.pods),
        sorted(lack.selector),
    ]
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]


def request(lack: Lack, scheduler: str, attempt: int, version: str, templates: Sequence[str]) -> Json:
    """Return the request for a gang, whose kinds of pods are these PodTemplates; it goes with the Application, else with the first of its pods."""
    namespace, _, application = lack.application.partition("/")
    first = lack.pods[0]
    owner = (
        {"apiVersion": API_VERSION, "kind": "Application", "name": application, "uid": lack.object_uid}
        if lack.object_uid
        else {"apiVersion": "v1", "kind": "Pod", "name": first.pod, "uid": first.uid}
    )
    spec: Json = {
        "provisioningClassName": lack.asked.class_name,
        "podSets": [
            {"count": one.count, "podTemplateRef": {"name": name}} for one, name in zip(lack.pods, templates, strict=True)
        ],
    }
    if lack.asked.parameters:
        spec["parameters"] = dict(lack.asked.parameters)
    notes = {
        SCHEDULER: scheduler,
        APPLICATION: lack.application,
        GANG: lack.gang,
        ATTEMPT: str(attempt),
        CONTENT: digest(lack),
        CLASS: lack.asked.class_name,
    }
    return {
        "apiVersion": version,
        "kind": "ProvisioningRequest",
        "metadata": {
            "name": name_of(lack, scheduler, attempt),
            "namespace": namespace,
            "annotations": notes,
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def name_of(lack: Lack, scheduler: str, attempt: int) -> str:
    """Return the name of a request: the same whoever makes it, so that none is made twice."""
    parts = json.dumps([scheduler, lack.application, lack.gang, [one.uid for one in lack.pods], digest(lack)])
    return f"{scheduler[:40].rstrip('-.')}-{sha256(parts.encode()).hexdigest()[:16]}-{attempt}"


def template(pod: Mapping[str, Any], name: str, selector: Sequence[tuple[str, str]], owner: tuple[str, str, str]) -> Json:
    """Return the PodTemplate of pods like one that waits; ``owner`` is the request: its version, name and uid."""
    spec = {
        key: value
        for key, value in (pod.get("spec") or {}).items()
        if key not in {"nodeName", "schedulingGates", "ephemeralContainers"}
    }
    spec["volumes"] = [one for one in spec.get("volumes") or () if not str(one.get("name", "")).startswith(TOKENS)]
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [_without_tokens(one) for one in spec[kind]]
    if selector:
        spec["nodeSelector"] = {**dict(selector), **(spec.get("nodeSelector") or {})}
    meta = pod.get("metadata") or {}
    version, owning, uid = owner
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {
            "name": name,
            "namespace": meta.get("namespace", ""),
            "ownerReferences": [{"apiVersion": version, "kind": "ProvisioningRequest", "name": owning, "uid": uid}],
        },
        "template": {"metadata": {"labels": dict(meta.get("labels") or {})}, "spec": spec},
    }


def _without_tokens(container: Json) -> Json:
    mounts = [one for one in container.get("volumeMounts") or () if not str(one.get("name", "")).startswith(TOKENS)]
    return {**container, "volumeMounts": mounts}
