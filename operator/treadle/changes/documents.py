"""What somebody wrote of an object, as a document: labels, annotations and the spec, without what the API server fills in."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from treadle.api.crds import schema
from treadle.api.labels import API_VERSION
from treadle.api.objects import PLURALS
from treadle.changes.edits import Json

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NOTHING: Final = object()
PARTS: Final = frozenset({"labels", "annotations", "spec"})
"""Of a document; each is an object."""


def document_of(kind: str, raw: Json) -> dict[str, Any]:
    """Return the document of an object. What is empty is left out, but for the spec."""
    metadata = raw.get("metadata") or {}
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != _APPLIED}
    said = {"labels": metadata.get("labels") or {}, "annotations": annotations}
    spec = _plain(_of_spec(kind), raw.get("spec") or {})
    return {**{name: value for name, value in said.items() if value}, "spec": {} if spec is _NOTHING else spec}


@cache
def _of_spec(kind: str) -> Json:
    return schema(kind)["properties"]["spec"]  # type: ignore[no-any-return]


def _plain(node: Json, value: Any) -> Any:
    """Return a value without defaults; nothing where it is the default itself, and was filled in."""
    fields = node.get("properties")
    if isinstance(value, dict) and fields:
        found = {name: _plain(fields.get(name, {}), one) for name, one in value.items()}
        value = {name: one for name, one in found.items() if one is not _NOTHING}
    return _NOTHING if "default" in node and value == node["default"] else value


def object_of(kind: str, name: str, document: Json) -> dict[str, Any]:
    """Return a document as an object to create."""
    metadata = {"name": name, **{field: document[field] for field in ("labels", "annotations") if document.get(field)}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": dict(document.get("spec") or {})}


def is_as_made(kind: str, raw: Json, document: Json) -> bool:
    """Whether an object is as it was when it was made of a document, apart from labels and annotations that others have added."""
    there, made = document_of(kind, raw), document_of(kind, object_of(kind, "", document))
    said = {(field, name, text) for field in ("labels", "annotations") for name, text in made.get(field, {}).items()}
    return there["spec"] == made["spec"] and said <= {
        (field, name, text) for field in ("labels", "annotations") for name, text in there.get(field, {}).items()
    }


def rewritten(raw: Json, document: Json) -> dict[str, Any]:
    """Return an object with another document, all else as it is."""
    metadata = dict(raw["metadata"])
    applied = (metadata.get("annotations") or {}).get(_APPLIED)
    annotations = {**(document.get("annotations") or {}), **({_APPLIED: applied} if applied else {})}
    metadata |= {"labels": document.get("labels") or {}, "annotations": annotations}
    return {**raw, "metadata": metadata, "spec": document.get("spec") or {}}


def path_of(kind: str, name: str = "") -> str:
    """Return the URL path of an object, or of its kind."""
    return f"/apis/{API_VERSION}/{PLURALS[kind]}{f'/{name}' if name else ''}"
