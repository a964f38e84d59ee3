"""What the files of other Kubernetes schedulers have in common: YAML within bounds, amounts, names, and words for what has no counterpart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from treadle.api.labels import API_VERSION
from treadle.convert.names import RULE, NameRefused, Renames, clean
from treadle.kube.quantities import exact, text_of

MOST_BYTES: Final = 16 << 20
MOST_VALUES: Final = 2_000_000
"""Values of a file, with those that stand in several places by aliases each time: else a few lines may stand for billions."""
MOST_LEVELS: Final = 64
NO_COUNTERPART: Final = "has no counterpart"

Json = dict[str, Any]


class PeerRefused(ValueError):
    """A file that cannot be carried over; the message names the object, the field, the value and what is allowed."""


def documents(text: bytes) -> list[Any]:
    """Return the documents of a YAML file. Raises ``PeerRefused``."""
    if len(text) > MOST_BYTES:
        raise PeerRefused(f"the file has {len(text)} bytes; allowed are {MOST_BYTES}")
    try:
        found = [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise PeerRefused(f"not YAML{where}: {getattr(error, 'problem', None) or 'it cannot be read'}") from None
    except RecursionError:
        raise PeerRefused(f"not read: it is nested deeper than {MOST_LEVELS} levels") from None
    _check_size(found)
    return found


def _check_size(found: list[Any]) -> None:
    count = 0
    waiting: list[tuple[Any, int]] = [(found, 0)]
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > MOST_LEVELS or count > MOST_VALUES:
            what = f"nested deeper than {MOST_LEVELS} levels" if depth > MOST_LEVELS else f"of more than {MOST_VALUES} values"
            raise PeerRefused(f"not read: it is {what}")
        if isinstance(value, Mapping):
            waiting += [(one, depth + 1) for one in value.values()]
        elif isinstance(value, list):
            waiting += [(one, depth + 1) for one in value]


def mapping(where: str, value: Any) -> Json:
    """Return a mapping, empty where there is nothing. Raises ``PeerRefused``."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise PeerRefused(f"{where}: {str(value)[:60]!r} is not a mapping")
    return value


def listed(where: str, value: Any) -> list[Json]:
    """Return a list of mappings, empty where there is nothing. Raises ``PeerRefused``."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise PeerRefused(f"{where}: {str(value)[:60]!r} is not a list")
    return [mapping(f"{where}[{number}]", one) for number, one in enumerate(value)]


def word(where: str, value: Any) -> str:
    """Return a text that has to be there. Raises ``PeerRefused``."""
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
        raise PeerRefused(f"{where}: {str(value)[:60]!r} is not a name")
    return str(value).strip()


def count(where: str, value: Any) -> int:
    """Return a whole number of 0 or more. Raises ``PeerRefused``."""
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 9:
        raise PeerRefused(f"{where}: {text[:60]!r} is not a whole number of 0 or more")
    return int(text)


def truth(where: str, value: Any) -> bool:
    """Return a yes or no. Raises ``PeerRefused``."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    raise PeerRefused(f"{where}: {str(value)[:60]!r} is neither true nor false")


def amount(where: str, value: Any) -> str:
    """Return a quantity as it is written. Raises ``PeerRefused``."""
    text = str(value).strip()
    try:
        found = None if isinstance(value, bool) else exact(text)
    except ValueError:
        found = None
    if found is None or found < 0:
        raise PeerRefused(f"{where}: {text[:60]!r} is not an amount such as 500m, 4 or 16Gi")
    return text


def total(amounts: Iterable[str]) -> str:
    """Return the sum of quantities: the one that there is, or in plain numbers."""
    found = list(amounts)
    return found[0] if len(found) == 1 else text_of(sum(exact(one) for one in found))


def rest(where: str, found: Mapping[str, Any], known: Iterable[str], notes: list[str]) -> None:
    """Note each field that nobody reads."""
    notes += [f"{where}.{key}: {NO_COUNTERPART}" for key in found if key not in known and found[key] not in (None, {}, [])]


def named(renamed: Renames, path: str, notes: list[str], what: str = "queue") -> str:
    """Take a path in, whose parent was taken in before, and return ours; a line says where it is another one. Raises ``PeerRefused``."""
    try:
        ours = renamed.add(path)
    except NameRefused as error:
        raise PeerRefused(str(error)) from None
    name = path.rpartition(".")[2]
    if clean(name) != name:
        notes.append(f"{what} {path} becomes {ours}: {RULE}")
    return ours


def queue(path: str, spec: Json) -> Json:
    """Return a Queue."""
    return {"apiVersion": API_VERSION, "kind": "Queue", "metadata": {"name": path}, "spec": spec}


def scheduler(spec: Json) -> Json:
    """Return the Scheduler."""
    return {"apiVersion": API_VERSION, "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}
