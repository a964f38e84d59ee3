"""Which other scheduler a YAML file is of, and its objects as ours."""

from __future__ import annotations

from typing import Any, Final

from treadle.convert import kueue, volcano, yunikorn
from treadle.convert.objects import Converted
from treadle.convert.peers import PeerRefused, documents

READ: Final = "YuniKorn's queues.yaml, Kueue's ClusterQueues, Cohorts and LocalQueues, and Volcano's Queues"


def is_of_peer(text: bytes) -> bool:
    """Whether a file is YAML of another scheduler. Raises ``PeerRefused`` for what is no YAML."""
    return any(_system(one) for one in _flat(documents(text)))


def convert(text: bytes) -> Converted:
    """Return the Scheduler and the Queues. Raises ``PeerRefused``."""
    found = _flat(documents(text))
    systems = sorted({system for one in found if (system := _system(one))})
    if len(systems) != 1:
        raise PeerRefused(f"the file is of {' and '.join(systems) or 'no scheduler that is read'}; one at a time is read: {READ}")
    theirs = [one for one in found if _system(one)]
    others = [f"{_name(one)}: is not converted" for one in found if not _system(one)]
    match systems[0]:
        case "YuniKorn":
            result = _yunikorn(theirs)
        case "Kueue":
            result = kueue.convert(theirs)
        case _:
            result = volcano.convert(theirs)
    result.notes += others
    return result


def _yunikorn(found: list[Any]) -> Converted:
    if len(found) > 1:
        raise PeerRefused(f"there are {len(found)} queues.yaml in the file; one at a time is read")
    text = yunikorn.text_inside(found[0])
    if text is None:
        return yunikorn.convert(found[0])
    inside = documents(text.encode())
    if len(inside) != 1 or not isinstance(inside[0], dict):
        raise PeerRefused("queues.yaml: is not one document with partitions")
    return yunikorn.convert(inside[0])


def _flat(found: list[Any]) -> list[Any]:
    """Return documents, and those that a List has."""
    flat: list[Any] = []
    for one in found:
        items = one.get("items") if isinstance(one, dict) and str(one.get("kind", "")).endswith("List") else None
        flat += [each for each in items if each] if isinstance(items, list) else [one]
    return flat


def _system(one: Any) -> str:
    if kueue.is_kueue(one):
        return "Kueue"
    if volcano.is_volcano(one):
        return "Volcano"
    return "YuniKorn" if yunikorn.is_yunikorn(one) else ""


def _name(one: Any) -> str:
    if not isinstance(one, dict):
        return f"the document {str(one)[:40]!r}"
    metadata = one.get("metadata")
    return (
        f"{one.get('kind', 'an object without a kind')} {metadata.get('name', '') if isinstance(metadata, dict) else ''}".strip()
    )
