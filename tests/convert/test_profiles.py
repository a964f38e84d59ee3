"""YARN's resource profiles as those of a Scheduler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from convert.command import by_name, run
from treadle.api.objects import parse
from treadle.convert.profiles import ProfilesRefused, read

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
YARN = {
    "small": {"memory-mb": 1024, "vcores": 1},
    "default": {"memory-mb": 2048, "vcores": 2},
    "large": {"memory-mb": "4096Mi", "vcores": "4"},
    "Compute_GPU": {"memory-mb": "2048", "vcores": 2, "yarn.io/gpu": 1},
}


def test_the_profiles_of_hadoops_documentation() -> None:
    profiles, notes = read(json.dumps(YARN))
    assert profiles == {
        "small": {"memory": "1024Mi", "cpu": "1"},
        "default": {"memory": "2048Mi", "cpu": "2"},
        "large": {"memory": "4096Mi", "cpu": "4"},
        "compute-gpu": {"memory": "2048Mi", "cpu": "2", "yarn.io/gpu": "1"},
    }
    assert notes == [
        "profile Compute_GPU is called compute-gpu",
        "profile default: pods that name no profile have what they request, and nothing if they request nothing",
    ]
    parse("Scheduler", {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"resourceProfiles": profiles}})


FULL = {"memory-mb": 1, "vcores": 1}
REFUSED: list[tuple[Any, str]] = [
    ("{", "not JSON"),
    ([], "not a map of profiles"),
    ({"a": FULL}, "the profile 'default' is missing"),
    ({"default": {"vcores": 1}}, "profile 'default' must contain 'memory-mb' and 'vcores'"),
    ({"default": FULL, "maximum": FULL}, "minimum and maximum are not named here"),
    ({"default": FULL, "a_b": FULL, "a-b": FULL}, "its name cannot be told from others"),
    ({"default": FULL, "日本": FULL}, "its name cannot be told from others"),
    ({"default": {**FULL, "memory-mb": "2Gi"}}, "Hadoop takes the number for MiB"),
    ({"default": {**FULL, "vcores": "500m"}}, "Hadoop takes the number alone"),
    ({"default": {**FULL, "x": "-1"}}, "is not a whole number"),
    ({"default": {**FULL, "x": "1p"}}, "is not a whole number"),
]


@pytest.mark.parametrize(("said", "words"), REFUSED)
def test_what_hadoop_refuses_or_means_otherwise_is_refused(said: Any, words: str) -> None:
    with pytest.raises(ProfilesRefused) as caught:
        read(said if isinstance(said, str) else json.dumps(said))
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["fair-scheduler.xml", "capacity-scheduler.xml"])
def test_the_command_gives_them_to_the_scheduler_of_either_discipline(name: str, tmp_path: Path) -> None:
    file = tmp_path / "resource-profiles.json"
    file.write_text(json.dumps(YARN))
    done = run(str(EXAMPLES / name), f"--resource-profiles={file}")
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    assert by_name(objects)["treadle"]["resourceProfiles"]["small"] == {"memory": "1024Mi", "cpu": "1"}
    assert "# profile Compute_GPU is called compute-gpu" in done.stdout


def test_the_command_blames_the_file(tmp_path: Path) -> None:
    file = tmp_path / "resource-profiles.json"
    file.write_text("{}")
    done = run(str(EXAMPLES / "fair-scheduler.xml"), f"--resource-profiles={file}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "resource-profiles.json: the profile 'default' is missing" in done.stderr
