"""Each dashboard is one by Grafana's own types (the package @grafana/schema), as are the options of its panels: the TypeScript compiler says so."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chart.binaries import folder

HERE = Path(__file__).resolve().parent / "grafana"
DASHBOARDS = Path(__file__).resolve().parents[2] / "charts" / "treadle" / "files" / "dashboards"
TYPES = {"stat": ("Stat", None), "timeseries": ("Series", "SeriesField")}
"""The types of a panel's options and of its field configuration."""


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiler and the types, by the hashes of the lock."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm")
    cached = folder().parent / "grafana"
    lock = (HERE / "package-lock.json").read_text()
    if not (cached / "done").exists() or (cached / "done").read_text() != lock:
        made = tmp_path_factory.mktemp("npm")
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, made / name)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        shutil.rmtree(cached, ignore_errors=True)
        cached.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, cached, symlinks=True)
        (cached / "done").write_text(lock)
    work = tmp_path_factory.mktemp("checked")
    (work / "node_modules").symlink_to(cached / "node_modules")
    shutil.copy(HERE / "check.ts", work / "check.ts")
    return work


def checked(checker: Path, constants: list[tuple[str, str, Any]]) -> str:
    """Let the compiler look at constants: names, types and values; return what it says."""
    lines = ["import type { Board, Series, SeriesField, Stat } from './check';"]
    lines += [f"export const {name}: {kind} = {json.dumps(value)};" for name, kind, value in constants]
    (checker / "constants.ts").write_text("\n".join(lines))
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
    command = ["node", "node_modules/typescript/bin/tsc", *options, "constants.ts"]
    return subprocess.run(command, cwd=checker, capture_output=True, text=True, check=False, timeout=120).stdout


def constants(name: str, board: dict[str, Any]) -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = [(name, "Board", board)]
    for number, panel in enumerate(board["panels"]):
        options, fields = TYPES.get(panel["type"], (None, None))
        if options and "options" in panel:
            found.append((f"{name}{number}Options", options, panel["options"]))
        if fields:
            found.append((f"{name}{number}Fields", fields, panel["fieldConfig"]["defaults"].get("custom", {})))
    return found


def test_dashboards_are_what_grafanas_types_say(checker: Path) -> None:
    boards = {path.stem: json.loads(path.read_text()) for path in sorted(DASHBOARDS.glob("*.json"))}
    assert len(boards) == 4
    assert {panel["type"] for board in boards.values() for panel in board["panels"]} == {"row", *TYPES}
    assert checked(checker, [one for name, board in boards.items() for one in constants(name, board)]) == ""


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Board", {"title": 7}),
        ("Board", {"caption": "Queues"}),
        ("Board", {"schemaVersion": 42, "panels": [{"type": "stat", "gridPos": {"h": "tall"}}]}),
        ("Series", {"legend": {"displayMode": "lists"}}),
        ("SeriesField", {"fillOpacity": "much"}),
        ("Stat", {"colorMode": "loud"}),
    ],
)
def test_what_grafana_has_no_type_for_is_found(checker: Path, kind: str, value: Any) -> None:
    assert "error TS" in checked(checker, [("wrong", kind, value)])
