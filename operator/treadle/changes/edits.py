"""What differs between two versions of an object, as edits of fields, which can be made in a third version, and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = Mapping[str, Any]


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""The value of a field that is not there."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A field, by the names on the way to it, with its value before and after; a list is one value."""

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def undone(self) -> Edit:
        """The edit that takes this one back."""
        return Edit(self.path, self.after, self.before)

    @property
    def where(self) -> str:
        """The field as it is written in words."""
        return ".".join(self.path)

    def written(self) -> dict[str, Any]:
        """Return it as JSON; a value that is absent has no key."""
        said = {"before": self.before, "after": self.after}
        return {"field": list(self.path), **{name: value for name, value in said.items() if value is not ABSENT}}

    @staticmethod
    def read(said: Json) -> Edit:
        """Return what ``written`` wrote. Raises ``ValueError`` for anything else."""
        path = said.get("field")
        if not isinstance(path, list) or not all(isinstance(name, str) for name in path):
            raise ValueError(f"not an edit: {said!r}")
        return Edit(tuple(path), said.get("before", ABSENT), said.get("after", ABSENT))


def edits(before: Json, after: Json, at: tuple[str, ...] = ()) -> Iterator[Edit]:
    """Yield what makes ``after`` of ``before``, fields in the order of their names."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ABSENT), after.get(name, ABSENT)
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from edits(old, new, (*at, name))
        else:
            yield Edit((*at, name), old, new)


def edited(document: Json, made: Iterable[Edit]) -> dict[str, Any]:
    """Return a document with edits made in it. What they say nothing of stays, also within a block that they make or remove."""
    found: Any = document
    for edit in made:
        found = _edited(found, edit.path, edit)
    return dict(found)


def _edited(document: Json, path: tuple[str, ...], edit: Edit) -> dict[str, Any]:
    name, *rest = path
    there = document.get(name, ABSENT)
    if rest:
        new: Any = _edited(there if isinstance(there, Mapping) else {}, tuple(rest), edit)
    elif edit.after is ABSENT:
        new = _without(there, edit.before)
    else:
        new = _with(there, edit.after)
    kept = {key: value for key, value in document.items() if key != name}
    return kept if new is ABSENT else {**document, name: new}


def _with(there: Any, said: Any) -> Any:
    if not (isinstance(there, Mapping) and isinstance(said, Mapping)):
        return said
    return {**there, **{name: _with(there.get(name, ABSENT), value) for name, value in said.items()}}


def _without(there: Any, said: Any) -> Any:
    """Return what is left when what was said goes: a block stays for what else is in it."""
    if not (isinstance(there, Mapping) and isinstance(said, Mapping)):
        return ABSENT
    left = {name: _without(value, said[name]) if name in said else value for name, value in there.items()}
    return {name: value for name, value in left.items() if value is not ABSENT} or ABSENT


def overtaken(document: Json, made: Iterable[Edit]) -> list[Edit]:
    """Return those edits whose fields have other values by now than they gave them."""
    return [edit for edit in made if not _stands(_at(document, edit.path), edit)]


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(document, Mapping) or name not in document:
            return ABSENT
        document = document[name]
    return document


def _stands(there: Any, edit: Edit) -> bool:
    if edit.after is not ABSENT:
        return _has(there, edit.after)
    return there is ABSENT or (
        isinstance(edit.before, Mapping) and isinstance(there, Mapping) and not edit.before.keys() & there.keys()
    )


def _has(there: Any, said: Any) -> bool:
    if isinstance(there, Mapping) and isinstance(said, Mapping):
        return all(name in there and _has(there[name], value) for name, value in said.items())
    return bool(there == said)
