"""The instructions of the Dockerfile, as far as ours uses the language."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "Dockerfile"


def instructions(text: str) -> list[tuple[str, str]]:
    """(keyword, rest) of every instruction, continuation lines joined and comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines() if line.strip()]


def stages(found: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The instructions of each stage, its ``FROM`` first; what is before the first one is in none."""
    starts = [number for number, (word, _) in enumerate(found) if word == "FROM"]
    return [found[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
