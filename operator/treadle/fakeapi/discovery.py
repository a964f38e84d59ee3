"""What a client asks before it asks for objects: versions, groups, kinds, and enough OpenAPI for kubectl (apply, explain).

The OpenAPI says of every kind that it takes ``fieldValidation``, so kubectl leaves validation to the server.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from treadle.fakeapi.errors import Json
from treadle.fakeapi.resources import Resource

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0-treadle", "gitTreeState": "clean", "platform": "embedded"}
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def answer(resources: Iterable[Resource], path: Sequence[str]) -> Json | str | None:
    """The body for a path of discovery, split at its slashes; None for any other path."""
    match path:
        case ["healthz" | "livez" | "readyz", *_]:
            return "ok"
        case ["version"]:
            return VERSION
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(r) for r in _groups(resources) if r.group]}
        case ["apis", group]:
            return next(
                ({"kind": "APIGroup", "apiVersion": "v1"} | _group(r) for r in _groups(resources) if r.group == group), None
            )
        case ["openapi", "v2"]:
            return ""  # an empty document in protobuf
        case ["openapi", "v3"]:
            roots = (_root(resource) for resource in _groups(resources))
            return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}?hash=1"} for root in roots}}
        case ["openapi", "v3", *root]:
            return _openapi([resource for resource in resources if _root(resource) == "/".join(root)])
        case ["api", _] | ["apis", _, _]:
            served = [resource for resource in resources if _root(resource) == "/".join(path)]
            listed = [item for resource in served for item in _listed(resource)]
            return (
                {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "/".join(path[1:]), "resources": listed}
                if served
                else None
            )
    return None


def _groups(resources: Iterable[Resource]) -> list[Resource]:
    """One resource of each group and version."""
    return [next(found) for _, found in groupby(sorted(resources, key=_root), _root)]


def _root(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else "api/v1"


def _group(resource: Resource) -> Json:
    version = {"groupVersion": resource.api_version, "version": resource.version}
    return {"name": resource.group, "versions": [version], "preferredVersion": version}


def _listed(resource: Resource) -> list[Json]:
    common = {"namespaced": resource.namespaced, "kind": resource.kind}
    names = {"shortNames": resource.short, "categories": resource.categories, "singularName": resource.kind.lower()}
    parts = [
        {"name": f"{resource.plural}/{part}", "singularName": "", "verbs": ["create", "get", "patch", "update"]}
        for part in resource.subresources
    ]
    return [common | part for part in ({"name": resource.plural, "verbs": _VERBS} | names, *parts)]


def _openapi(resources: Sequence[Resource]) -> Json:
    paths, schemas = {}, {}
    for resource in resources:
        gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        place = f"/{_root(resource)}/{'namespaces/{namespace}/' if resource.namespaced else ''}{resource.plural}/{{name}}"
        parameters: list[Any] = [
            {"name": name, "in": "query", "schema": {"type": "string"}} for name in ("dryRun", "fieldValidation")
        ]
        paths[place] = {
            "patch": {
                "parameters": parameters,
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": gvk,
                "responses": {},
            }
        }
        schemas[resource.kind] = (resource.schema or {"type": "object"}) | {"x-kubernetes-group-version-kind": [gvk]}
    info = {"title": "Treadle's embedded API server", "version": VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}
