"""Names of reservations: YARN's ids and the names of our objects, which have no underscores and no upper case."""

from __future__ import annotations

import re
from itertools import count

from treadle.api.common import DNS_LABEL, NAME_LIMIT
from treadle.rest.answers import INVALID_ID, Refused

_ID = re.compile(r"reservation_([0-9]{1,19})_([0-9]{1,19})", re.ASCII)
_NAME = re.compile(r"reservation-([0-9]{1,19})-([0-9]{4,19})", re.ASCII)


class Ids:
    """Fresh ids, as YARN's server makes them: ``reservation_TIME_COUNTER``, where the time is that of its own start in ms."""

    def __init__(self, started: int) -> None:
        """Begin to count."""
        self._started, self._counter = started, count(1)

    def fresh(self) -> str:
        """Return the next one."""
        return f"reservation_{self._started}_{next(self._counter):04}"


def name_of(identity: str, *, plain: bool) -> str:
    """Return the name of the object with an id; where ``plain`` names of objects are taken as well. Raises ``Refused`` for what is neither."""
    found = _ID.fullmatch(identity)
    if found is not None:
        return f"reservation-{int(found[1])}-{int(found[2]):04}"
    if plain and len(identity) <= NAME_LIMIT and re.fullmatch(DNS_LABEL, identity):
        return identity
    raise Refused(404, f"The specified reservation id is invalid: {identity}", INVALID_ID)


def id_of(name: str) -> str:
    """Return the id by which YARN's clients know an object: its name, where that has not the form of an id."""
    found = _NAME.fullmatch(name)
    return name if found is None else f"reservation_{found[1]}_{found[2]}"
