"""CEL expressions about devices, compiled by Google's cel-cpp and made into tests that the core can ask.

CEL's standard library, its macros, ``cel.bind``, optional values and the extended strings come with it. Of what Kubernetes adds there are quantities,
semantic versions, addresses and networks, and the functions on lists and sets; not its functions on URLs, formats and regular expressions (``matches`` is CEL's own). As in Kubernetes a domain that
a device has no attributes or capacities of is an empty map where it is looked up, and not there where it is asked for with ``in``.

The library is loaded when there is an expression: most clusters have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treadle.core.model.devices import DeviceSelector, DeviceSpec, SelectorProblem

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_SELECTORS = 10_000
"""Expressions that are kept compiled; the API server lets one be 10 KiB long."""
MOST_WORDS = 300
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_MAP = re.compile(r"\bdevice\s*\.\s*(attributes|capacity)\b")
_FIELD = re.compile(r"\s*\.\s*\??\s*([A-Za-z_]\w*)\s*(\(?)")


@lru_cache(MOST_SELECTORS)
def selector(expression: str) -> DeviceSelector:
    """Return the test that an expression stands for; one that cannot be understood says so whenever it is asked."""
    known: list[Callable[[str, DeviceSpec], bool]] = []

    def test(driver: str, device: DeviceSpec) -> bool:
        if not known:
            known.append(_compiled(expression))
        return known[0](driver, device)

    return DeviceSelector(expression, test)


def _compiled(expression: str) -> Callable[[str, DeviceSpec], bool]:
    try:
        from treadle.kube import cel
    except ImportError as error:
        return _broken(f"expressions cannot be evaluated on this machine: {_words(str(error))}")
    told_apart, named = _told_apart(expression)
    environment = cel.environment()
    try:
        program = environment.compile(told_apart)
    except Exception as error:  # noqa: BLE001 - whatever the library says of the text
        return _broken(f"it is not understood: {_words(str(error))}")

    def test(driver: str, device: DeviceSpec) -> bool:
        try:
            found = cel.answer(program, _variables(driver, device, named))
        except cel.Failed as error:
            raise SelectorProblem(f"it fails for device {device.name}: {_words(str(error))}") from error
        return found

    return test


def _broken(problem: str) -> Callable[[str, DeviceSpec], bool]:
    def broken(_: str, __: DeviceSpec) -> bool:
        raise SelectorProblem(problem)

    return broken


def _told_apart(expression: str) -> tuple[str, list[str]]:
    """Return an expression in which maps of domains that are looked at as a whole have names of their own, and the domains that may be looked up."""
    texts = [found.span() for found in _TEXTS.finditer(expression)]
    named = [expression[start + 1 : end - 1] for start, end in texts]
    parts, done = [], 0
    for found in _MAP.finditer(expression):
        if any(start < found.start() < end for start, end in texts):
            continue
        rest = expression[found.end() :]
        field = _FIELD.match(rest)
        if field is not None and not field[2]:
            named.append(field[1])
        elif field is not None or not rest.lstrip().startswith("["):
            parts += [expression[done : found.start()], f"device.whole_{found[1]}"]
            done = found.end()
    return "".join((*parts, expression[done:])), named


def _variables(driver: str, device: DeviceSpec, named: Sequence[str]) -> Mapping[str, Any]:
    from treadle.kube import cel

    attributes: dict[str, dict[str, Any]] = {}
    for name, (kind, value) in device.attributes:
        domain, identity = _parted(name, driver)
        attributes.setdefault(domain, {})[identity] = cel.value_of(kind, value)
    capacity: dict[str, dict[str, Any]] = {}
    for name, one in device.capacity:
        domain, identity = _parted(name, driver)
        capacity.setdefault(domain, {})[identity] = cel.quantity_of(one.value)
    empty: dict[str, dict[str, Any]] = {domain: {} for domain in (driver, *named)}
    return {
        "device": {
            "driver": driver,
            "allowMultipleAllocations": device.multiple,
            "attributes": {**empty, **attributes},
            "capacity": {**empty, **capacity},
            "whole_attributes": attributes,
            "whole_capacity": capacity,
        }
    }


def _parted(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identity = name.partition("/")
    return (domain, identity) if slash else (driver, name)


def _words(text: str) -> str:
    return " ".join(text.split())[:MOST_WORDS]
