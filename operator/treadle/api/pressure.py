"""How long tasks of a node's pods wait, as an annotation of the node tells it: ``memory.some=12.5,memory.full=3,at=2026-12-01T01:00:00Z``.

It is for nodes without our agents, whose exporter is another one or which are only pretended. Numbers are percentages of the last ten seconds (``avg10`` of the kernel's
pressure stall information), ``at`` is when they were read.
"""

from datetime import datetime
from typing import Final

from treadle.api.common import check_time
from treadle.core.model.nodes import NodePressure
from treadle.core.model.opportunistic import FULL, SOME

MOST: Final = 256
"""Characters of what a node may say."""
AT: Final = "at"
_FIELDS: Final = {
    f"{resource}.{name}": (resource, kind) for resource in ("cpu", "memory") for name, kind in (("some", SOME), ("full", FULL))
}


def pressure_of(text: str) -> NodePressure:
    """Return what a node tells. Raises ``ValueError``."""
    if len(text) > MOST:
        raise ValueError(f"{text[:60]!r} is too long: {len(text)} characters; at most {MOST} are allowed")
    found: dict[tuple[str, str], int] = {}
    at: float | None = None
    for part in text.split(","):
        name, _, value = (one.strip() for one in part.partition("="))
        if name == AT and at is None:
            try:
                check_time(value)
            except ValueError as error:
                raise ValueError(f"{AT}: {value[:40]!r} {error}") from None
            at = datetime.fromisoformat(value).timestamp()
        elif name in _FIELDS and _FIELDS[name] not in found:
            found[_FIELDS[name]] = _thousandths(name, value)
        elif name == AT or name in _FIELDS:
            raise ValueError(f"{name} stands there twice")
        else:
            raise ValueError(f"{part.strip()[:60]!r} is no FIELD=VALUE; allowed fields are {', '.join(_FIELDS)} and {AT}")
    if at is None:
        raise ValueError(f"{AT} is required: when it was read, such as 2026-12-01T01:00:00Z")
    return NodePressure(tuple(sorted(found.items())), at)


def _thousandths(name: str, text: str) -> int:
    whole, _, rest = text.partition(".")
    if text.isascii() and whole.isdigit() and len(whole) <= 3 and (not rest or rest.isdigit()) and not text.endswith("."):
        value = float(text)
        if value <= 100:
            return round(value * 10)
    raise ValueError(f"{name}: {text[:40]!r} is not allowed; it is a number from 0 to 100, such as 12.5")
