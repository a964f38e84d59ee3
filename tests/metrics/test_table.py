"""The table of metrics: what stands in it is what is exposed, what is documented and what texts speak of."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from kube.access import served, until
from metrics.pages import ROOT, SERIES, exposed, families, named
from metrics.samples import SAMPLES
from runtime.services import add_nodes, add_pods, bound, get, treadle
from treadle.agent import pages as agent_pages
from treadle.cli.commands import app
from treadle.fakeapi import FakeApi
from treadle.history import store
from treadle.metrics import exporter, page, table
from treadle.metrics.exporter import Undeclared, render

DECLARED = {one.name: one for one in table.TABLE}
NO_METRICS = {"scheduler_perf"}
"""What texts name that looks like a metric: Kubernetes' benchmark of this name."""
TEXTS = sorted(
    path
    for pattern in ("docs/*.md", "charts/**/*", "README.md", "DESIGN.md", "examples/**/*")
    for path in ROOT.glob(pattern)
    if path.is_file()
)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


def test_no_metric_is_declared_twice() -> None:
    assert len(DECLARED) == len(table.TABLE)


def test_each_is_a_sentence_and_has_a_name_that_fits_its_type() -> None:
    for one in table.TABLE:
        assert one.help.endswith("."), one.name
        assert one.name.endswith("_total") == (one.kind == "counter"), one.name
        if one.kind == "histogram" and one.unit:
            assert one.name.endswith(f"_{one.unit}"), one.name


def test_the_page_has_what_the_table_says_and_nothing_else() -> None:
    found = exposed(families(render(SAMPLES).decode()))

    assert set(found) == set(DECLARED)
    for name, (kind, labels) in found.items():
        assert kind == DECLARED[name].kind, name
        assert labels == {frozenset(DECLARED[name].labels)}, name


def test_a_number_that_is_not_in_the_table_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {name: tuple(one for one in group if one.name != "treadle_nodes") for name, group in table.GROUPS.items()}
    monkeypatch.setattr(exporter, "GROUPS", groups)

    with pytest.raises(Undeclared, match="treadle_nodes"):
        render(SAMPLES)


def test_labels_that_are_not_those_of_the_table_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {
        name: tuple(replace(one, labels=()) if one.name == "treadle_pods" else one for one in group)
        for name, group in table.GROUPS.items()
    }
    monkeypatch.setattr(exporter, "GROUPS", groups)

    with pytest.raises(ValueError):
        render(SAMPLES)


@pytest.mark.parametrize("everything", [False, True])
async def test_a_running_instance_exposes_what_the_table_declares(api: FakeApi, tmp_path: Path, everything: bool) -> None:
    add_nodes(api)
    changes = {"history": f"sqlite:///{tmp_path / 'history'}", "eta": True} if everything else {}
    async with treadle(api, listen="127.0.0.1:0", **changes) as service:
        add_pods(api, "a")
        await bound(api, "a")
        await until(lambda: service.core.state.bound == 1)
        found = exposed(families((await get(service, "/metrics"))[1]))

    conditions = {table.PROC, table.HISTORY, table.FORECASTS} if everything else {table.PROC}
    assert set(found) == {one.name for one in table.TABLE if not one.when or one.when in conditions}
    for name, (kind, labels) in found.items():
        assert kind == DECLARED[name].kind, name
        assert labels <= {frozenset(DECLARED[name].labels)}, name


