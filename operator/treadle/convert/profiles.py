"""YARN's resource profiles (``resource-profiles.json``) as those of a Scheduler; what Hadoop's ``ResourceProfilesManagerImpl`` refuses is refused."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from treadle.api.profiles import RESERVED
from treadle.convert.amounts import MEMORY, VCORES

NAMES: Final = {MEMORY: "memory", VCORES: "cpu"}
DEFAULT: Final = "default"
LONGEST_NAME: Final = 63
_VALUE: Final = re.compile(r"([0-9]{1,18})([A-Za-z]*)", re.ASCII)
_UNITS: Final = frozenset({"", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"})


class ProfilesRefused(Exception):
    """A file of resource profiles that Hadoop refuses, or whose words mean nothing here; the message says which profile and value."""


def read(text: str) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the profiles, and notes about what has no counterpart. Raises ``ProfilesRefused``."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfilesRefused(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ProfilesRefused("not a map of profiles by name")
    profiles: dict[str, dict[str, str]] = {}
    notes: list[str] = []
    for name, said in found.items():
        if name in RESERVED:
            raise ProfilesRefused(
                f"profile {name!r}: minimum and maximum are not named here, they are those of resource-types.xml"
            )
        if isinstance(said, dict):  # Hadoop passes over anything else
            profiles[_renamed(name, profiles, notes)] = _amounts(name, said)
    if DEFAULT not in found:
        raise ProfilesRefused("the profile 'default' is missing")
    notes.append("profile default: pods that name no profile have what they request, and nothing if they request nothing")
    return profiles, notes


def _renamed(name: str, taken: dict[str, dict[str, str]], notes: list[str]) -> str:
    better = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_NAME].rstrip("-")
    if not better or better in taken or better in RESERVED:
        raise ProfilesRefused(
            f"profile {name[:64]!r}: its name cannot be told from others in lower-case letters, digits and hyphens"
        )
    if better != name:
        notes.append(f"profile {name[:64]} is called {better}")
    return better


def _amounts(profile: str, said: dict[str, Any]) -> dict[str, str]:
    for needed in NAMES:
        if needed not in said:
            raise ProfilesRefused(f"profile {profile!r} must contain {MEMORY!r} and {VCORES!r}")
    return {NAMES.get(name, name): _amount(profile, name, str(value)) for name, value in said.items()}


def _amount(profile: str, name: str, text: str) -> str:
    match = _VALUE.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise ProfilesRefused(
            f"profile {profile!r}: {name} {text[:40]!r} is not a whole number, perhaps with a unit such as k, M or Gi"
        )
    if name == MEMORY:
        if match[2] not in {"", "Mi"}:
            raise ProfilesRefused(
                f"profile {profile!r}: {name} {text[:40]!r}: Hadoop takes the number for MiB, whatever the unit; allowed is Mi or none"
            )
        return f"{match[1]}Mi"
    if name == VCORES and match[2]:
        raise ProfilesRefused(f"profile {profile!r}: {name} {text[:40]!r}: Hadoop takes the number alone; allowed is no unit")
    return text
