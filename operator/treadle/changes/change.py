"""A change: what is made of which objects, in steps, and how it is kept in the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

import msgspec

from treadle.changes.documents import PARTS
from treadle.changes.edits import ABSENT, Edit, Json, edited, edits

_NAME: Final = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
_END: Final = 253402300800
"""The end of the year 9999, the last that a date can have, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to one object: edits of its document. One edit with an empty path makes or deletes it whole."""

    kind: str
    name: str
    edits: tuple[Edit, ...]

    @property
    def operation(self) -> str:
        """``Create``, ``Update`` or ``Delete``."""
        whole = not self.edits[0].path
        return "Update" if not whole else "Create" if self.edits[0].before is ABSENT else "Delete"

    @property
    def undone(self) -> Step:
        """The step that takes this one back."""
        return replace(self, edits=tuple(edit.undone for edit in reversed(self.edits)))

    @property
    def words(self) -> str:
        """The object, as it is named in sentences."""
        return f"{self.kind} {self.name}"

    def written(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "operation": self.operation,
            "edits": [edit.written() for edit in self.edits],
        }


class _WrittenStep(msgspec.Struct):
    kind: Literal["Queue", "Scheduler"]
    name: Annotated[str, msgspec.Meta(pattern=_NAME)]
    edits: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]

    def read(self) -> Step:
        """Return the step. Raises ``ValueError`` for one that makes or deletes an object and does something else as well, or makes it of anything but a document."""
        step = Step(self.kind, self.name, tuple(Edit.read(edit) for edit in self.edits))
        if not all(_of_a_document(edit, alone=len(step.edits) == 1) for edit in step.edits):
            raise ValueError(f"not a change of {step.words}: {step.edits!r}")
        return step


def _of_a_document(edit: Edit, *, alone: bool) -> bool:
    there = [value for value in (edit.before, edit.after) if value is not ABSENT]
    if not edit.path:
        return alone and len(there) == 1 and isinstance(there[0], dict) and _parts(there[0])
    return edit.path[0] in PARTS and (len(edit.path) > 1 or all(isinstance(value, dict) for value in there))


def _parts(document: Json) -> bool:
    return document.keys() <= PARTS and all(isinstance(value, dict) for value in document.values())


class _Written(msgspec.Struct):
    user: str
    groups: tuple[str, ...]
    at: Annotated[float, msgspec.Meta(ge=0, lt=_END)]
    message: str
    steps: tuple[_WrittenStep, ...]


def created(kind: str, name: str, document: Json) -> Step:
    """Return the step that makes an object."""
    return Step(kind, name, (Edit((), ABSENT, dict(document)),))


def deleted(kind: str, name: str, document: Json) -> Step:
    """Return the step that deletes an object."""
    return Step(kind, name, (Edit((), dict(document), ABSENT),))


def steps_between(kind: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Step]:
    """Yield the steps from documents by name to others: parents are made before their children, and deleted after them."""
    for name in sorted(after.keys() - before.keys(), key=lambda name: (name.count("."), name)):
        yield created(kind, name, after[name])
    for name in sorted(before.keys() & after.keys()):
        made = tuple(edits(before[name], after[name]))
        if made:
            yield Step(kind, name, made)
    for name in sorted(before.keys() - after.keys(), key=lambda name: (-name.count("."), name)):
        yield deleted(kind, name, before[name])


def outcome(documents: Mapping[str, Json], steps: Iterable[Step]) -> dict[str, Json]:
    """Return documents by name after steps of one kind were made to them."""
    found = dict(documents)
    for step in steps:
        if step.operation == "Create":
            found[step.name] = step.edits[0].after
        elif step.operation == "Delete":
            found.pop(step.name, None)
        else:
            found[step.name] = edited(found[step.name], step.edits)
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """Steps, who asked for them, when (in seconds since the epoch), and what he said about it."""

    steps: tuple[Step, ...]
    user: str
    groups: tuple[str, ...] = ()
    at: float = 0.0
    message: str = ""

    def written(self) -> bytes:
        """Return it as JSON."""
        said = {
            "user": self.user,
            "groups": list(self.groups),
            "at": self.at,
            "message": self.message,
            "steps": [step.written() for step in self.steps],
        }
        return msgspec.json.encode(said)

    @staticmethod
    def read(text: bytes) -> Change:
        """Return what ``written`` wrote. Raises ``ValueError`` for anything else: others may have written it."""
        try:
            said = msgspec.json.decode(text, type=_Written)
            return Change(tuple(step.read() for step in said.steps), said.user, said.groups, said.at, said.message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"not a change: {error!r}") from None
