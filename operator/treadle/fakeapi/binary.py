"""Objects in Kubernetes' binary form, as ``kubectl create namespace`` and its like send them: the few kinds that people make without a manifest.

Names and numbers are those of ``generated.proto`` in ``k8s.io/api`` and ``k8s.io/apimachinery``.
"""

from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from treadle.fakeapi.errors import ApiError, Json, bad_request

MAGIC: Final = b"k8s\0"
_PACKAGE: Final = "fakeapi"
_SCALARS: Final = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "bool": FieldDescriptorProto.TYPE_BOOL,
}
_MESSAGES: Final[dict[str, dict[str, tuple[int, str]]]] = {
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
_KINDS: Final = ("Namespace", "ServiceAccount", "ConfigMap", "PriorityClass")
_MAPS: Final = ("labels", "annotations", "data")


def _classes() -> dict[str, Any]:
    file = FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, wanted) in fields.items():
            many, kind = wanted.startswith("*"), wanted.removeprefix("*")
            label = FieldDescriptorProto.LABEL_REPEATED if many else FieldDescriptorProto.LABEL_OPTIONAL
            made = message.field.add(name=field, number=number, label=label)
            if kind in _SCALARS:
                made.type = _SCALARS[kind]
            else:
                made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_CLASSES: Final = _classes()


def read(raw: bytes) -> Json:
    """Return an object as JSON has it. Raises ``ApiError``: 415 for a kind that is not read here, 400 for what is no object."""
    if not raw.startswith(MAGIC):
        raise bad_request("the body is not in the binary form of Kubernetes")
    try:
        whole = _CLASSES["Unknown"].FromString(raw[len(MAGIC) :])
        kind = whole.typeMeta.kind
        if kind not in _KINDS:
            raise ApiError(
                415,
                "UnsupportedMediaType",
                f"the embedded API server reads {', '.join(_KINDS)} in binary form and all else as JSON: "
                "use a manifest, with apply -f or create -f",
            )
        said = MessageToDict(_CLASSES[kind].FromString(whole.raw), preserving_proto_field_name=True)
    except DecodeError as error:
        raise bad_request(f"the body cannot be read: {error}") from error
    return {"apiVersion": whole.typeMeta.apiVersion, "kind": kind, **_plain(said)}


def _plain(said: Json) -> Json:
    """Return a message with its entries as maps, and without what is empty: Go sends all fields that are no pointers."""
    found: Json = {}
    for name, value in said.items():
        if name in _MAPS:
            found[name] = {one["key"]: one.get("value", "") for one in value}
        elif isinstance(value, dict):
            found[name] = _plain(value)
        elif value != "":
            found[name] = value
    return found
