"""A change of the CapacityScheduler's configuration as YARN's clients send it (``SchedConfUpdateInfo``), and what it makes of the properties.

In JSON and XML, as Hadoop's own client and its documentation write it; a map may also be a JSON object. Queues are removed, added and changed in this order, then come properties of
the whole scheduler (``ConfigurationUpdateAssembler``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from treadle.convert.capacity_file import PREFIX
from treadle.convert.errors import AllocationError
from treadle.convert.xml import Element, parse

Params = dict[str, str | None]
_QUEUE_FIELDS: Final = frozenset({"queue-name", "params"})
_FIELDS: Final = frozenset({"add-queue", "remove-queue", "update-queue", "global-updates"})
_ROOT: Final = "sched-conf"
_NAMED: Final = _QUEUE_FIELDS | _FIELDS | {_ROOT, "entry", "key"}
MOST_QUEUES: Final = 1000
"""Queues that one change may name, and bring."""


class Malformed(Exception):
    """A body that is no such change; the message names the field and what is allowed."""


class Inapplicable(Exception):
    """A change that cannot be made to the configuration that there is."""


@dataclass(frozen=True, slots=True)
class Update:
    """Queues to remove by path; to add, and to change, with their properties; and properties by whole names. None, or nothing, unsets one."""

    remove: tuple[str, ...] = ()
    add: tuple[tuple[str, Params], ...] = ()
    update: tuple[tuple[str, Params], ...] = ()
    everywhere: tuple[tuple[str, str | None], ...] = ()


def from_json(body: Any) -> Update:
    """Read the decoded body. Raises ``Malformed``."""
    if isinstance(body, dict) and body.keys() == {_ROOT}:
        body = body[_ROOT]
    found = _object(body, "the body", _FIELDS)
    return Update(
        tuple(_text(one, "remove-queue") for one in _listed(found.get("remove-queue"))),
        tuple(_queue(one, "add-queue") for one in _listed(found.get("add-queue"))),
        tuple(_queue(one, "update-queue") for one in _listed(found.get("update-queue"))),
        tuple(_params(found.get("global-updates"), "global-updates").items()),
    )


def from_xml(body: bytes) -> Update:
    """Read the body. Raises ``Malformed``."""
    try:
        document = parse(body)
    except (AllocationError, ValueError) as error:
        raise Malformed(f"the body is not XML: {error}") from None
    if document.tag != _ROOT:
        raise Malformed(f"the document element is {document.tag!r}; it must be {_ROOT!r}")
    return from_json(_of_element(document))


def _of_element(element: Element) -> Any:
    """Return an element as Hadoop's JSON has it: children by their names, one as itself and several as a list. Raises ``Malformed`` for what nobody would act on."""
    if element.attributes:
        raise Malformed(f"{element.tag}: the attribute {next(iter(element.attributes))!r} is not read; no attribute is")
    if element.children and element.text.strip():
        raise Malformed(f"{element.tag}: the text {element.text.strip()[:100]!r} stands beside elements, and is not read")
    if not element.children:
        # A blank in front of groups, or alone, is what an access list says; one around lines is the writer's.
        said = element.tag not in _NAMED and "\n" not in element.text
        return element.text if said else element.text.strip()
    found: dict[str, Any] = {}
    for child in element.children:
        value = _of_element(child)
        if child.tag not in found:
            found[child.tag] = value
        elif isinstance(found[child.tag], list):
            found[child.tag].append(value)
        else:
            found[child.tag] = [found[child.tag], value]
    return found


def _queue(said: Any, where: str) -> tuple[str, Params]:
    found = _object(said, where, _QUEUE_FIELDS)
    if "queue-name" not in found:
        raise Malformed(f"{where}: queue-name is missing")
    return _text(found["queue-name"], f"{where}.queue-name"), _params(found.get("params"), f"{where}.params")


def _params(said: Any, where: str) -> Params:
    """Read a map: ``{"entry": [{"key": ..., "value": ...}]}``, or an object of texts."""
    found: Params = {}
    for one in _listed(said):
        if not isinstance(one, dict):
            raise Malformed(f"{where}: {one!r} is not an object")
        entries = (
            [_entry(entry, f"{where}.entry") for entry in _listed(one["entry"])]
            if one.keys() == {"entry"} and not isinstance(one["entry"], str)
            else list(one.items())
        )
        found |= {key: None if value is None else _text(value, f"{where}.{key}") for key, value in entries}
    return found


def _entry(said: Any, where: str) -> tuple[str, Any]:
    entry = _object(said, where, frozenset({"key", "value"}))
    if not entry.get("key"):
        raise Malformed(f"{where}: key is missing")
    return _text(entry["key"], f"{where}.key"), entry.get("value")


