"""Files that an older Hadoop ran and 3.4 refuses, and conversion that leaves out what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from convert.command import by_name, in_force, run


def convert(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "file.xml"
    file.write_text(text)
    return run(str(file), *options)


def comments(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.removeprefix("# ") for line in done.stdout.splitlines() if line.startswith("# ")]


def capacity(**properties: str) -> str:
    said = {"root.queues": "a,b", "root.a.capacity": "40", "root.b.capacity": "60"} | {
        name.replace("__", "-"): value for name, value in properties.items()
    }
    found = "".join(f"<property><name>yarn.scheduler.capacity.{k}</name><value>{v}</value></property>\n" for k, v in said.items())
    return f"<configuration>{found}</configuration>"


NESTED = """<allocations><queue name="a"/><queue name="dev" type="parent"/>
<queuePlacementPolicy>
<rule name="specified" create="false"/>
<rule name="nestedUserQueue" create="true"><rule name="default" queue="dev"/></rule>
<rule name="default" queue="a"/>
</queuePlacementPolicy></allocations>"""
ORDERED = capacity(**{"root.ordering-policy": "fair"})
LABELLED = capacity(
    **{
        "root.accessible-node-labels": "*",
        "root.accessible-node-labels.default.capacity": "-1",
        "root.accessible-node-labels.default.maximum-capacity": "-1",
    }
)


@pytest.mark.parametrize(
    ("text", "version", "words"),
    [
        (NESTED, "2.7", ["line 5: rule default is left out: it follows nestedUserQueue on line 4"]),
        (NESTED, "3.1", ["line 5: rule default is left out: it follows nestedUserQueue on line 4"]),
        (ORDERED, "2.7", ["yarn.scheduler.capacity.root.ordering-policy: fair is left out: Hadoop 2.7 has an order"]),
        (
            LABELLED,
            "2.7",
            [
                "yarn.scheduler.capacity.root.accessible-node-labels.default.capacity: -1 is left out: no queue lists label 'default'",
                "yarn.scheduler.capacity.root.accessible-node-labels.default.maximum-capacity: -1 is left out",
            ],
        ),
    ],
)
def test_what_an_older_hadoop_ran_is_converted_as_it_meant_it(tmp_path: Path, text: str, version: str, words: list[str]) -> None:
    now = convert(tmp_path, text)
    assert (now.returncode, now.stdout, now.stderr.count("\n")) == (1, "", 1), "3.4 refuses it, in one line"
    done = convert(tmp_path, text, "--hadoop", version)
    assert (done.returncode, done.stderr) == (0, "")
    told = comments(done)
    assert [next((line for line in told if line.startswith(word)), "") != "" for word in words] == [True] * len(words), told
    if text is not NESTED:
        in_force(list(yaml.safe_load_all(done.stdout)))


def test_what_means_the_same_in_all_is_converted_alike(tmp_path: Path) -> None:
    plain = capacity(**{"root.ordering-policy": "priority-utilization", "root.a.ordering-policy": "fair"})
    assert len({convert(tmp_path, plain, "--hadoop", version).stdout for version in ("2.7", "3.1", "3.4")}) == 1
    assert convert(tmp_path, ORDERED, "--hadoop", "3.1").returncode == 1, "3.1 refused that as well"


def test_refused_elements_are_left_out_with_their_lines_and_the_rest_is_converted(tmp_path: Path) -> None:
    text = """<allocations>
<queue name="good"><weight>2</weight></queue>
<queue name="a.b"><weight>1</weight></queue>
<queue name="odd">
  <weight>heavy</weight>
  <maxRunningApps>7</maxRunningApps>
  <schedulingPolicy>guess</schedulingPolicy>
</queue>
<userMaxAppsDefault>many</userMaxAppsDefault>
</allocations>"""
    assert convert(tmp_path, text).returncode == 1
    done = convert(tmp_path, text, "--lenient")
    assert (done.returncode, done.stderr) == (0, "")
    refused = [line for line in comments(done) if line.startswith("REFUSED")]
    assert [line.partition(" is left out: ")[0] for line in sorted(refused)] == [
        "REFUSED line 3: <queue name='a.b'>",
        "REFUSED line 5: <weight> heavy",
        "REFUSED line 7: <schedulingPolicy> guess",
        "REFUSED line 9: <userMaxAppsDefault> many",
    ]
    found = by_name(list(yaml.safe_load_all(done.stdout)))
    assert set(found) == {"treadle", "root", "root.good", "root.odd"}
    assert found["root.odd"]["maxRunningApplications"] == 7


def test_refused_properties_are_left_out_and_the_rest_is_converted(tmp_path: Path) -> None:
    text = capacity(**{"root.ordering-policy": "fair", "root.a.user-limit-factor": "much", "root.b.maximum-capacity": "80"})
    assert convert(tmp_path, text).returncode == 1
    done = convert(tmp_path, text, "--lenient")
    refused = [line for line in comments(done) if line.startswith("REFUSED")]
    assert len(refused) == 2
    assert "REFUSED yarn.scheduler.capacity.root.a.user-limit-factor: 'much' is left out" in done.stdout
    found = by_name(list(yaml.safe_load_all(done.stdout)))
    assert found["root.b"]["capacity"]["maximum"] == "80%"


def test_what_is_no_single_part_stays_refused(tmp_path: Path) -> None:
    done = convert(tmp_path, capacity(**{"root.a.capacity": "50"}), "--lenient")
    assert (done.returncode, done.stdout) == (1, "")
    assert "110" in done.stderr


def test_queues_beyond_all_measure_are_refused_in_one_line(tmp_path: Path) -> None:
    path, properties = "root", {}
    for _ in range(2000):
        properties |= {f"{path}.queues": "q", f"{path}.q.capacity": "100"}
        path += ".q"
    done = convert(tmp_path, capacity(**properties))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "nested deeper than 100 levels" in done.stderr
