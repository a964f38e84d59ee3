"""The page of all fields of our kinds, made from their definitions: ``docs/fields.md``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

Schema = dict[str, Any]

_HEAD: Final = """# Fields

All fields of the kinds of `treadle.dev`, as `kubectl explain` tells them too. This page is made from the models (`treadle crds --write`). Amounts are quantities of
Kubernetes; durations are `30s`, `5m` or `2h`. What a field means beyond its sentence is in the page on its subject; what is not allowed is refused with the field, the value and what is.
"""
_HEADER: Final = "| field | type | default | meaning |\n| --- | --- | --- | --- |\n"
MOST_VALUES: Final = 12
"""Values of an enumeration that are listed."""


def page(definitions: Iterable[Schema]) -> str:
    """Return the page of CustomResourceDefinitions: for each kind its spec and its status."""
    return "\n".join([_HEAD, *(_kind(one) for one in definitions)])


def _kind(definition: Schema) -> str:
    spec = definition["spec"]
    version = next(one for one in spec["versions"] if one["storage"])
    schema = version["schema"]["openAPIV3Schema"]
    names, scope = spec["names"], "in a namespace" if spec["scope"] == "Namespaced" else "of the cluster"
    short = f", short {', '.join(f'`{one}`' for one in names['shortNames'])}" if names.get("shortNames") else ""
    parts = [f"## {names['kind']}\n\n`{spec['group']}/{version['name']}`, {scope}{short}. {_sentence(schema)}\n"]
    for part in ("spec", "status", "data"):
        found = schema["properties"].get(part)
        if found is not None and (rows := list(_rows(found, part))):
            parts.append(f"### {part} of {names['kind']}\n\n{_HEADER}{''.join(rows)}")
    return "\n".join(parts)


def _rows(schema: Schema, path: str) -> Iterator[str]:
    """Yield a row for each field below a path, those of lists and maps among them."""
    for name, one in schema.get("properties", {}).items():
        below, at = one, f"{path}.{name}"
        required = name in schema.get("required", ())
        default = "required" if required else _default(one)
        yield f"| `{at}` | {_type(one)} | {default} | {_sentence(one)} |\n"
        while below.get("type") == "array" or isinstance(below.get("additionalProperties"), dict):
            at += "[]" if below.get("type") == "array" else ".NAME"
            below = below["items"] if below.get("type") == "array" else below["additionalProperties"]
        yield from _rows(below, at)


def _type(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "text or number"
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"map of {_type(schema['additionalProperties'])}"
        case "object":
            return "object"
        case "string" if "enum" in schema:
            values = [f"`{one}`" for one in schema["enum"] if one]
            return ", ".join(values[:MOST_VALUES]) + (", …" if len(values) > MOST_VALUES else "")
        case "string":
            return "text"
        case "boolean":
            return "true or false"
        case kind:
            return str(kind or "any")


def _default(schema: Schema) -> str:
    if schema.get("default") in (None, {}, [], ""):
        return ""
    found = schema["default"]
    return f"`{str(found).lower() if isinstance(found, bool) else found}`"


def _sentence(schema: Schema) -> str:
    """Return a description on one line of a table."""
    return " ".join(schema.get("description", "").split()).replace("|", "\\|")
