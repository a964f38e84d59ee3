"""How amounts, times and access lists of Hadoop are written in our objects."""

import re
from collections.abc import Iterable
from typing import Any, Final


def decimal(value: float) -> str:
    """Write a number with at most six digits after the point."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def seconds(value: float) -> str:
    """Write a time that is given in seconds."""
    return f"{int(value)}s" if value == int(value) else f"{round(value * 1000)}ms"


def milliseconds(value: int) -> str:
    """Write a time that is given in milliseconds."""
    return f"{value}ms" if value % 1000 else f"{value // 1000}s"


def quantity(name: str, value: float) -> str:
    """Write an amount of YARN: memory is in MiB, everything else is counted."""
    return f"{int(value)}Mi" if name == "memory" else str(int(value))


def acl(text: str) -> dict[str, list[str]]:
    """Read ``users groups``: two lists with commas, one blank between them; a star is everybody (``AccessControlList``)."""
    if "*" in text and text.strip() == "*":
        return {"users": ["*"]}
    lists = [unique(part.strip() for part in half.split(",")) for half in text.split(" ", 1)]
    return {key: names for key, names in zip(("users", "groups"), lists, strict=False) if names}


_ENTRY: Final = re.compile(r"\[([^\[\]]*)\]")
_PART: Final = re.compile(r"(user|group|max_priority|default_priority)=(\S*)")


def priority_acl(text: str) -> list[dict[str, Any]]:
    """Read entries such as ``[user=ann,bob group=ops max_priority=7 default_priority=4]`` (``AppPriorityACLConfigurationParser``); none of ``*``, which restricts nobody.

    Raises ``ValueError`` with the part that cannot be read.
    """
    if text.strip() == "*":
        return []
    rest = _ENTRY.sub("", text).strip()
    if rest or not text.strip():
        raise ValueError(f"{rest or text!r} is not [user=NAMES group=NAMES max_priority=NUMBER default_priority=NUMBER]")
    return [_priority_entry(entry) for entry in _ENTRY.findall(text)]


def _priority_entry(text: str) -> dict[str, Any]:
    parts = {name.strip(): value for name, value in _PART.findall(text)}
    rest = _PART.sub("", text).strip()
    if rest or not parts.get("max_priority", "").isdecimal() or not parts.get("default_priority", "0").isdecimal():
        raise ValueError(f"{rest or text!r} is not user=NAMES, group=NAMES, max_priority=NUMBER and default_priority=NUMBER")
    found: dict[str, Any] = acl(f"{parts.get('user', '')} {parts.get('group', '')}") if parts.keys() & {"user", "group"} else {}
    if "*" in (*found.get("users", ()), *found.get("groups", ())):
        found = {"users": ["*"]}
    most = int(parts["max_priority"])
    found["maxPriority"] = most
    if "default_priority" in parts:
        found["defaultPriority"] = min(most, int(parts["default_priority"]))
    return found


def unique(names: Iterable[str]) -> list[str]:
    """Return names without blanks and repetitions, in their order."""
    return list(dict.fromkeys(name for name in names if name))
