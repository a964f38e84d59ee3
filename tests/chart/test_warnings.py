"""The chart's policies that warn at apply: they refuse nothing, and know the labels that the scheduler knows."""

import re

from chart.rendering import CHART, of_kind
from treadle.api.known_labels import KNOWN


def policies(*arguments):
    return [one for one in of_kind("ValidatingAdmissionPolicy", *arguments) if "-warnings-" in one["metadata"]["name"]]


def test_each_of_them_warns_and_stands_in_nobodys_way():
    found = {one["metadata"]["name"]: one for one in policies()}
    assert set(found) == {f"treadle-warnings-{kind}" for kind in ("queues", "pods", "templates", "cronjobs")}
    bindings = {
        one["spec"]["policyName"]: one["spec"]["validationActions"] for one in of_kind("ValidatingAdmissionPolicyBinding")
    }
    for name, policy in found.items():
        assert policy["spec"]["failurePolicy"] == "Ignore"
        assert bindings[name] == ["Warn"]


def test_they_are_left_out_when_nobody_wants_them():
    assert policies("--set=warnings.enabled=false") == []


def test_they_know_the_labels_that_the_scheduler_knows():
    text = (CHART / "templates" / "_warnings.tpl").read_text()
    said = set(re.findall(r'"([a-z-]+)"', text[text.index("list ") :]))
    assert {f"treadle.dev/{name}" for name in said} == KNOWN
