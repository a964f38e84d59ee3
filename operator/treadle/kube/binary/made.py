"""Objects in Kubernetes' binary form as ``kubectl create namespace`` and its like send them: the few kinds that people make without a manifest."""

from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

from treadle.kube.binary.objects import MAGIC, NotUnderstood
from treadle.kube.binary.schema import classes

KINDS: Final = ("Namespace", "ServiceAccount", "ConfigMap", "PriorityClass")
_MAPS: Final = ("labels", "annotations", "data")
_CLASSES: Final = classes(
    {
        "TypeMeta": {"apiVersion": (1, "string"), "kind": (2, "string")},
        "Unknown": {"typeMeta": (1, "TypeMeta"), "raw": (2, "bytes")},
        "Entry": {"key": (1, "string"), "value": (2, "string")},
        "ObjectMeta": {
            "name": (1, "string"),
            "generateName": (2, "string"),
            "namespace": (3, "string"),
            "labels": (11, "*Entry"),
            "annotations": (12, "*Entry"),
        },
        "Namespace": {"metadata": (1, "ObjectMeta")},
        "ServiceAccount": {"metadata": (1, "ObjectMeta")},
        "ConfigMap": {"metadata": (1, "ObjectMeta"), "data": (2, "*Entry")},
        "PriorityClass": {
            "metadata": (1, "ObjectMeta"),
            "value": (2, "int32"),
            "globalDefault": (3, "bool"),
            "description": (4, "string"),
            "preemptionPolicy": (5, "string"),
        },
    }
)


class KindUnread(NotUnderstood):
    """An object of a kind that is not among ``KINDS``."""


def made(raw: bytes) -> dict[str, Any]:
    """Return an object as JSON has it. Raises ``KindUnread``, and ``NotUnderstood`` for what is no object."""
    if not raw.startswith(MAGIC):
        raise NotUnderstood("the body is not in the binary form of Kubernetes")
    try:
        whole = _CLASSES["Unknown"].FromString(raw[len(MAGIC) :])
        kind = whole.typeMeta.kind
        if kind not in KINDS:
            raise KindUnread(f"{', '.join(KINDS)} are read in binary form and all else as JSON, and this is of kind {kind!r}")
        said = MessageToDict(_CLASSES[kind].FromString(whole.raw), preserving_proto_field_name=True)
    except DecodeError as error:
        raise NotUnderstood(f"the body cannot be read: {error}") from error
    return {"apiVersion": whole.typeMeta.apiVersion, "kind": kind, **_plain(said)}


def _plain(said: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its entries as maps, and without what is empty: Go sends all fields that are no pointers."""
    found: dict[str, Any] = {}
    for name, value in said.items():
        if name in _MAPS:
            found[name] = {one["key"]: one.get("value", "") for one in value}
        elif isinstance(value, dict):
            found[name] = _plain(value)
        elif value != "":
            found[name] = value
    return found
