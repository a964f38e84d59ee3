"""The wheel has the same bytes wherever and whenever it is built of the same source."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("operator", "examples", "pyproject.toml", "README.md", "LICENSE")


def built(folder, mask, age, epoch="1700000000"):
    """Build it of a copy of the source with other times and rights of files; returns its path."""
    folder.mkdir()
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    for path in sorted(folder.rglob("*"), reverse=age % 2 == 0):
        if path.is_file():
            path.chmod(path.stat().st_mode & ~mask)
        os.utime(path, (age, age))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "TZ": "Asia/Tokyo" if age % 2 else "UTC"}
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "dist")]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=120)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    return built(folder / "a", 0o022, 1_000_000_001), built(folder / "b", 0o077, 1_200_000_000)


def test_two_builds_are_the_same_to_the_byte(wheels):
    one, other = wheels
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


def test_its_files_are_as_old_as_it_is_said(wheels, tmp_path):
    with zipfile.ZipFile(wheels[0]) as found:
        assert {each.date_time for each in found.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    later = built(tmp_path / "c", 0o022, 1_000_000_001, epoch="1800000000")
    with zipfile.ZipFile(later) as found:
        assert {each.date_time[0] for each in found.infolist()} == {2027}


def test_it_has_the_package_and_the_examples_and_nothing_else(wheels):
    with zipfile.ZipFile(wheels[0]) as found:
        names = found.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"treadle"}
    assert "treadle/cli/run.py" in names
    assert "treadle/examples/classic.yaml" in names
    assert not [name for name in names if name.endswith((".pyc", ".lock"))]
