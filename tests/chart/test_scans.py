"""kube-score over everything that the chart renders: it finds what docs/security.md answers, and nothing else."""

import json
import subprocess
from itertools import pairwise

import pytest

from chart.rendering import EVERYTHING, ROOT, template
from chart.scanners import SCANNERS, scanner

MORE = "--set=rest.enabled=true,eta.enabled=true,history.urlSecret.name=db,agent.alone.enabled=true,agent.alone.cpuPercent=85,networkPolicy.restrictEgress=true,ingress.enabled=true,ingress.host=treadle.example"
WORKLOADS = ("agent", "scheduler", "test")
ANSWERED = {
    "container-resources": (
        "a limit of cpu throttles what there is room for; requests and a limit of memory are there",
        WORKLOADS,
    ),
    "container-image-pull-policy": (
        "image.digest pins the image, a pull at each start would need the registry to be up",
        WORKLOADS,
    ),
    "container-ephemeral-storage-request-and-limit": ("nodes that count none would take no copy; volumes have limits", WORKLOADS),
    "deployment-has-host-podantiaffinity": (
        "topologySpread keeps copies apart without keeping one from starting",
        ("scheduler",),
    ),
}
"""What the scanner says and we do not follow: why, and of which pods it says it."""
NAMES = {
    "DaemonSet/apps/v1/treadle-system/treadle-agent": "agent",
    "Deployment/apps/v1/treadle-system/treadle": "scheduler",
    "Pod/v1/treadle-system/treadle-test": "test",
}


@pytest.fixture(scope="module")
def found():
    """(what, whose) of all that kube-score does not like."""
    rendered = template(*EVERYTHING, MORE)
    assert rendered.returncode == 0, rendered.stderr
    answer = subprocess.run(
        [scanner("kube-score"), "score", "--output-format=json", "-"],
        input=rendered.stdout,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    objects = json.loads(answer.stdout)
    assert {NAMES[one["object_name"]] for one in objects if one["object_name"] in NAMES} == set(WORKLOADS), answer.stderr
    return {
        (check["check"]["id"], NAMES.get(one["object_name"], one["object_name"]))
        for one in objects
        for check in one["checks"]
        if not check["skipped"] and check["grade"] < 10
    }


def test_the_scanner_finds_what_is_answered_and_nothing_else(found):
    assert found == {(what, whose) for what, (_, pods) in ANSWERED.items() for whose in pods}


def test_every_finding_has_its_answer_in_the_documentation_beside_the_version_of_the_scanner():
    text = (ROOT / "docs" / "security.md").read_text()
    section = text.partition("\n## Scans\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| kube-score")]
    assert {line.split("`")[1] for line in lines} == set(ANSWERED)
    assert f"kube-score {SCANNERS.version('github.com/zegl/kube-score').lstrip('v')}" in section
    assert all(before <= after for before, after in pairwise(line.split("`")[1] for line in lines)), "in order"
