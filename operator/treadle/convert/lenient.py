"""Conversion that goes on: what Hadoop refuses is left out, one element or property after the other, with a line that says which and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from treadle.convert.capacity_file import PREFIX, CapacityFileError
from treadle.convert.errors import AllocationError
from treadle.convert.objects import Converted
from treadle.convert.xml import Element

MOST: Final = 200
"""Parts that are left out: a file of which more is refused is another one than is thought."""
_FIELD: Final = re.compile(r"(root(?:\.[^\s:.]+)*): ([a-z-]+(?:\.[a-z-]+)*)")


def fair(document: Element, convert: Callable[[Element], Converted]) -> Converted:
    """Convert an allocation file without its refused elements. Raises ``AllocationError`` where one of them has no element that could be left out."""
    left_out: list[str] = []
    error = _refused(document, convert)
    while isinstance(error, AllocationError):
        if len(left_out) >= MOST:
            raise error
        for above, one in _on_line(document, error.line):
            place = above.children.index(one)
            above.children.remove(one)
            then = _refused(document, convert)
            if not isinstance(then, AllocationError) or str(then) != str(error):
                left_out.append(f"REFUSED line {one.line}: {_shown(one)} is left out: {error.message}")
                break
            above.children.insert(place, one)
        else:
            raise error
        error = then
    return Converted(error.objects, [*left_out, *error.notes])


def _refused(document: Element, convert: Callable[[Element], Converted]) -> AllocationError | Converted:
    """Return what a document is refused for, or what it becomes."""
    try:
        return convert(document)
    except AllocationError as error:
        return error


def _on_line(document: Element, line: int) -> list[tuple[Element, Element]]:
    """Return the elements that begin on a line with what each is in, the innermost first, so that as little as possible is left out."""
    found: list[tuple[Element, Element]] = []
    waiting = [document]
    for above in waiting:
        found += [(above, one) for one in above.children if one.line == line]
        waiting += above.children
    return found[::-1]


def _shown(element: Element) -> str:
    name = element.attributes.get("name")
    text = element.text.strip()[:40]
    return f"<{element.tag}{f' name={name!r}' if name is not None else ''}>{f' {text}' if text else ''}"


def capacity(values: dict[str, str], convert: Callable[[dict[str, str]], Converted]) -> Converted:
    """Convert a CapacityScheduler's properties without the refused ones. Raises ``CapacityFileError`` where it is none of them alone."""
    left_out: list[str] = []
    while True:
        try:
            found = convert(values)
        except CapacityFileError as error:
            name = _property(error, values)
            if not name or len(left_out) >= MOST:
                raise
            left_out.append(f"REFUSED {name}: {values.pop(name)!r} is left out: {error.message}")
        else:
            return Converted(found.objects, [*left_out, *found.notes])


def _property(error: CapacityFileError, values: dict[str, str]) -> str:
    """Return the property that is refused, empty where it is not one alone."""
    if error.name in values:
        return error.name
    named = _FIELD.match(error.message)
    name = f"{PREFIX}{named[1]}.{named[2]}" if named is not None else ""
    return name if name in values else ""
