"""Pods with labels of ours that mean nothing: their owner is told, once for an application."""

from __future__ import annotations

import pytest

from core.builders import Scenario, a_pod
from treadle.api.known_labels import unknown_of
from treadle.core.effects import LABEL_UNKNOWN, RecordEvent
from treadle.core.events import PodSeen
from treadle.kube import translate, wire

Labels = dict[str, str]


@pytest.mark.parametrize(
    ("own", "notes", "said"),
    [
        ({"treadle.dev/rol": "master"}, {}, "treadle.dev/rol (did you mean treadle.dev/role?)"),
        (
            {},
            {"treadle.dev/expected-duraton": "5m"},
            "treadle.dev/expected-duraton (did you mean treadle.dev/expected-duration?)",
        ),
        ({}, {"treadle.dev/headroom": "cpu=1"}, "treadle.dev/headroom (it is not for pods)"),
        ({"treadle.dev/colour": "red"}, {}, "treadle.dev/colour"),
        (
            {f"treadle.dev/x{n}": "" for n in range(6)},
            {},
            "treadle.dev/x0, treadle.dev/x1, treadle.dev/x2, treadle.dev/x3, and 2 more",
        ),
        ({"treadle.dev/role": "boss"}, {}, "treadle.dev/role ('boss'; allowed are master and worker)"),
        (
            {},
            {"yunikorn.apache.org/user.info": "{'user': 'ann'}"},
            "yunikorn.apache.org/user.info (not a JSON document with a user)",
        ),
        ({}, {"yunikorn.apache.org/user.info": '{"user": "ann"}'}, ""),
        ({"treadle.dev/role": "master", "app": "x"}, {"treadle.dev/queue": "root.a", "other.dev/rol": ""}, ""),
    ],
)
def test_what_means_nothing_is_named_with_what_was_probably_meant(own: Labels, notes: Labels, said: str) -> None:
    assert unknown_of(own, notes) == said
    meta = wire.Metadata(name="p", namespace="ns", uid="p", labels=own, annotations=notes)
    assert translate.pod(wire.Pod(meta, wire.PodSpec())).unknown == said


def told(scenario: Scenario) -> list[RecordEvent]:
    return [effect for effect in scenario.effects if isinstance(effect, RecordEvent) and effect.reason == LABEL_UNKNOWN]


def test_the_first_pod_of_an_application_that_waits_has_the_event() -> None:
    scenario = Scenario()
    scenario.queue("root.a").nodes()
    scenario.tell(*(PodSeen(a_pod(f"p{number}", "root.a", "app", unknown="treadle.dev/rol")) for number in range(3)))
    scenario.tell(PodSeen(a_pod("fine", "root.a", "other"))).plan()
    (event,) = told(scenario)
    assert (event.namespace, event.name) == ("ns", "p0")
    assert event.note == "labels and annotations that mean nothing here, and are passed over: treadle.dev/rol"
    scenario.tell(PodSeen(a_pod("p4", "root.a", "app", unknown="treadle.dev/queu"))).plan()
    assert told(scenario) == []
    scenario.gone("p0", "p1", "p2", "p4").tell(PodSeen(a_pod("p5", "root.a", "app", unknown="treadle.dev/queu"))).plan()
    assert len(told(scenario)) == 1, "the application is another one"
