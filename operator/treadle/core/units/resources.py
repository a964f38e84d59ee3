"""Amounts of resources: integers inside, Kubernetes quantities at the edges.

cpu is counted in milli-units and everything else in base units (bytes, devices, pods), always rounded up, as the apimachinery
``Quantity`` does for requests. A vector is a list with one integer per resource type; the position of a type is given by
``ResourceTypes``. Memory comes first and cpu second, as in YARN's ``ResourceUtils``, since YARN breaks ties in that order.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from treadle.core.errors import InvalidSpec

MEMORY, CPU, PODS = 0, 1, 2
UNBOUNDED = (1 << 62) - 1
"""The maximum where none is set: larger than any cluster, and safe to add to in 64 bits."""

Vector = list[int]
Demand = tuple[tuple[int, int], ...]
"""A sparse vector: (position, amount) pairs with positive amounts, ordered by position."""

_QUANTITY = re.compile(r"^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$", re.ASCII)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BYTES = frozenset({"memory", "ephemeral-storage", "storage"})
_ALLOWED = 'a quantity such as "2", "500m", "1.5Gi" or "1e3"'


@lru_cache(maxsize=8192)
def parse_quantity(text: str | float) -> int:
    """Return a Kubernetes quantity in thousandths, rounded up. Raises ``InvalidSpec`` for anything that is not a quantity."""
    if isinstance(text, int):
        return text * 1000
    match = _QUANTITY.match(str(text))
    if match is None or len(str(text)) > 64:
        raise InvalidSpec(f"{str(text)[:64]!r} is not {_ALLOWED}")
    sign, digits, binary, decimal, exponent = match.groups()
    whole, _, fraction = digits.partition(".")
    value = int((whole + fraction) or "0")
    power = 3 - len(fraction)
    if binary:
        value <<= _BINARY[binary]
    elif decimal:
        power += _DECIMAL[decimal]
    elif exponent:
        if abs(int(exponent)) > 99:
            raise InvalidSpec(f"{text!r} is out of range: the exponent is at most 99")
        power += int(exponent)
    ten: int = 10 ** abs(power)
    value = value * ten if power >= 0 else -(-value // ten)
    return -value if sign == "-" else value


@lru_cache(maxsize=8192)
def amount(resource: str, text: str | float) -> int:
    """Return ``text`` in the unit that ``resource`` is counted in: milli-units for cpu, base units otherwise, rounded up."""
    milli = parse_quantity(text)
    value = milli if resource == "cpu" else -(-milli // 1000)
    if not -UNBOUNDED <= value <= UNBOUNDED:
        most = UNBOUNDED // 1000 if resource == "cpu" else UNBOUNDED
        raise InvalidSpec(f"{resource}: {text!r} is out of range: at most {most}")
    return value


def is_bytes(resource: str) -> bool:
    """Whether a resource type is counted in bytes."""
    return resource in _BYTES or resource.startswith("hugepages-")


def format_amount(resource: str, value: int) -> str:
    """Return ``value`` as a quantity that people read: ``1500m`` or ``2`` for cpu, the largest exact binary suffix for bytes."""
    if resource == "cpu":
        return f"{value}m" if value % 1000 else str(value // 1000)
    if is_bytes(resource):
        for suffix, shift in reversed(_BINARY.items()):
            if value and value % (1 << shift) == 0:
                return f"{value >> shift}{suffix}"
    return str(value)


def in_words(resource: str, value: int) -> str:
    """Return ``value`` as ``format_amount`` does, but rounded to a tenth of the largest binary suffix, after a tilde, where bytes are no whole number of MiB."""
    if is_bytes(resource):
        shift = next((shift for shift in sorted(_BINARY.values(), reverse=True) if abs(value) >> shift), 0)
        if shift and value % (1 << min(shift, _BINARY["Mi"])):
            suffix = next(suffix for suffix, bits in _BINARY.items() if bits == shift)
            return f"~{value / (1 << shift):.1f}{suffix}"
    return format_amount(resource, value)


class ResourceTypes:
    """The resource types seen so far and their positions in vectors. Types are added, never removed.

    Vectors are ``width`` long. Where there are many types that is more than there are, so that the vectors of all nodes are not lengthened for each new one.
    """

    EXACT = 16
    """Up to so many types ``width`` is their number."""

    def __init__(self) -> None:
        self.names: list[str] = ["memory", "cpu", "pods"]
        self.index: dict[str, int] = {name: position for position, name in enumerate(self.names)}
        self.width = len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def position(self, name: str) -> int:
        """Return the position of a type, adding it when it is new."""
        position = self.index.get(name)
        if position is None:
            position = self.index[name] = len(self.names)
            self.names.append(name)
            if position >= self.width:
                self.width = position + 1 if position < self.EXACT else position + 1 + position // 2
        return position

    def demand(self, amounts: Iterable[tuple[str, int]]) -> Demand:
        """Return the sparse vector of named amounts; amounts of zero are left out, since a zero demand fits anywhere."""
        return tuple(sorted((self.position(name), value) for name, value in amounts if value > 0))

    def vector(self, amounts: Mapping[str, int], default: int = 0) -> Vector:
        """Return the dense vector of named amounts, ``default`` where a type is not named."""
        for name in amounts:
            self.position(name)
        return [amounts.get(name, default) for name in self.names] + [default] * (self.width - len(self.names))

    def named(self, vector: Iterable[int]) -> dict[str, int]:
        """Return the types of a vector that are not zero, by name."""
        return {name: value for name, value in zip(self.names, vector, strict=False) if value}

    def quantities(self, vector: Iterable[int]) -> dict[str, str]:
        """Return the types of a vector that are not zero as quantities that people read."""
        return {name: format_amount(name, value) for name, value in self.named(vector).items()}


def held(values: Iterable[int]) -> Vector:
    """Return a vector whose amounts are held between -``UNBOUNDED`` and ``UNBOUNDED``, for columns of 64 bits.

    One amount is never larger than that, but people may ask for a sum of several that is.
    """
    return [-UNBOUNDED if value < -UNBOUNDED else min(value, UNBOUNDED) for value in values]


def dense(demand: Demand, width: int) -> Vector:
    """Return a sparse vector as a dense one."""
    vector = [0] * width
    for position, value in demand:
        vector[position] += value
    return vector


def extend(vector: Vector, length: int, fill: int = 0) -> Vector:
    """Lengthen a vector in place to ``length`` types; called where a new type may have appeared since it was made."""
    if len(vector) < length:
        vector.extend([fill] * (length - len(vector)))
    return vector
