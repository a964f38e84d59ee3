"""The two forms of a watch: what is told in one says the same as in the other, and frames as a server makes them."""

from __future__ import annotations

from treadle.kube import binary, wire
from treadle.kube.binary.schema import CLASSES
from treadle.kube.formats import Event, Frames, Lines

KINDS: dict[str, type] = {"pods": wire.Pod, "nodes": wire.Node, "namespaces": wire.Namespace}


def agree(resource: str, json: bytes, protobuf: bytes) -> None:
    """Assert that two lists of the same objects, to their bookmark, read the same."""
    kind = KINDS[resource]
    lines, left = Lines(kind).cut(json)
    frames, over = Frames(kind).cut(protobuf)
    assert (left, over) == (b"", b"")
    for line, message in zip(lines, frames, strict=True):
        one, other = Lines(kind).event(line), Frames(kind).event(message)
        assert isinstance(one, Event)
        assert isinstance(other, Event)
        assert other.type == one.type
        if one.type == "BOOKMARK":  # of which only the metadata counts; the server has gone on between the two
            assert other.object.metadata.annotations == one.object.metadata.annotations
            assert other.object.metadata.resource_version.isdigit()
        else:
            assert other == one
    assert len(lines) > 2


def enveloped(raw: bytes) -> bytes:
    """An object as it stands in an event or an answer."""
    return binary.MAGIC + CLASSES["Unknown"](raw=raw).SerializeToString()


def frame(change: str, blob: bytes) -> bytes:
    """An event, without its length."""
    return CLASSES["WatchEvent"](type=change, object=CLASSES["RawExtension"](raw=blob)).SerializeToString()


def refusal(code: int, reason: str, message: str) -> bytes:
    return enveloped(CLASSES["Status"](code=code, reason=reason, message=message.encode()).SerializeToString())


def pod(name: str, version: int, **annotations: str) -> bytes:
    """A pod of which only the metadata is told."""
    made = CLASSES["Pod"]()
    meta = made.metadata
    meta.name, meta.uid, meta.resourceVersion = name, f"uid-{name}" if name else "", str(version)
    for key, value in annotations.items():
        meta.annotations.append(CLASSES["TextEntry"](key=key.encode(), value=value.encode()).SerializeToString())
    return enveloped(made.SerializeToString())
