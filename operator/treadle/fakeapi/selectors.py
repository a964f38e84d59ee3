"""Label and field selectors as predicates (apimachinery pkg/labels and pkg/fields; metav1.LabelSelector)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.fakeapi.errors import Json, bad_request
from treadle.fakeapi.resources import Resource, lookup

Test = Callable[[Json], bool]
LabelTest = Callable[[Mapping[str, str]], bool]

_TERM = re.compile(r"\s*(?:!\s*([^\s,=!()]+)|([^\s,=!()]+)(?:\s*(==|=|!=)\s*([^\s,()]*)|\s+(in|notin)\s*\(([^)]*)\))?)\s*(?:,|$)")
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", None: "Exists"}


def selecting(resource: Resource, namespace: str | None, labels: str = "", fields: str = "") -> Test | None:
    """One predicate for a request, or None where everything is selected. Raises a 400 ApiError for what cannot be read."""
    tests: list[Test] = []
    if namespace is not None:
        tests.append(lambda obj: bool(obj["metadata"]["namespace"] == namespace))
    if labels:
        by_label = _label_test(labels)
        tests.append(lambda obj: by_label(obj["metadata"].get("labels") or {}))
    tests += [_field_test(resource, term) for term in fields.split(",") if term]
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda obj: all(test(obj) for test in tests)


def selector_test(selector: Json) -> LabelTest:
    """A predicate on labels from ``matchLabels`` and ``matchExpressions``; an empty selector selects all."""
    tests = [_requirement(key, "In", [value]) for key, value in (selector.get("matchLabels") or {}).items()]
    tests += [
        _requirement(term["key"], term["operator"], term.get("values") or []) for term in selector.get("matchExpressions") or ()
    ]
    return lambda labels: all(test(labels) for test in tests)


def _label_test(text: str) -> LabelTest:
    tests, position = [], 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None:
            raise bad_request(f"unable to parse requirement: {text!r}")
        position = found.end()
        missing, key, sign, value, word, listed = found.groups()
        values = [value] if sign else [part.strip() for part in (listed or "").split(",")]
        tests.append(_requirement(missing or key, "DoesNotExist" if missing else _OPERATORS[sign or word], values))
    return lambda labels: all(test(labels) for test in tests)


def _requirement(key: str, operator: str, values: Sequence[str]) -> LabelTest:
    match operator:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
    raise bad_request(f"{operator!r} is not a valid label selector operator")


def _field_test(resource: Resource, term: str) -> Test:
    found = re.fullmatch(r"\s*([^=!\s]+)\s*(==|=|!=)\s*(.*?)\s*", term)
    if found is None:
        raise bad_request(f"invalid selector: {term!r}; can't understand {term!r}")
    name, operator, wanted = found.groups()
    if name not in resource.fields:
        raise bad_request(f"field label not supported: {name}")
    path, equal = resource.fields[name], operator != "!="

    def test(obj: Json) -> bool:
        value: Any = lookup(obj, path)
        return (("" if value is None else str(value).lower() if isinstance(value, bool) else str(value)) == wanted) is equal

    return test
