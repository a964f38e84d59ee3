"""``--cases DIR`` runs another folder of conformance cases; the end of the report counts passed and failed per suite."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.suites import built

HERE = Path(__file__).parent / "cases"
PASSED, FAILED, NOT_YET, NOT_BUILT = "passed", "failed", "not yet or otherwise", "not built"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", metavar="DIR", help="a folder of conformance cases (*.json) to run instead of our own")


def folder(config: pytest.Config) -> Path | None:
    given = config.getoption("--cases", default=None)
    return Path(given) if given else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conformance_case" not in metafunc.fixturenames:
        return
    directory = folder(metafunc.config) or HERE
    parameters = []
    for file in sorted(directory.glob("*.json")):
        others = 0
        for case in json.loads(file.read_text()):
            if built(case):
                parameters.append(pytest.param((file.stem, case), id=f"{file.stem}: {case['name']}"))
            else:
                others += 1
        if others:
            parameters.append(pytest.param((file.stem, others), id=f"{file.stem}: {others} of a kind that is not built"))
    if not parameters:
        raise pytest.UsageError(f"--cases: {directory} holds no *.json")
    metafunc.parametrize("conformance_case", parameters)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a folder of somebody's only its cases are run."""
    if folder(config) is not None:
        others = [item for item in items if "conformance_case" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    case = getattr(item, "callspec", None) and item.callspec.params.get("conformance_case")
    if case and (report.when == "call" or report.outcome != "passed"):
        suite, what = case
        report.user_properties.append(("suite", suite))
        report.user_properties.append(("cases", what if isinstance(what, int) else 1))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts: dict[str, Counter[str]] = {}
    for outcome, name in (
        ("passed", PASSED),
        ("failed", FAILED),
        ("error", FAILED),
        ("xfailed", NOT_YET),
        ("skipped", NOT_BUILT),
    ):
        for report in terminalreporter.stats.get(outcome, []):
            properties = dict(report.user_properties) if hasattr(report, "user_properties") else {}
            if "suite" in properties:
                counts.setdefault(properties["suite"], Counter())[name] += properties["cases"]
    if not counts:
        return
    terminalreporter.section("conformance")
    for suite in sorted(counts):
        found = counts[suite]
        words = [
            f"{found[name]} {name}" for name in (PASSED, FAILED, NOT_YET, NOT_BUILT) if found[name] or name in {PASSED, FAILED}
        ]
        terminalreporter.line(f"{suite}: {', '.join(words)}")
