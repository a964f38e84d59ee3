"""The four ways to patch: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7386), strategic merge, and apply as a merge.

Strategic merge knows the merge keys of the built-in kinds by the name of the list (``patchMergeKey`` in k8s.io/api). Apply keeps
no field managers: what a later apply leaves out stays.
"""

from typing import Any

from treadle.fakeapi.errors import ApiError, Json, bad_request

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_BY_NAME = "containers initContainers ephemeralContainers volumes env imagePullSecrets schedulingGates resourceClaims secrets"
_MERGE_KEYS = {
    **dict.fromkeys(_BY_NAME.split(), "name"),
    "conditions": "type",
    "addresses": "type",
    "taints": "key",
    "ownerReferences": "uid",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "topologySpreadConstraints": "topologyKey",
    "hostAliases": "ip",
}


def apply_patch(content_type: str, old: Json, patch: Any, *, custom: bool) -> Json:
    """The patched object; `old` is left alone. Raises ApiError: 400, 415 or 422 for a patch that cannot be used."""
    result: Json
    if content_type == JSON_PATCH:
        try:
            result = _json_patch(old, patch)
        except (LookupError, TypeError, ValueError) as error:
            text = f"the server rejected our request due to an error in our request: {type(error).__name__}: {error}"
            raise ApiError(422, "Invalid", text) from error
        return result
    if content_type not in {MERGE, STRATEGIC, APPLY} or (content_type == STRATEGIC and custom):
        raise ApiError(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {content_type}")
    if not isinstance(patch, dict):
        raise bad_request("a patch must be an object")
    result = _merge(old, patch) if content_type == MERGE or custom else _strategic(old, patch)
    return result


def _merge(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return result


def _strategic(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    if "$patch" in patch:
        return {key: value for key, value in patch.items() if key != "$patch"} if patch["$patch"] == "replace" else {}
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            result[name] = [item for item in result.get(name) or () if item not in value]
        elif key == "$retainKeys":
            result = {name: kept for name, kept in result.items() if name in value}
        elif key.startswith("$"):
            continue  # $setElementOrder: the order of a merged list means nothing here
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = (
                _merge_list(key, result.get(key) or [], value) if isinstance(value, list) else _strategic(result.get(key), value)
            )
    return result


def _merge_list(name: str, old: list[Any], patch: list[Any]) -> list[Any]:
    if name == "finalizers":
        return old + [item for item in patch if item not in old]
    key = _MERGE_KEYS.get(name)
    if name == "ports":
        key = "containerPort" if any("containerPort" in item for item in (*old, *patch)) else "port"
    if key is None:
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    merged = {item.get(key): item for item in old}
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        merged[item[key]] = _strategic(merged.get(item[key]), item)
    return [item for item in merged.values() if item]


def _json_patch(old: Json, operations: list[Json]) -> Json:
    document: Any = {"": old}
    for operation in operations:
        path = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")]
        if operation["op"] == "test":
            found = document
            for part in path:
                found = found[int(part)] if isinstance(found, list) else found[part]
            if found != operation.get("value"):
                raise ValueError(f"testing path {operation['path']} failed")
        elif operation["op"] in {"add", "replace", "remove"}:
            document = _edited(document, path, operation["op"], operation.get("value"))
        else:
            raise bad_request(f"unexpected operation: {operation['op']}")
    result: Json = document[""]
    return result


def _edited(node: Any, path: list[str], verb: str, value: Any) -> Any:
    """A copy of `node` with the change; only what lies on the path is copied."""
    copied: Any = list(node) if isinstance(node, list) else dict(node)
    index: Any = path[0] if isinstance(node, dict) else len(node) if path[0] == "-" else int(path[0])
    if path[1:]:
        copied[index] = _edited(copied[index], path[1:], verb, value)
    elif verb == "add" and isinstance(copied, list):
        copied.insert(index, value)
    elif verb == "add" or copied[index] is not copied:  # the look-up fails where there is nothing to replace or remove
        if verb == "remove":
            del copied[index]
        else:
            copied[index] = value
    return copied