def _object(said: Any, where: str, allowed: frozenset[str]) -> dict[str, Any]:
    if said == "":  # an empty element
        return {}
    if not isinstance(said, dict):
        raise Malformed(f"{where} is not an object with any of {', '.join(sorted(allowed))}")
    for name in said:
        if name not in allowed:
            raise Malformed(f"{where}: {name!r} is not known; allowed are {', '.join(sorted(allowed))}")
    return said


def _listed(said: Any) -> list[Any]:
    return [] if said is None or said == "" else said if isinstance(said, list) else [said]


def _text(said: Any, where: str) -> str:
    if isinstance(said, bool):
        return "true" if said else "false"
    if not isinstance(said, str | int | float):
        raise Malformed(f"{where}: {said!r} is not a text")
    return str(said)


def applied(properties: Mapping[str, str], update: Update) -> dict[str, str]:
    """Return the properties with a change made to them. Raises ``Inapplicable``."""
    named = len(update.remove) + len(update.add) + len(update.update)
    if named > MOST_QUEUES:
        raise Inapplicable(f"{named} queues are named; {MOST_QUEUES} are allowed, make the change in parts")
    found = dict(properties)
    for path in update.remove:
        _remove(found, path)
    for path, params in update.add:
        _add(found, path, params)
    for path, params in update.update:
        if not _is_there(found, path):
            raise Inapplicable(f"Queue {path} not found")
        _set(found, f"{PREFIX}{path}.", params)
    _set(found, "", dict(update.everywhere))
    return found


def _remove(found: dict[str, str], path: str) -> None:
    above, _, name = path.rpartition(".")
    if not above:
        raise Inapplicable(f"Can't remove queue {path}")
    siblings = _children(found, above)
    if name not in siblings:
        raise Inapplicable(f"Queue {path} not found")
    _set_children(found, above, [one for one in siblings if one != name])
    for key in [key for key in found if key.startswith(f"{PREFIX}{path}.")]:
        del found[key]


def _add(found: dict[str, str], path: str, params: Params) -> None:
    above, _, name = path.rpartition(".")
    siblings = _children(found, above)
    if not above:
        raise Inapplicable(f"Can't add invalid queue {path}")
    if not _is_there(found, above):  # where Hadoop keeps properties that nothing reads
        raise Inapplicable(f"Can't add queue {path}: there is no queue {above}")
    if name in siblings:
        raise Inapplicable(f"Can't add existing queue {path}")
    _set_children(found, above, [*siblings, name])
    _set(found, f"{PREFIX}{path}.", params)
    if not siblings:
        found.pop(f"{PREFIX}{above}.ordering-policy", None)


def _set_children(found: dict[str, str], path: str, names: list[str]) -> None:
    if names:
        found[f"{PREFIX}{path}.queues"] = ",".join(names)
        return
    found.pop(f"{PREFIX}{path}.queues", None)
    found.pop(f"{PREFIX}{path}.ordering-policy", None)  # the queue is a leaf now, whose orders are others


def _set(found: dict[str, str], prefix: str, params: Params) -> None:
    for key, value in params.items():
        if value:
            found[prefix + key] = value
        else:
            found.pop(prefix + key, None)


def _children(properties: Mapping[str, str], path: str) -> list[str]:
    return [name.strip() for name in properties.get(f"{PREFIX}{path}.queues", "").split(",") if name.strip()]


def _is_there(properties: Mapping[str, str], path: str) -> bool:
    at, *names = path.split(".")
    there = at == "root"
    for name in names:
        there = there and name in _children(properties, at)
        at = f"{at}.{name}"
    return there


def _paths(properties: Mapping[str, str]) -> Iterator[str]:
    left = ["root"]
    while left:
        path = left.pop()
        yield path
        left += [f"{path}.{name}" for name in reversed(_children(properties, path))]


def new_queues(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the paths that are new. Raises ``Inapplicable`` where there are too many."""
    known, found = set(_paths(before)), list[str]()
    for path in _paths(after):
        if path not in known:
            found.append(path)
        if len(found) > MOST_QUEUES:
            raise Inapplicable(f"more than {MOST_QUEUES} queues are new; {MOST_QUEUES} are allowed, make the change in parts")
    return found


def states(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise ``Inapplicable`` where a queue goes, or a leaf becomes a parent, that is not stopped (``CapacitySchedulerConfigValidator``)."""
    left = set(_paths(after))
    for path in _paths(before):
        stopped = "STOPPED" in {one.get(f"{PREFIX}{path}.state", "").strip().upper() for one in (before, after)}
        if stopped:
            continue
        if path not in left:
            raise Inapplicable(
                f"{path} cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : RUNNING"
            )
        if path != "root" and not _children(before, path) and _children(after, path):
            raise Inapplicable(
                f"Can not convert the leaf queue: {path} to parent queue since it is not yet in stopped state. Current State : RUNNING"
            )
