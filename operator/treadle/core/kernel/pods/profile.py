"""Pods that name a resource profile: told where they ask for something else than it has, or where there is no such profile.

YARN gives a container what its profile has. What a pod asks for is what its containers request and kubelets enforce, so that is what counts here whatever
profile the pod names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import PROFILE_DIFFERS, PROFILE_UNKNOWN, RecordEvent
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.model import PodSpec

MOST_TYPES = 4
"""Resource types that are named in an event."""
MOST_NAMES = 8
"""Profiles that are named in an event."""
MOST_TOLD = 16
"""Profiles that are told of to one application."""
COUNTS = "What counts is what a pod asks for"


def profiles_changed(state: State) -> None:
    """Let all pods that name profiles be compared with them anew."""
    state.reports.profiles_told.clear()
    state.reports.profiled.update((uid, None) for uid, record in state.pods.items() if record.spec.profile)


def unlike(state: State) -> list[RecordEvent]:
    """Return the events about pods that wait and name a profile that is not there, or ask for something else than it has: one for an application and profile."""
    events: list[RecordEvent] = []
    reports = state.reports
    for uid in reports.profiled:
        record = state.pods.get(uid)
        if record is None or record.application is None or not record.spec.profile or record.spec.node:
            continue
        application, spec = record.application.whole, record.spec
        found = _unlike(state, spec)
        told = reports.profiles_told.get(application, set())
        if found is not None and spec.profile not in told and len(told) < MOST_TOLD:
            reports.profiles_told.setdefault(application, set()).add(spec.profile)
            events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, *found, record.cause))
    reports.profiled.clear()
    return events


def _unlike(state: State, spec: PodSpec) -> tuple[str, str] | None:
    profiles = state.scheduler.profiles
    bundle = profiles.get(spec.profile)
    if bundle is None:
        names = sorted(profiles)
        known = f"has {', '.join(names[:MOST_NAMES])}{', …' if len(names) > MOST_NAMES else ''}" if names else "has none"
        return (
            PROFILE_UNKNOWN,
            (
                f"Resource profile {spec.profile[:64]}, which pods of application {spec.application} name, is not in spec.resourceProfiles of the Scheduler, "
                f"which {known}. {COUNTS}"
            ),
        )
    asked = {name: value for name, value in spec.demand if name != "pods" or name in bundle}
    other = [name for name in sorted({*asked, *bundle}) if asked.get(name, 0) != bundle.get(name, 0)]
    if not other:
        return None
    said = ", ".join(
        f"{name} {in_words(name, asked.get(name, 0))} instead of {in_words(name, bundle.get(name, 0))}"
        for name in other[:MOST_TYPES]
    )
    more = f", and {len(other) - MOST_TYPES} more" if len(other) > MOST_TYPES else ""
    return (
        PROFILE_DIFFERS,
        f"Pods of application {spec.application} name the resource profile {spec.profile} and ask for something else: {said}{more}. {COUNTS}",
    )
