"""Pods that say no execution type have that of their Application object, as far as they request nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.builders import GIB, Scenario, a_pod
from core.kernel.opportunistic.idle_pods import bound, evicted, seen
from treadle.core.effects import EXECUTION_TYPE_IGNORED, RecordEvent, Resize
from treadle.core.events import ApplicationGone, ApplicationSeen, ResizeDone
from treadle.core.model import ApplicationSpec, PodSpec

USES = (("cpu", 1000), ("memory", GIB))
IDENTITY = "ns/batch"


def unsaid(name: str, **fields: Any) -> PodSpec:
    """A pod that requests nothing but its slot, and does not say what it is."""
    return replace(a_pod(name, "root.a", "batch", 0, 0), if_opportunistic=USES, **fields)


def scene(*, opportunistic: bool = True) -> Scenario:
    scenario = Scenario().queue("root.a").nodes(1, cpu=1, memory=64)
    return says(scenario, opportunistic=opportunistic)


def says(scenario: Scenario, *, opportunistic: bool) -> Scenario:
    return scenario.tell(ApplicationSeen(ApplicationSpec(IDENTITY, "root.a", opportunistic=opportunistic)))


def given(scenario: Scenario) -> set[str]:
    return set(scenario.core.state.opportunistic.of)


def test_a_pod_that_says_nothing_is_what_its_application_is() -> None:
    scenario = seen(scene(), unsaid("one"), unsaid("two"))
    assert set(bound(scenario)) == {"one"}, "the node has room for one of them"
    assert given(scenario) == {"one"}
    scenario.pod("g", "root.a", cpu=1)
    assert set(bound(scenario)) == {"g"}
    assert evicted(scenario) == ["one"]


def test_a_pod_that_says_that_it_is_guaranteed_is() -> None:
    scenario = seen(scene(), unsaid("one", says_type=True))
    bound(scenario)
    assert given(scenario) == set()


def test_an_application_that_changes_takes_its_pods_along() -> None:
    scenario = seen(scene(opportunistic=False), unsaid("one"), unsaid("two"))
    assert set(bound(scenario)) == {"one", "two"}, "they request nothing"
    says(scenario, opportunistic=True)
    assert given(scenario) == {"one", "two"}
    says(scenario, opportunistic=False)
    assert given(scenario) == set()
    says(scenario, opportunistic=True).tell(ApplicationGone(IDENTITY))
    assert given(scenario) == set()
    assert scenario.core.state.opportunistic.applications == {}


def test_the_object_may_come_after_its_pods() -> None:
    scenario = seen(Scenario().queue("root.a").nodes(1, cpu=1, memory=64), unsaid("one"), unsaid("two"))
    says(scenario, opportunistic=True)
    assert set(bound(scenario)) == {"one"}


def test_a_change_while_a_bind_is_under_way_counts_when_it_is_confirmed() -> None:
    scenario = seen(scene(), unsaid("one"))
    (bind,) = scenario.plan()
    says(scenario, opportunistic=False)
    seen(scenario, unsaid("one", node=bind.node))
    assert given(scenario) == set()
    scenario.plan()


def test_one_that_requests_something_is_guaranteed_and_its_owner_is_told() -> None:
    scenario = scene().tell()
    seen(scenario, a_pod("big", "root.a", "batch", 1, 0))
    scenario.plan()
    events = [one for one in scenario.effects if isinstance(one, RecordEvent)]
    assert [(one.reason, one.uid) for one in events] == [(EXECUTION_TYPE_IGNORED, "big")]


WHY = "metadata: an opportunistic pod has to say what it will use"


def test_one_that_does_not_say_what_it_will_use_waits_until_it_does() -> None:
    nothing = replace(unsaid("one"), if_opportunistic=(("cpu", 0), ("memory", 0)), unclear_if_opportunistic=WHY)
    scenario = seen(scene(), nothing)
    assert bound(scenario) == {}
    assert scenario.why("one") == ("InvalidPod", WHY)
    assert set(bound(seen(scenario, unsaid("one")).wait(1))) == {"one"}


def test_one_that_does_not_say_what_it_will_use_is_placed_when_its_application_is_not_opportunistic_any_more() -> None:
    nothing = replace(unsaid("one"), if_opportunistic=(("cpu", 0), ("memory", 0)), unclear_if_opportunistic=WHY)
    scenario = seen(scene(), nothing)
    assert bound(scenario) == {}
    assert set(bound(says(scenario, opportunistic=False))) == {"one"}


def test_one_that_was_bound_as_opportunistic_stays_so_without_its_application_and_is_told() -> None:
    scenario = seen(scene(), unsaid("one"))
    (bind,) = scenario.plan()
    there = replace(unsaid("one"), node=bind.node, stays=True, opportunistic=USES)
    seen(scenario, there).plan()
    assert given(scenario) == {"one"}
    assert notes(scenario) == []
    says(scenario, opportunistic=False).plan()
    assert given(scenario) == {"one"}, "it requests nothing, so others would be placed as if it used nothing"
    (note,) = notes(scenario)
    assert note.startswith("It stays opportunistic: it does not say any more what it is")
    says(scenario, opportunistic=True).plan()
    assert (given(scenario), notes(scenario)) == ({"one"}, [])


def test_what_it_says_of_promotion_is_told_while_its_application_is_opportunistic() -> None:
    scenario = seen(scene(opportunistic=False), unsaid("one"))
    (bind,) = scenario.plan()
    seen(scenario, unsaid("one", node=bind.node, unheeded=WHY)).plan()
    assert notes(scenario) == [], "it is guaranteed, and promotion means nothing"
    says(scenario, opportunistic=True).plan()
    assert notes(scenario) == [f"It stays opportunistic: {WHY}"]
    says(scenario, opportunistic=False).plan()
    assert (given(scenario), notes(scenario)) == (set(), [])


def test_it_is_written_with_the_bind_also_of_those_that_do_not_say_it_themselves() -> None:
    scenario = seen(scene(), unsaid("one"))
    scenario.plan()
    assert scenario.core.view.is_opportunistic("one")
    scenario = seen(scene(opportunistic=False), unsaid("one", says_type=True, opportunistic=USES))
    scenario.plan()
    assert scenario.core.view.is_opportunistic("one")
    scenario = seen(scene(opportunistic=False), unsaid("one"))
    scenario.plan()
    assert not scenario.core.view.is_opportunistic("one")


def there(name: str, node: str = "node-0", **fields: Any) -> PodSpec:
    """One that was bound as an opportunistic pod of its application, and says what it is to request."""
    return unsaid(name, node=node, stays=True, opportunistic=USES, **{"if_guaranteed": USES, **fields})


def is_guaranteed(scenario: Scenario) -> Scenario:
    return scenario.tell(ApplicationSeen(ApplicationSpec(IDENTITY, "root.a", guaranteed=True)))


def resizes(scenario: Scenario) -> list[tuple[str, bool]]:
    scenario.plan()
    return [(one.uid, one.guaranteed) for one in scenario.effects if isinstance(one, Resize)]


def test_pods_of_an_application_that_becomes_guaranteed_stay_opportunistic_until_they_are_promoted() -> None:
    scenario = seen(scene(), there("one"))
    scenario.pod("g", "root.a", "other", cpu=1)
    bound(scenario)  # it takes the room that the other has
    is_guaranteed(scenario.wait(2))
    assert resizes(scenario) == []
    assert given(scenario) == {"one"}, "it requests nothing, so others would be placed as if it used nothing"
    assert notes(scenario) == ["It stays opportunistic for now: node node-0 has only cpu=0 of 1 that no pod requests"]
    scenario.gone("g")
    assert resizes(scenario.wait(2)) == [("one", True)]
    assert (given(scenario), scenario.used("root.a")) == (set(), 1)
    seen(scenario, there("one", version="2"))
    assert (given(scenario), scenario.used("root.a")) == (set(), 1), "some other edit, before the API shows it"
    scenario.tell(ResizeDone("one", guaranteed=True))
    seen(
        scenario,
        replace(there("one"), demand=(*USES, ("pods", 1)), opportunistic=(), if_opportunistic=(), if_guaranteed=(), stays=False),
    )
    assert resizes(scenario.wait(100)) == []
    assert (given(scenario), scenario.used("root.a")) == (set(), 1)


def test_one_that_does_not_say_what_it_is_to_request_stays_and_is_told() -> None:
    scenario = is_guaranteed(seen(scene(), there("one", if_guaranteed=())))
    assert resizes(scenario) == []
    assert given(scenario) == {"one"}
    (note,) = notes(scenario)
    assert note.startswith(
        "It stays opportunistic: its application is guaranteed (spec.executionType), and metadata.annotations["
    )


def test_an_application_that_becomes_opportunistic_again_takes_back_what_its_pods_asked_for() -> None:
    scenario = is_guaranteed(seen(scene(), there("one")))
    assert resizes(scenario) == [("one", True)]
    says(scenario, opportunistic=True)
    assert given(scenario) == {"one"}
    assert resizes(scenario.wait(100)) == []
    assert scenario.used("root.a") == 0


def test_pods_that_are_read_anew_ask_as_their_application_says() -> None:
    scenario = seen(is_guaranteed(scene(opportunistic=False)), there("one"))
    assert given(scenario) == {"one"}
    assert resizes(scenario) == [("one", True)]
    heir = Scenario().wait(scenario.now).tell(*scenario.core.facts())
    assert resizes(heir) == [("one", True)]


def notes(scenario: Scenario) -> list[str]:
    return [one.note for one in scenario.effects if isinstance(one, RecordEvent)]
