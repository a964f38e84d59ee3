"""CEL with what Kubernetes adds to it, as far as it is understood: quantities, semantic versions, addresses and networks, functions on lists and sets.

Quantities, versions, addresses and networks are messages, whose equality is that of their texts: each is in one form only. The others of Kubernetes' base environment are
not there: ``find`` and ``findAll`` need regular expressions that always end soon, which Python has not; ``indexOf`` of lists cannot stand beside that of strings in the
library; URLs, formats and the texts of messages (``string``) cannot be told apart from what it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from treadle.kube.addresses import Address, Network, address, contains, is_global_unicast, is_local_multicast, network
from treadle.kube.quantities import exact

_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(.*)", re.DOTALL)
_MOST_LISTED = 10_000
Type = cel.Type
BOOL, INT, STRING, DOUBLE, DYN = Type.BOOL, Type.INT, Type.STRING, Type.DOUBLE, Type.DYN


class Failed(Exception):
    """An expression that has no answer."""


def _message() -> tuple[DescriptorPool, Any]:
    file = FileDescriptorProto(name="kubernetes.proto", package="kubernetes", syntax="proto3")
    message = file.message_type.add(name="Ordered")
    for number, name in enumerate(("quantity", "version", "address", "network"), 1):
        message.field.add(
            name=name, number=number, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL
        )
    pool = DescriptorPool()
    pool.Add(file)
    return pool, GetMessageClass(pool.FindMessageTypeByName("kubernetes.Ordered"))


_POOL, _Ordered = _message()
ORDERED = Type("kubernetes.Ordered")
"""A quantity, a version, an address or a network: functions with one name for both cannot tell two messages apart."""


def answer(program: cel.Expression, variables: Mapping[str, Any]) -> bool:
    """Return what an expression says. Raises ``Failed`` where it has no answer, or one that is not true or false."""
    found = program.eval(data=variables)
    value = found.value()
    if found.type() == Type.ERROR:
        raise Failed(str(value))
    if not isinstance(value, bool):
        raise Failed(f"the result is of type {found.type().name()}, not bool")
    return value


def quantity_of(amount: int | Fraction) -> Any:
    """Return a quantity as a value of CEL."""
    return _Ordered(quantity=str(amount))


def value_of(kind: str, value: str | int | bool) -> Any:
    """Return an attribute as a value of CEL. Raises ``Failed`` for one that is none."""
    if kind == "version":
        try:
            return _semver(str(value))
        except ValueError as error:
            raise Failed(str(error)) from error
    if kind == "unknown":
        raise Failed("unsupported attribute value")
    return value


def _semver(text: str) -> Any:
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"not a semantic version: {text[:64]!r}")
    return _Ordered(version=text.partition("+")[0])


def _loosely(text: str, normalize: bool) -> Any:
    found = _LOOSE.fullmatch(text)
    if not normalize or found is None:
        return _semver(text)
    return _semver(".".join(str(int(part or 0)) for part in found.groups()[:3]) + found[4])


def _is(made: Callable[..., Any]) -> Callable[..., bool]:
    def answers(*given: Any) -> bool:
        try:
            made(*given)
        except ValueError:
            return False
        return True

    return answers


def _is_quantity(one: Any) -> bool:
    return isinstance(one, _Ordered) and bool(one.quantity)


def _amount(one: Any) -> Fraction:
    if isinstance(one, int) and not isinstance(one, bool):
        return Fraction(one)
    if not _is_quantity(one):
        raise ValueError("no such overload: a quantity is needed")
    return Fraction(one.quantity)


def _quantity(text: str) -> Any:
    return quantity_of(exact(text))


def _order(one: Any) -> tuple[Any, ...]:
    """Return what versions are compared by: numbers, and then a release before which its pre-releases come."""
    found = _VERSION.fullmatch(one.version)
    if found is None:
        raise ValueError("no such overload: a semantic version is needed")
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in (found[4] or "").split(".") if part)
    return (int(found[1]), int(found[2]), int(found[3]), not found[4], parts)


def _compared(one: Any, other: Any) -> int:
    first, second = ((_amount(one),), (_amount(other),)) if _is_quantity(one) else (_order(one), _order(other))
    return (first > second) - (first < second)


def _add(one: Any, other: Any) -> Any:
    return quantity_of(_amount(one) + _amount(other))


def _sub(one: Any, other: Any) -> Any:
    return quantity_of(_amount(one) - _amount(other))


def _integer(one: Any) -> int:
    amount = _amount(one)
    if amount.denominator != 1 or not -(1 << 63) <= amount < 1 << 63:
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _ip(text: str) -> Any:
    return _Ordered(address=str(address(text)))


def _ip_of(one: Any) -> Address:
    if not one.address:
        raise ValueError("no such overload: an IP address is needed")
    return address(one.address)


def _cidr(text: str) -> Any:
    return _Ordered(network=str(network(text)))


def _cidr_of(one: Any) -> Network:
    if not one.network:
        raise ValueError("no such overload: a network is needed")
    return network(one.network)


def _contains_ip(one: Any, other: Any) -> bool:
    found = address(other) if isinstance(other, str) else _ip_of(other)
    return found in _cidr_of(one).network


def _contains_cidr(one: Any, other: Any) -> bool:
    return contains(_cidr_of(one), network(other) if isinstance(other, str) else _cidr_of(other))


def _says(test: Callable[[Address], bool]) -> Callable[[Any], bool]:
    return lambda one: test(_ip_of(one))


def _part(number: int) -> Callable[[Any], int]:
    def part(one: Any) -> int:
        return int(_order(one)[number])

    return part


def _plain(values: Sequence[Any]) -> list[Any]:
    if len(values) > _MOST_LISTED:
        raise ValueError(f"a list of more than {_MOST_LISTED} values")
    return [one.plain_value() if isinstance(one, cel.Value) else one for one in values]


def _sum(values: Sequence[Any]) -> Any:
    plain = _plain(values)
    if any(_is_quantity(one) for one in plain):
        return quantity_of(sum((_amount(one) for one in plain), Fraction(0)))
    return sum(plain)


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    def chosen(values: Sequence[Any]) -> Any:
        plain = _plain(values)
        if not plain:
            raise ValueError("min and max are not defined for an empty list")
        return choose(plain)

    return chosen


def _sorted(values: Sequence[Any]) -> bool:
    plain = _plain(values)
    return all(one <= other for one, other in pairwise(plain))


def _contains(values: Sequence[Any], wanted: Sequence[Any]) -> bool:
    plain = _plain(values)
    return all(one in plain for one in _plain(wanted))


def _intersects(one: Sequence[Any], other: Sequence[Any]) -> bool:
    plain = _plain(one)
    return any(each in plain for each in _plain(other))


def _equivalent(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


_Given = tuple[Callable[..., Any], Any, tuple[Any, ...], bool]
"""The function, what it returns, what it takes, and whether it is written after its first argument."""


@cache
def environment() -> cel.Env:
    """Return what expressions about devices are compiled with."""
    some = Type.List(DYN)
    functions: dict[str, list[_Given]] = {
        "quantity": [(_quantity, ORDERED, (STRING,), False)],
        "isQuantity": [(_is(_quantity), BOOL, (STRING,), False)],
        "semver": [(_semver, ORDERED, (STRING,), False), (_loosely, ORDERED, (STRING, BOOL), False)],
        "isSemver": [(_is(_semver), BOOL, (STRING,), False), (_is(_loosely), BOOL, (STRING, BOOL), False)],
        "compareTo": [(_compared, INT, (ORDERED, ORDERED), True)],
        "isGreaterThan": [(lambda one, other: _compared(one, other) > 0, BOOL, (ORDERED, ORDERED), True)],
        "isLessThan": [(lambda one, other: _compared(one, other) < 0, BOOL, (ORDERED, ORDERED), True)],
        "sign": [(lambda one: (_amount(one) > 0) - (_amount(one) < 0), INT, (ORDERED,), True)],
        "isInteger": [(_is(_integer), BOOL, (ORDERED,), True)],
        "asInteger": [(_integer, INT, (ORDERED,), True)],
        "asApproximateFloat": [(lambda one: float(_amount(one)), DOUBLE, (ORDERED,), True)],
        "add": [(_add, ORDERED, (ORDERED, other), True) for other in (ORDERED, INT)],
        "sub": [(_sub, ORDERED, (ORDERED, other), True) for other in (ORDERED, INT)],
        "major": [(_part(0), INT, (ORDERED,), True)],
        "minor": [(_part(1), INT, (ORDERED,), True)],
        "patch": [(_part(2), INT, (ORDERED,), True)],
        "ip": [
            (_ip, ORDERED, (STRING,), False),
            (lambda one: _Ordered(address=str(_cidr_of(one).ip)), ORDERED, (ORDERED,), True),
        ],
        "isIP": [(_is(_ip), BOOL, (STRING,), False)],
        "ip.isCanonical": [(lambda text: str(address(text)) == text, BOOL, (STRING,), False)],
        "family": [(lambda one: _ip_of(one).version, INT, (ORDERED,), True)],
        "isUnspecified": [(_says(lambda one: one.is_unspecified), BOOL, (ORDERED,), True)],
        "isLoopback": [(_says(lambda one: one.is_loopback), BOOL, (ORDERED,), True)],
        "isLinkLocalMulticast": [(_says(is_local_multicast), BOOL, (ORDERED,), True)],
        "isLinkLocalUnicast": [(_says(lambda one: one.is_link_local), BOOL, (ORDERED,), True)],
        "isGlobalUnicast": [(_says(is_global_unicast), BOOL, (ORDERED,), True)],
        "cidr": [(_cidr, ORDERED, (STRING,), False)],
        "isCIDR": [(_is(_cidr), BOOL, (STRING,), False)],
        "containsIP": [(_contains_ip, BOOL, (ORDERED, other), True) for other in (ORDERED, STRING)],
        "containsCIDR": [(_contains_cidr, BOOL, (ORDERED, other), True) for other in (ORDERED, STRING)],
        "prefixLength": [(lambda one: _cidr_of(one).network.prefixlen, INT, (ORDERED,), True)],
        "masked": [(lambda one: _Ordered(network=str(_cidr_of(one).network)), ORDERED, (ORDERED,), True)],
        "sum": [(_sum, DYN, (some,), True)],
        "min": [(_extreme(min), DYN, (some,), True)],
        "max": [(_extreme(max), DYN, (some,), True)],
        "isSorted": [(_sorted, BOOL, (some,), True)],
        "sets.contains": [(_contains, BOOL, (some, some), False)],
        "sets.intersects": [(_intersects, BOOL, (some, some), False)],
        "sets.equivalent": [(_equivalent, BOOL, (some, some), False)],
    }
    return cel.NewEnv(
        _POOL,
        variables={"device": Type.Map(STRING, DYN)},
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()],
        functions=[
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(
                        f"kubernetes_{name.replace('.', '_')}_{number}", returned, list(taken), is_member=member, impl=function
                    )
                    for number, (function, returned, taken, member) in enumerate(overloads)
                ],
            )
            for name, overloads in functions.items()
        ],
    )
