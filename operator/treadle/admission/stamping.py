"""Who made an object is written on it, as annotations that access lists go by (``treadle.api.identity``).

Pods, Applications and Reservations are stamped when they are made, whatever stood there. The pod templates of workloads keep the stamp of whoever made them
through every edit, since controllers make pods of them for that user.

It is not asked which objects are ours, and whose requests are let through: the conditions of the chart say it, the same for its MutatingAdmissionPolicies and its
webhook, and what does not meet them never comes here. Done again it changes nothing, so it may be invoked anew after others have written annotations.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from treadle.api import labels
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER

Json = dict[str, Any]
Path = tuple[str, ...]
ITSELF: Final[Path] = ()
TEMPLATE: Final[Path] = ("spec", "template")
PATHS: Final[Mapping[tuple[str, str], Path]] = {
    ("", "pods"): ITSELF,
    (labels.GROUP, "applications"): ITSELF,
    (labels.GROUP, "reservations"): ITSELF,
    ("batch", "jobs"): TEMPLATE,
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    **{("apps", kind): TEMPLATE for kind in ("deployments", "replicasets", "statefulsets", "daemonsets")},
    ("", "replicationcontrollers"): TEMPLATE,
}
"""What is stamped of a resource, by its group and name: the object itself, or the template in it."""


def stamp(request: Mapping[str, Any]) -> list[Json]:
    """Return the operations of a JSON patch (RFC 6902) that stamp the object of an admission request; none where the stamp is there.

    Raises ``ValueError`` for what is not stamped, and ``LookupError`` or ``TypeError`` for what is no request.
    """
    resource, operation = request["resource"], request["operation"]
    path = PATHS.get((resource["group"], resource["resource"]))
    if path is None or operation not in (("CREATE",) if path == ITSELF else ("CREATE", "UPDATE")):
        raise ValueError(f"{operation} of {resource['resource']} in group {resource['group']!r} is nothing that is stamped")
    first = _annotations(request["oldObject"], path) if operation == "UPDATE" else {}
    if first.get(STAMPED_USER):
        wanted = {STAMPED_USER: first[STAMPED_USER], STAMPED_GROUPS: first.get(STAMPED_GROUPS, "")}
    else:
        user = request["userInfo"]
        wanted = {STAMPED_USER: user["username"], STAMPED_GROUPS: groups_said(user.get("groups") or ())}
    return _written(request["object"], path, wanted)


def groups_said(groups: Iterable[str]) -> str:
    """Return the groups of a stamp: without those that the API server gives (``system:``), and those with a comma, which could not be told apart."""
    return ",".join(group for group in groups if not group.startswith("system:") and "," not in group)


def _annotations(body: Mapping[str, Any], path: Path) -> Mapping[str, str]:
    for name in path:
        body = body[name]
    found: Mapping[str, str] = (body.get("metadata") or {}).get("annotations") or {}
    return found


def _written(body: Mapping[str, Any], path: Path, wanted: Mapping[str, str]) -> list[Json]:
    for name in path:
        body = body[name]
    metadata = body.get("metadata")
    if not metadata:
        return [_add((*path, "metadata"), {"annotations": dict(wanted)})]
    annotations = metadata.get("annotations")
    if not annotations:
        return [_add((*path, "metadata", "annotations"), dict(wanted))]
    return [_add((*path, "metadata", "annotations", key), text) for key, text in wanted.items() if annotations.get(key) != text]


def _add(path: Sequence[str], value: Any) -> Json:
    return {"op": "add", "path": "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in path), "value": value}
