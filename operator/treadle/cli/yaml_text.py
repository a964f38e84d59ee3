"""Objects as YAML, many at once: the library says how a text is written, and is asked once for each text; lines and indents are plain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import yaml

_PLAIN: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9/.-]*[a-zA-Z0-9]")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "inf", "nan"})
"""What is no text in YAML 1.1 although it looks like one, in any capitals."""


def stream(objects: Iterable[Mapping[str, Any]]) -> str:
    """Return objects as documents of one stream, as ``yaml.safe_dump_all(objects, sort_keys=False)`` does but for the folding of long lines."""
    return "---\n".join("".join(_mapping(one, "")) for one in objects)


def _mapping(found: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in found.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{_text(key)}:\n"
            yield from _mapping(value, f"{indent}  ")
        elif isinstance(value, list) and value:
            yield f"{indent}{_text(key)}:\n"
            yield from _list(value, indent)
        else:
            yield f"{indent}{_text(key)}: {_scalar(value)}\n"


def _list(found: list[Any], indent: str) -> Iterator[str]:
    for one in found:
        if isinstance(one, Mapping) and one:
            lines = _mapping(one, f"{indent}  ")
            yield f"{indent}- {next(lines)[len(indent) + 2 :]}"
            yield from lines
        elif isinstance(one, list) and one:
            lines = _list(one, f"{indent}  ")
            yield f"{indent}- {next(lines)[len(indent) + 2 :]}"
            yield from lines
        else:
            yield f"{indent}- {_scalar(one)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return _dumped(value)


@lru_cache(maxsize=65_536)
def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return _dumped(text)


def _dumped(value: Any) -> str:
    said = yaml.dump(value, Dumper=yaml.CSafeDumper, width=1 << 30, default_flow_style=True)
    return said.removesuffix("\n").removesuffix("\n...")
