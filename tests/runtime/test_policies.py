"""Policies of one's own: found by their entry points, used by name; the example of the documentation works."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from core.builders import Scenario
from treadle.core.disciplines.fair.update import update_instant_shares
from treadle.core.rules.policies import POLICIES
from treadle.core.units.resources import CPU
from treadle.runtime.policies import GROUP, PolicyUnusable, load_policies

DOCUMENT = Path(__file__).parents[2] / "docs" / "policies.md"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path; what is registered is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(POLICIES)
    yield tmp_path
    POLICIES.clear()
    POLICIES.update(before)


def test_the_policy_of_the_documentation_decides(packages: Path) -> None:
    example = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert example is not None
    (packages / "documented_policies.py").write_text(example[1])

    assert load_policies([EntryPoint("acme.smallest", "documented_policies:Smallest", GROUP)]) == ["acme.smallest"]

    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root").queue("root.a", policy="acme.smallest")
    scenario.pods(4, "large", "root.a", "large", memory=2).pods(4, "small", "root.a", "small", memory=1)
    names = [bind.uid.partition("-")[0] for bind in scenario.plan(budget=4)]
    assert names == ["large", "small", "small", "large"]


def test_a_queue_with_an_unknown_policy_says_which_are_known() -> None:
    scenario = Scenario().queue("root").queue("root.a", policy="lottery").queue("root.b")
    scenario.plan()
    problem = scenario.core.state.tree.problems["root.a"]
    assert "'lottery' is not known; allowed are drf, fair, fifo" in problem.message
    assert "root.b" in scenario.core.state.tree.queues


def test_a_policy_may_share_in_its_own_way(packages: Path) -> None:
    """What a queue has goes to the first child by name, in the shares that decide and in those that are shown."""
    (packages / "own_shares.py").write_text(
        """
from treadle.policies import Policy


class Firstborn(Policy):
    name = "acme.firstborn"
    children = frozenset({"drf"})

    def compare(self, cluster):
        return lambda one, other: (one.name > other.name) - (one.name < other.name)

    def shares(self, cluster, total, siblings, busy, before):
        first = min(range(len(siblings)), key=lambda number: siblings[number].name)
        return [list(total) if number == first else list(before[number]) for number in range(len(siblings))]
"""
    )
    load_policies([EntryPoint("acme.firstborn", "own_shares:Firstborn", GROUP)])
    scenario = Scenario().nodes(1, cpu=8, memory=8).queue("root", policy="acme.firstborn").queue("root.a").queue("root.b")
    scenario.pods(2, "a", "root.a", "a").pods(8, "b", "root.b", "b").plan()
    core = scenario.core
    core.refresh_shares()
    update_instant_shares(core.state.tree.root, core.state.cluster)
    one, other = core.state.tree.queues["root.a"], core.state.tree.queues["root.b"]
    assert (one.instant_share[CPU], one.steady_share[CPU], one.fair_share[CPU]) == (8000, 8000, 2000)
    assert (other.instant_share[CPU], other.steady_share[CPU], other.fair_share[CPU]) == (0, 0, 0)


def test_a_policy_that_lacks_a_part_is_refused_with_what_it_lacks(packages: Path) -> None:
    (packages / "half_policies.py").write_text("class Half:\n    name = 'acme.half'\n    def compare(self, cluster): ...\n")
    with pytest.raises(PolicyUnusable, match="ranker, counts, shares, headroom, weigh is missing"):
        load_policies([EntryPoint("acme.half", "half_policies:Half", GROUP)])


def test_a_policy_that_cannot_be_used_is_refused_with_its_package(packages: Path) -> None:
    (packages / "bad_policies.py").write_text("class Nameless:\n    name = 'other'\n")
    with pytest.raises(PolicyUnusable, match=r"'nameless' \(bad_policies:Nameless\): it must have the name 'nameless'"):
        load_policies([EntryPoint("nameless", "bad_policies:Nameless", GROUP)])
    with pytest.raises(PolicyUnusable, match=r"'gone' .* cannot be loaded"):
        load_policies([EntryPoint("gone", "no_such_module:Gone", GROUP)])
