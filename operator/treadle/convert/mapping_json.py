"""The JSON form of mapping rules, read as Jackson reads it into Hadoop's ``Rule``: what it takes for a text or a truth, and what it refuses.

Fields are looked at in the order in which they stand, also where one is given twice; what follows the document is not read.
"""

import json
from typing import Any, Final, NoReturn

from treadle.convert.errors import MappingError
from treadle.core.model.mapping import Fallback, Match
from treadle.core.rules.placement.mapping import RULING, TARGETS

JSON_TEXT: Final = "yarn.scheduler.capacity.mapping-rule-json"
TYPES: Final = {"user": Match.USER, "group": Match.GROUP, "application": Match.APPLICATION}
_CHOICES: Final = {
    "type": tuple(TYPES),
    "policy": (*TARGETS, *RULING),
    "fallbackResult": tuple(one.value for one in Fallback),
}
_TEXTS: Final = frozenset({"matches", "parentQueue", "value", "customPlacement"})
_TRUTHS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False, "null": None}
_MISMATCHED: Final = "MismatchedInputException"
_BLANKS: Final = " \t\r\n"


class _Number(str):
    """A number as it is written, which is what it is as a text."""

    __slots__ = ()


class _Fields(list[tuple[str, Any]]):
    """The fields of an object in their order, those that are given twice too."""


def rules_of(text: str) -> list[dict[str, Any]]:
    """Return the rules of a document ``{"rules": [...]}``, with texts, truths and None for values.

    Raises ``MappingError``, which names the field.
    """
    rules: Any = []
    for name, value in _object(JSON_TEXT, _document(text)):
        if name == "rules":
            rules = _rules(value)
    if rules is None:
        raise MappingError(f"{JSON_TEXT}: rules must be a list", "NullPointerException")
    for number, rule in enumerate(rules):
        if rule is None:
            raise MappingError(f"{JSON_TEXT}: rules[{number}]: must be an object", "NullPointerException")
    return list(rules)


def _document(text: str) -> Any:
    start = len(text) - len(text.lstrip(_BLANKS))
    if start == len(text):
        raise MappingError(f"{JSON_TEXT}: is blank", _MISMATCHED)
    decoder = json.JSONDecoder(
        object_pairs_hook=_Fields,
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=lambda name: _refuse(f"{name} is no value"),
    )
    try:
        return decoder.raw_decode(text, start)[0]
    except json.JSONDecodeError as error:
        raise MappingError(f"{JSON_TEXT}: not JSON: {error}", _malformed(text, error.pos)) from None
    except RecursionError:
        raise MappingError(f"{JSON_TEXT}: is nested too deeply", "JsonParseException") from None


def _refuse(why: str) -> NoReturn:
    raise MappingError(f"{JSON_TEXT}: not JSON: {why}", "JsonParseException")


def _malformed(text: str, position: int) -> str:
    """Return Hadoop's exceptions for what is not JSON: inside the list of rules Jackson says where, and an end too early is told apart."""
    depth, quoted, previous = 0, False, ""
    for character in text[:position]:
        if character == '"' and previous != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (character in "{[") - (character in "}]")
        previous = "" if previous == "\\" else character
    cut = text[position:].strip(_BLANKS) == "" or ('"' not in text[position + 1 :] and text[position] == '"')
    if cut:
        return "JsonMappingException/JsonEOFException"
    return "JsonMappingException/JsonParseException" if depth > 1 else "JsonParseException"


def _object(where: str, value: Any) -> _Fields:
    if value is None:
        raise MappingError(f"{where}: must be an object", "NullPointerException")
    if not isinstance(value, _Fields):
        raise MappingError(f"{where}: must be an object", _empty_or_mismatched(value))
    return value


def _empty_or_mismatched(value: Any) -> str:
    return "InvalidFormatException" if value == "" and isinstance(value, str) else _MISMATCHED


def _rules(value: Any) -> list[dict[str, Any] | None] | None:
    if value is None:
        return None
    if not isinstance(value, list) or isinstance(value, _Fields):
        raise MappingError(f"{JSON_TEXT}: rules must be a list", _empty_or_mismatched(value))
    return [_rule(f"{JSON_TEXT}: rules[{number}]", rule) for number, rule in enumerate(value)]


def _rule(where: str, rule: Any) -> dict[str, Any] | None:
    if rule is None:
        return None
    return {name: _value(f"{where}.{name}", name, value) for name, value in _object(where, rule)}


def _value(where: str, name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _CHOICES:
        if not isinstance(value, str) or isinstance(value, _Number) or value not in _CHOICES[name]:
            raise MappingError(
                f"{where}: {value!r} is not known; allowed are {', '.join(_CHOICES[name])}",
                "ValueInstantiationException/IllegalArgumentException",
            )
        return value
    if name == "create":
        return _truth(where, value)
    if name in _TEXTS:
        if isinstance(value, bool):
            return str(value).lower()
        if not isinstance(value, str):
            raise MappingError(f"{where}: must be a text", _MISMATCHED)
        return str(value)
    return value


def _truth(where: str, value: Any) -> bool | None:
    if isinstance(value, bool) or value == "":
        return value or None if value == "" else value
    if isinstance(value, _Number) and not set(value) & set(".eE"):
        return value.strip("-0") != ""
    if isinstance(value, str) and not isinstance(value, _Number):
        if value.strip() in _TRUTHS:
            return _TRUTHS[value.strip()]
        raise MappingError(f"{where}: {value!r} is not true or false", "InvalidFormatException")
    raise MappingError(f"{where}: must be true or false", _MISMATCHED)
