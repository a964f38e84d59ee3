"""What a pod says of its execution type, and of what it will use though it requests nothing.

``treadle.dev/promotion: automatic``, an annotation, lets it become guaranteed when there is room that nobody waits for.
``treadle.dev/execution-type`` is a label or an annotation; ``treadle.dev/demand`` is an annotation such as ``c cpu=2 memory=1Gi;side cpu=1 memory=0``: the name of a
container and its amounts, the next after a semicolon.
"""

from typing import Final

from treadle.api.labels import EXECUTION_TYPE, GROUP, Strings
from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import amount

DEMAND: Final = f"{GROUP}/demand"
PROMOTION: Final = f"{GROUP}/promotion"
AUTOMATIC, ON_REQUEST = "automatic", "on-request"
GUARANTEED, OPPORTUNISTIC = "guaranteed", "opportunistic"
MEASURED: Final = ("cpu", "memory")
"""Of what opportunistic pods may use more than they request."""
LONGEST: Final = 16_384
"""Characters of a demand."""
_SHOWN = 60
_FORM = "a list, parted by semicolons, of CONTAINER cpu=AMOUNT memory=AMOUNT, as in c cpu=2 memory=1Gi;side cpu=1 memory=0"

NO_DEMAND: Final = f"metadata.annotations[{DEMAND}]: it is not there, and says what the pod is to request; allowed is {_FORM}"
IN_VAIN: Final = (
    f"metadata.annotations[{DEMAND}]: what it says comes to nothing that could be requested; allowed are amounts above 0"
)


def says(labels: Strings, annotations: Strings) -> bool:
    """Whether a pod says what its execution type is: nearly none does."""
    return (labels is not None and EXECUTION_TYPE in labels) or (annotations is not None and EXECUTION_TYPE in annotations)


def is_opportunistic(labels: Strings, annotations: Strings) -> bool:
    """Whether a pod says that it is opportunistic; the label goes before the annotation, and case does not matter. Raises ``ValueError`` for what is no execution type."""
    for kind, words in (("labels", labels), ("annotations", annotations)):
        found = words.get(EXECUTION_TYPE, "") if words else ""
        if found:
            if found.lower() not in {GUARANTEED, OPPORTUNISTIC}:
                raise ValueError(
                    f"metadata.{kind}[{EXECUTION_TYPE}]: {found[:_SHOWN]!r} is no execution type; allowed are {GUARANTEED} and {OPPORTUNISTIC}"
                )
            return found.lower() == OPPORTUNISTIC
    return False


def promotes_itself(annotations: Strings) -> bool:
    """Whether an opportunistic pod is to become guaranteed as soon as there is room; case does not matter. Raises ``ValueError`` for a word that says neither."""
    found = annotations.get(PROMOTION, "") if annotations else ""
    if found and found.lower() not in {AUTOMATIC, ON_REQUEST}:
        raise ValueError(
            f"metadata.annotations[{PROMOTION}]: {found[:_SHOWN]!r} says nothing of promotion; allowed are {AUTOMATIC} and {ON_REQUEST}"
        )
    return found.lower() == AUTOMATIC


def demand_of(annotations: Strings) -> dict[str, dict[str, str]]:
    """Return what the containers of a pod will use, by their names: of cpu and memory, as quantities. Raises ``ValueError`` naming the annotation, the value and what is allowed."""
    text = annotations.get(DEMAND, "") if annotations else ""
    found: dict[str, dict[str, str]] = {}
    if not text:
        return found
    field = f"metadata.annotations[{DEMAND}]"
    if len(text) > LONGEST:
        raise ValueError(f"{field}: {len(text)} characters; at most {LONGEST} are allowed")
    for part in text.split(";"):
        name, *pairs = part.split() or [""]
        if not name or "=" in name or not pairs:
            raise ValueError(f"{field}: {part[:_SHOWN]!r} names no container or no amount; allowed is {_FORM}")
        if name in found:
            raise ValueError(f"{field}: it names container {name[:_SHOWN]} twice; allowed is {_FORM}")
        found[name] = _amounts(pairs, f"{field}[{name[:_SHOWN]}]")
    return found


def _amounts(pairs: list[str], field: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        resource, sign, value = pair.partition("=")
        if not sign or resource not in MEASURED or resource in found:
            raise ValueError(f"{field}: {pair[:_SHOWN]!r} is not allowed; allowed are cpu=AMOUNT and memory=AMOUNT, once each")
        try:
            known = amount(resource, value)
        except InvalidSpec as error:
            raise ValueError(f"{field}: {pair[:_SHOWN]!r}: {error}") from None
        if known < 0:
            raise ValueError(f"{field}: {pair[:_SHOWN]!r}: an amount of 0 or more is allowed")
        found[resource] = value
    return found
