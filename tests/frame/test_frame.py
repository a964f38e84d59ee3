"""Promises of the tree itself."""

import re
import subprocess
import sys
import tomllib
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "operator").rglob("*.py"))


def test_the_source_root_called_operator_never_becomes_a_package() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists(), "it would hide the standard library's module operator"
    assert [entry.name for entry in (ROOT / "operator").iterdir() if entry.is_dir() and entry.name != "__pycache__"] == [
        "treadle"
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_stays_under_600_lines(module: Path) -> None:
    assert len(module.read_text().splitlines()) < 600


def test_the_embedded_api_server_stays_small() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in (ROOT / "operator" / "treadle" / "fakeapi").glob("*.py"))
    assert lines < 1_600


def test_users_find_what_was_promised_at_the_top() -> None:
    for name in (
        "pyproject.toml",
        "operator",
        "crds",
        "charts",
        "tests",
        "Dockerfile",
        "README.md",
        "DESIGN.md",
        "CHANGELOG.md",
        "LICENSE",
    ):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-solver.lock", "requirements-dev.lock", "requirements-bootstrap.lock"]
)
def test_every_file_of_a_lock_has_a_hash_and_no_index_is_named(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert "--index-url" not in text
    pinned = re.findall(r"^([a-z0-9][\w.\-\[\]]*)==\S+.*\\$", text, re.MULTILINE)
    assert pinned
    assert text.count("--hash=sha256:") >= len(pinned)


def test_what_runs_is_locked_in_the_same_version_for_use_and_for_development() -> None:
    def versions(name: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for package, version in re.findall(r"^([a-z0-9][\w.\-]*)==(\S+)", (ROOT / name).read_text(), re.MULTILINE):
            found.setdefault(package, set()).add(version)
        return found

    development = versions("requirements-dev.lock")
    assert all(development[package] == version for package, version in versions("requirements.lock").items())


def test_every_dependency_says_why_and_under_what_licence() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for dependency in tomllib.loads(text)["project"]["dependencies"]:
        line = next(line for line in text.splitlines() if dependency in line)
        assert re.search(r"#.+\((Apache|BSD|MIT)[^)]*\)", line), dependency


def test_every_make_target_that_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text())) <= targets


def test_help_is_quick_and_lists_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "treadle", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("run", "demo", "crds", "convert", "agent"):
        assert command in done.stdout
    for heavy in ("kubernetes", "kopf", "numpy", "pydantic"):
        assert f" {heavy}\n" not in done.stderr, f"--help imports {heavy}"


def test_every_room_that_the_architecture_page_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "operator" / "treadle"
    named = set(re.findall(r"`((?:core|kube|runtime|controllers|api)/[a-z_/]*(?:\.py)?)`", text))
    assert len(named) > 30
    assert [room for room in sorted(named) if not (package / room).exists() and not (package / f"{room}.py").exists()] == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "DESIGN.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_every_table_of_a_page_has_rows_with_a_cell_for_each_column(page: Path) -> None:
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"\|( -+ \|)+|\|(-+\|)+", line):
            columns = line.count("|")
            rows = list(takewhile(lambda row: row.startswith("|"), lines[number + 1 :]))
            assert rows, f"{page.name}:{number + 1} is a table without rows"
            for row in rows:
                assert len(re.findall(r"(?<!\\)\|", row)) == columns, f"{page.name}: {row}"
