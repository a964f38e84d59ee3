"""Ids of applications in YARN's form, ``application_NUMBER_NUMBER``: both numbers are a hash of the application's namespace and name, so an id is the same in each copy and after a restart."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from treadle.rest.answers import Refused

_FORM = re.compile(r"application_([0-9]{1,19})_([0-9]{1,10})", re.ASCII)
_PREFIX = "application"
_FIRST, _SECOND = (1 << 53) - 1, (1 << 31) - 1
"""The largest number that a JSON client keeps, and Java's largest int."""


@lru_cache(maxsize=1 << 17)
def id_of(identity: str) -> str:
    """Return the id of an application by its ``namespace/name``."""
    found = int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=16).digest())
    return f"application_{found & _FIRST}_{found >> 53 & _SECOND:04}"


def cluster_of(application: str) -> int:
    """Return the first number of an id."""
    return int(application.split("_")[1])


def checked(text: str) -> str:
    """Return an id as it is written here. Raises ``Refused`` in YARN's words for what is none."""
    found = _FORM.fullmatch(text)
    if found is not None:
        return f"application_{int(found[1])}_{int(found[2]):04}"
    if text.partition("_")[0] != _PREFIX:
        words = f"Invalid ApplicationId prefix: {text[:64]}. The valid ApplicationId should start with prefix application"
    else:
        words = f"Invalid ApplicationId: {text[:64]}"
    raise Refused(400, f"java.lang.IllegalArgumentException: {words}")
