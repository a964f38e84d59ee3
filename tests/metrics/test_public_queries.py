"""What public dashboards ask of kube-scheduler is given, or docs/metrics.md says why it is not."""

from __future__ import annotations

from cluster.public_queries import GONE, NOT_GIVEN, PROJECTS, asked, metrics
from metrics.pages import ROOT
from treadle.metrics.table import TABLE


def test_what_is_asked_for_and_not_given_is_told_with_why() -> None:
    names: set[str] = set().union(*map(metrics, asked()))
    assert names - {one.name for one in TABLE} == GONE | NOT_GIVEN

    text = (ROOT / "docs" / "metrics.md").read_text()
    told = text[text.index("are not given") :]
    assert {
        name for name in NOT_GIVEN | GONE if f"`{name}`" not in told and f"`{name.removeprefix('scheduler_')}`" not in told
    } == set()


def test_whose_dashboards_they_are_is_told() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    assert [one.name for one in PROJECTS if one.name not in text] == []
