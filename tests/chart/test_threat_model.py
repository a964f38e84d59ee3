"""The threat model says where each defence is tested: those tests are there."""

import re

import pytest

from chart.rendering import ROOT

TEXT = (ROOT / "docs" / "threat-model.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT)))


@pytest.mark.parametrize("path", NAMED)
def test_a_test_that_the_threat_model_names_is_there_and_tests_something(path):
    assert (ROOT / path).name.startswith("test_")
    assert re.search(r"^(?:(?:async )?def test_\w+\(|Test\w+ = )", (ROOT / path).read_text(), re.MULTILINE)


def test_what_stops_somebody_is_tested_or_said_to_be_nothing_of_ours():
    rows = [
        line.split(" | ")
        for line in TEXT.splitlines()
        if line.startswith("| ") and not line.startswith(("| wants", "| writes", "| ---"))
    ]
    assert len(NAMED) > 20
    unproven = [
        row for row in rows if "`tests/" not in " | ".join(row) and "nothing of ours" not in row[1] and "RBAC only" not in row[2]
    ]
    assert unproven == []


def test_values_that_the_threat_model_names_are_values_of_the_chart():
    import yaml

    values = yaml.safe_load((ROOT / "charts" / "treadle" / "values.yaml").read_text())
    named = {word for word in re.findall(r"`([a-z]\w*(?:\.\w+)+)(?:: \w+)?`", TEXT) if word.split(".")[0] in values}
    assert len(named) > 8
    for path in named:
        below = values
        for part in path.split("."):
            assert part in below, path
            below = below[part]


@pytest.mark.parametrize(
    "path", ["docs/threat-model.md", "docs/security.md", "docs/upgrade.md", "docs/releasing.md", "SECURITY.md"]
)
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", (ROOT / path).read_text())
    assert links
    assert [link for link in links if not ((ROOT / path).parent / link).exists()] == []
