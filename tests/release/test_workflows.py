"""The workflows are sound, hold no more rights than they use, and run the commands of a checkout."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from chart.scanners import scanner

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
BIN = Path(sys.executable).parent
SIGNS = {("release", "build"), ("release", "image"), ("release", "chart"), ("release", "wheel")}
WRITES = {
    ("release", "build", "attestations"), ("release", "image", "attestations"), ("release", "image", "packages"),
    ("release", "chart", "packages"), ("release", "page", "contents"),
}  # fmt: skip


def jobs():
    for path in FILES:
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            yield path.stem, name, job


def test_there_are_a_workflow_for_changes_and_one_for_releases():
    assert [path.stem for path in FILES] == ["ci", "release"]


def test_actionlint_finds_nothing_in_them_or_their_scripts():
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"  # shellcheck is there
    answer = subprocess.run(
        [scanner("actionlint"), *FILES], capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    assert (answer.returncode, answer.stdout) == (0, ""), answer.stderr


def test_zizmor_finds_no_hole():
    answer = subprocess.run([BIN / "zizmor", "--offline", "--quiet", *FILES], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_action_is_pinned_by_a_commit_with_the_version_beside_it(path):
    used = [line.strip() for line in path.read_text().splitlines() if re.search(r"\buses:", line)]
    assert used
    for line in used:
        assert re.fullmatch(r"(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    pins = {}
    for file in FILES:
        for action, pin in re.findall(r"uses: (\S+)@(\S+ # \S+)", file.read_text()):
            pins.setdefault(action, set()).add(pin)
    assert {action: len(found) for action, found in pins.items() if len(found) > 1} == {}


def test_no_job_has_a_right_that_is_not_listed_here():
    for path in FILES:
        assert yaml.safe_load(path.read_text())["permissions"] == {}
    rights = {(file, name, right, level) for file, name, job in jobs() for right, level in job["permissions"].items()}
    assert {(file, name) for file, name, right, level in rights if (right, level) == ("id-token", "write")} == SIGNS
    assert {(file, name, right) for file, name, right, level in rights if level == "write" and right != "id-token"} == WRITES


def test_nothing_is_published_that_was_not_tested():
    release = {name: job for file, name, job in jobs() if file == "release"}

    def waits_for(name):
        needed = release[name].get("needs", [])
        return set(needed).union(*map(waits_for, needed))

    assert [name for name in ("image", "chart", "wheel", "page") if "test" not in waits_for(name)] == []


def test_they_run_what_a_checkout_has():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    ran = [step["run"] for _, _, job in jobs() for step in job["steps"] if "run" in step]
    made = {word for text in ran for line in re.findall(r"^make (.+)$", text, re.MULTILINE) for word in line.split()}
    assert made >= {"lint", "quick", "wheel", "sbom"}
    assert made <= targets
    assert any(text == ".ci/run" for text in ran)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
