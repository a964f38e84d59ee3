"""Text that a regular expression matches, made by chance: what our schemas' patterns use of the language, and no more."""

from __future__ import annotations

import re._constants as kinds
import re._parser as parser
from functools import lru_cache
from random import Random
from typing import Any

_FEW = 3


@lru_cache(maxsize=512)
def _parsed(pattern: str) -> Any:
    return parser.parse(pattern)


def text(pattern: str, chance: Random, most: int = 1 << 30) -> str:
    """Return a text of at most ``most`` characters that matches as a whole; the empty text if chance finds none so short."""
    for _ in range(20):
        found = _of(_parsed(pattern), chance)
        if len(found) <= most:
            return found
    return ""


def _of(tokens: Any, chance: Random) -> str:
    return "".join(_one(kind, value, chance) for kind, value in tokens)


def _one(kind: Any, value: Any, chance: Random) -> str:
    match kind:
        case kinds.LITERAL:
            return chr(value)
        case kinds.NOT_LITERAL:
            return chance.choice([char for char in "ab1é-" if ord(char) != value])
        case kinds.ANY:
            return chance.choice("a1é.")
        case kinds.AT:
            return ""
        case kinds.IN:
            return _among(value, chance)
        case kinds.BRANCH:
            return _of(chance.choice(value[1]), chance)
        case kinds.SUBPATTERN:
            return _of(value[-1], chance)
        case kinds.MAX_REPEAT | kinds.MIN_REPEAT:
            least, most, inner = value
            top = min(int(most), least + (_FEW if chance.random() < 0.9 else 3 * _FEW))
            return "".join(_of(inner, chance) for _ in range(chance.randint(least, top)))
    raise NotImplementedError(f"{kind}")


def _among(choices: Any, chance: Random) -> str:
    if choices[0][0] is kinds.NEGATE:
        out = "".join(_one(kind, value, chance) for kind, value in choices[1:] if kind is kinds.LITERAL)
        return chance.choice([char for char in "aZ0é_." if char not in out])
    kind, value = chance.choice(choices)
    if kind is kinds.RANGE:
        low, high = value
        return chr(chance.choice([low, high, chance.randint(low, high)]))
    return _one(kind, value, chance)
