"""Resource profiles: bundles of amounts that a Scheduler names, and what amounts come to that name them.

YARN's resource profiles are bundles that requests name. Here they stand wherever amounts are written, as resources of a domain of their own:
``profile.treadle.dev/large: 3`` is three times the bundle ``large``. What a pod asks for is what its containers request, so no pod is given a bundle: one that
names a profile (``treadle.dev/resource-profile``) is told where it asks for something else.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import UNBOUNDED, amount, format_amount

PREFIX: Final = "profile.treadle.dev/"
"""What goes before the name of a profile where it stands among resources."""
COUNT: Final = "[0-9]{1,9}"
COUNT_TEXT: Final = f"{PREFIX}NAME must have a whole number up to 999999999: how many times the profile"
NESTED_TEXT: Final = "a profile must not name profiles, only resources"
RESERVED: Final = ("maximum", "minimum")
"""What YARN takes from elsewhere and lets no profile be called."""
NAMES_TEXT: Final = (
    "profiles must have lower-case names of letters, digits and hyphens; minimum and maximum are no profiles, as in YARN: "
    "maxContainerAllocation and maximumAllocation of queues say what one pod may ask for at most"
)
NO_MEMORY_TEXT: Final = "quantities must name memory, and no profile in it has any"

Profiles = Mapping[str, Mapping[str, str]]
"""The amounts of each bundle, by its name."""
NO_PROFILES: Final[Profiles] = {}
Part = TypeVar("Part", bound=BaseModel)

MAPS: Final = frozenset(
    {
        "min_resources",
        "max_resources",
        "max_child_resources",
        "max_container_allocation",
        "maximum_allocation",
        "queue_max_resources_default",
        "headroom",
        "demand",
    }
)
"""The fields of specs that have amounts by resource."""
TEXTS: Final = frozenset({"guaranteed", "maximum"})
"""The fields that have them in one text, as ``[memory=4Gi,cpu=2]``."""


def names_any(part: BaseModel) -> bool:
    """Whether any amount in a part of an object is said in profiles."""
    return any(_names_any(name, value) for name, value in part)


def _names_any(name: str, value: Any) -> bool:
    if isinstance(value, BaseModel):
        return names_any(value)
    if isinstance(value, dict):
        return (name in MAPS and any(key.startswith(PREFIX) for key in value)) or any(
            names_any(each) for each in value.values() if isinstance(each, BaseModel)
        )
    if isinstance(value, list):
        return any(names_any(each) for each in value if isinstance(each, BaseModel))
    return isinstance(value, str) and name in TEXTS and PREFIX in value


def resolved(part: Part, profiles: Profiles, where: str = "spec") -> Part:
    """Return a part of an object in which every profile is replaced by the amounts that it stands for; ``where`` is its path.

    Raises ``InvalidSpec`` for a profile that is not known, and for sums that cannot be made.
    """
    changes: dict[str, Any] = {}
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if _names_any(name, value):
            changes[name] = _resolved(name, value, profiles, f"{where}.{field.alias or name}")
    return part.model_copy(update=changes) if changes else part


def _resolved(name: str, value: Any, profiles: Profiles, where: str) -> Any:
    if isinstance(value, BaseModel):
        return resolved(value, profiles, where)
    if isinstance(value, list):
        return [resolved(each, profiles, f"{where}.{at}") for at, each in enumerate(value)]
    if isinstance(value, dict):
        if name in MAPS:
            return expanded(value, profiles, where)
        return {key: resolved(each, profiles, f"{where}.{key}") for key, each in value.items()}
    return _in_text(value, profiles, where)


def expanded(amounts: Mapping[str, str], profiles: Profiles, where: str) -> dict[str, str]:
    """Return amounts by resource in which profiles are counted as what they have, added up. Raises ``InvalidSpec``."""
    found = {name: text for name, text in amounts.items() if not name.startswith(PREFIX)}
    sums: dict[str, int] = {}
    for name, text in amounts.items():
        if name.startswith(PREFIX):
            for resource, each in _bundle(name.removeprefix(PREFIX), profiles, where).items():
                sums[resource] = sums.get(resource, 0) + int(text) * amount(resource, each)
    for resource, value in sums.items():
        own = found.get(resource)
        if own is not None and own.endswith(("%", "w")):
            raise InvalidSpec(
                f"{where}: {resource} {own!r} cannot be added to what a profile has of {resource}; allowed is a quantity, or another profile"
            )
        total = value + (amount(resource, own) if own is not None else 0)
        if total > UNBOUNDED:
            raise InvalidSpec(f"{where}: {resource} comes to {total} with its profiles, and at most {UNBOUNDED} can be counted")
        found[resource] = format_amount(resource, total)
    return found


def _in_text(text: str, profiles: Profiles, where: str) -> str:
    amounts: dict[str, str] = {}
    for entry in text[1:-1].split(","):
        name, _, value = entry.partition("=")
        if name in amounts:
            raise InvalidSpec(f"{where}: {text!r} names {name} twice")
        amounts[name] = value
    found = expanded(amounts, profiles, where)
    if "memory" not in found:
        raise InvalidSpec(f"{where}: {text!r}: {NO_MEMORY_TEXT}")
    return f"[{','.join(f'{name}={value}' for name, value in found.items())}]"


def _bundle(name: str, profiles: Profiles, where: str) -> Mapping[str, str]:
    bundle = profiles.get(name)
    if bundle is None:
        allowed = f"allowed are {', '.join(sorted(profiles))}" if profiles else "it has none"
        raise InvalidSpec(f"{where}: {name[:64]!r} is not in spec.resourceProfiles of the Scheduler: {allowed}")
    return bundle