async def test_a_pod_that_is_bound_is_measured(api: FakeApi) -> None:
    add_nodes(api)
    async with treadle(api, listen="127.0.0.1:0") as service:
        add_pods(api, "a")
        await bound(api, "a")
        await until(lambda: service.engine.measures.scheduled.times().count == 1, "the answer is taken in")
        text = (await get(service, "/metrics"))[1]

    assert 'treadle_queue_wait_seconds_count{queue="root.default"} 1.0' in text
    assert "treadle_bind_duration_seconds_count 1.0" in text
    assert 'scheduler_schedule_attempts_total{profile="treadle",result="scheduled"} 1.0' in text
    assert 'scheduler_scheduling_attempt_duration_seconds_count{profile="treadle",result="scheduled"} 1.0' in text
    assert "scheduler_pod_scheduling_sli_duration_seconds_count 1.0" in text
    assert "scheduler_scheduling_algorithm_duration_seconds_count 1.0" in text
    host = f'host="{api.url.removeprefix("http://")}"'
    (binds,) = re.findall(r'^treadle_api_requests_total{code="201",method="POST",use="bind"} (\S+)$', text, re.MULTILINE)
    (posted,) = re.findall(rf'^rest_client_requests_total{{code="201",{host},method="POST"}} (\S+)$', text, re.MULTILINE)
    assert float(posted) >= float(binds) == 1
    answers = re.findall(rf'^rest_client_request_duration_seconds_count{{{host},verb="GET"}} (\S+)$', text, re.MULTILINE)
    asked = re.findall(r'^treadle_api_requests_total{code="\d+",method="GET",use="\w+"} (\S+)$', text, re.MULTILINE)
    assert sum(map(float, answers)) == sum(map(float, asked)) > 0
    assert 'treadle_http_connections{door="service"} 1.0' in text
    passes = re.search(r"^treadle_passes_total (\S+)$", text, re.MULTILINE)
    measured = re.search(r"^treadle_pass_duration_seconds_count (\S+)$", text, re.MULTILINE)
    assert passes is not None
    assert measured is not None
    assert float(passes[1]) == float(measured[1]) > 0
    silent = re.search(r'^treadle_watch_silent_seconds{resource="pods"} (\S+)$', text, re.MULTILINE)
    assert silent is not None
    assert 0 <= float(silent[1]) < 60


def known() -> set[str]:
    """All that texts may name: what is declared, the series of histograms, the agent's metrics, and the tables of the history."""
    histograms = {one.name + suffix for one in table.TABLE if one.kind == "histogram" for suffix in SERIES}
    agent = named(Path(agent_pages.__file__).read_text())
    agent |= {
        f"treadle_agent_{whose}{what}"
        for whose in ("pod", "pods")
        for what in ("_cpu_usage_seconds_total", "_memory_working_set_bytes")
    }
    return set(DECLARED) | histograms | agent | set(store.metadata.tables)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_metric_that_a_text_names_is_there(path: Path) -> None:
    assert named(path.read_text()) - known() - NO_METRICS == set()


def test_the_page_of_a_checkout_is_that_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["metrics", "--check", "--root", str(ROOT)], exit_on_error=False, result_action="return_value") == 0
    assert capsys.readouterr().err == ""


def test_a_page_that_is_out_of_date_is_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> int:
        return int(app(["metrics", *arguments, "--root", str(tmp_path)], exit_on_error=False, result_action="return_value"))

    assert run("--check") == 2
    assert "there is no docs/metrics.md" in capsys.readouterr().err
    (tmp_path / "docs").mkdir()
    (tmp_path / page.PAGE).write_text("# Metrics\n")
    assert run("--write") == 2
    assert page.BEGIN in capsys.readouterr().err
    (tmp_path / page.PAGE).write_text(f"# Metrics\n{page.BEGIN}\nan old table\n{page.END}\nafter\n")
    assert run("--check") == 1
    assert "run `treadle metrics --write`" in capsys.readouterr().err
    assert run("--write") == 0
    assert run("--check") == 0
    text = (tmp_path / page.PAGE).read_text()
    assert text.startswith("# Metrics\n")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "an old table" not in text
    assert run("--write", "--check") == 2


def test_without_an_option_the_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["metrics"], exit_on_error=False, result_action="return_value") == 0
    printed = capsys.readouterr().out
    assert all(f"| `{name}` |" in printed for name in DECLARED)
    assert re.search(r"\| `treadle_pods` \| gauge \| state \|", printed)
