"""The command ``treadle convert`` in a process of its own, and objects by their names."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def by_name(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one["spec"] for one in objects}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "treadle", "convert", *arguments], capture_output=True, text=True, check=False)
