"""What a watch says, in the two forms in which an API server says it: JSON lines, and frames of protobuf.

Kinds that are built in are asked for in protobuf, with JSON as the second choice: the server needs about a third of the time to
write it, once for everybody who watches in it as other controllers do, and sends half as many bytes. Our own kinds exist in JSON
only.
"""

from typing import Final, Generic, Protocol, TypeVar

import msgspec

from treadle.kube import binary
from treadle.kube.errors import ApiError
from treadle.kube.wire import Metadata, Object, Status, Wire

T = TypeVar("T", bound=Object)

JSON: Final = "application/json"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
PREFERRED: Final = f"{PROTOBUF};stream=watch, {JSON}"
"""What is accepted of a watch, the best first; refusals come in the same form."""
HEAD: Final = 4
"""Bytes before each frame: its length, the highest byte first."""


class Event(Wire, Generic[T]):
    """One change of an object, or a bookmark, whose object has but a version."""

    type: str
    object: T


class Unreadable(Wire):
    """An event about an object that does not fit its kind; only its identity and its version can be used."""

    type: str
    metadata: Metadata
    why: str


class Bare(Wire):
    """An object without anything but its metadata."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class _BareEvent(Wire):
    type: str
    object: Bare


class _ErrorEvent(Wire):
    object: Status


class Expired(Exception):
    """The version to resume from is too old: list again."""


class Format(Protocol[T]):
    """How messages are told apart and read."""

    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        """Return the whole messages that data begins with, and what follows them."""

    def event(self, message: bytes) -> Event[T] | Unreadable:
        """Read a message.

        Raises ``Expired``, ``ApiError`` for any other error that the server tells, and ``ValueError`` for what is no event.
        """


class Lines(Generic[T]):
    """JSON, a line for each event. There is no limit to the length of a line."""

    def __init__(self, kind: type[T]) -> None:
        self._kind: type[T] = kind
        self._decoder: msgspec.json.Decoder[Event[T]] = msgspec.json.Decoder(Event[kind])  # type: ignore[valid-type]

    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        """Return the whole lines, without empty ones."""
        lines = data.split(b"\n")
        rest = lines.pop()
        return [line for line in lines if line], rest

    def event(self, message: bytes) -> Event[T] | Unreadable:
        """Read a line. An ERROR carries a Status, whose ``status`` is a text: it does not fit our kinds."""
        try:
            event = self._decoder.decode(message)
        except msgspec.ValidationError as error:
            bare = msgspec.json.decode(message, type=_BareEvent)
            if bare.type == "DELETED":
                return Event(bare.type, self._kind(metadata=bare.object.metadata))
            if bare.type != "ERROR":
                return Unreadable(bare.type, bare.object.metadata, str(error))
        else:
            if event.type != "ERROR":
                return event
        raise _told(msgspec.json.decode(message, type=_ErrorEvent).object)


class Frames(Generic[T]):
    """Protobuf, a frame for each event."""

    def __init__(self, kind: type[T]) -> None:
        self._kind: type[T] = kind

    def cut(self, data: bytes) -> tuple[list[bytes], bytes]:
        """Return the whole frames."""
        frames, start = [], 0
        while start + HEAD <= len(data):
            end = start + HEAD + int.from_bytes(data[start : start + HEAD])
            if end > len(data):
                break
            frames.append(data[start + HEAD : end])
            start = end
        return frames, data[start:]

    def event(self, message: bytes) -> Event[T] | Unreadable:
        """Read a frame. Raises ``NotUnderstood``, which is a ``ValueError``, for an object in it that cannot be read, too."""
        change, blob = binary.event(message)
        if change == "ERROR":
            raise _told(binary.read(Status, blob))
        return Event(change, binary.read(self._kind, blob))


def _told(status: Status) -> Exception:
    return Expired() if status.code == 410 else ApiError(status.code, status.reason, status.message)


def status_of(body: bytes) -> Status:
    """Read what a refusal says, in whichever form; whatever is in none is its message."""
    try:
        if body.startswith(binary.MAGIC):
            return binary.read(Status, body)
        return msgspec.json.decode(body, type=Status)
    except ValueError:  # msgspec's errors and ours are ValueErrors
        return Status(message=body[:200].decode(errors="replace"))
