"""Runs in the shapes of YARN's timeline service v2 (``org.apache.hadoop.yarn.api.records.timelineservice``, Hadoop 3.4): flows, runs of flows, applications and attempts.

A flow is an application by its ``namespace/name``, a run of it a run, an application by its id the last of its runs, and an attempt a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from treadle.rest.yarn_history import attempt_of, diagnostics_of, state_of
from treadle.rest.yarn_ids import id_of
from treadle.rest.yarn_shapes import MIB, TYPE, milliseconds

if TYPE_CHECKING:
    from treadle.history.runs import Run, Step
    from treadle.history.said import Said

Json = dict[str, Any]
CLUSTER: Final = "treadle"
"""The name of the cluster in contexts."""
VERSION: Final = "1"
DAY: Final = 86_400_000
APPLICATION, ATTEMPT, FLOW_RUN, FLOW = "YARN_APPLICATION", "YARN_APPLICATION_ATTEMPT", "YARN_FLOW_RUN", "YARN_FLOW_ACTIVITY"
EVENTS, INFO, METRICS, ALL = "EVENTS", "INFO", "METRICS", "ALL"
FIELDS: Final = (ALL, EVENTS, INFO, METRICS, "CONFIGS", "RELATES_TO", "IS_RELATED_TO")
WORDS: Final = ("kind", "namespace", "name", "note")
"""What is told of an event of ours."""
SINGLE, SERIES = "SINGLE_VALUE", "TIME_SERIES"


@dataclass(frozen=True, slots=True)
class Shown:
    """Which fields of entities are told, metrics whose names begin with which words (all if there are none), and how many values of each."""

    fields: frozenset[str]
    metrics: Sequence[str] = ()
    values: int = 1

    def has(self, field: str) -> bool:
        """Whether a field is told."""
        return field in self.fields or ALL in self.fields


def uid_of(*parts: object) -> str:
    """Return a UID of parts: ``!`` is between them, and ``*`` before either of the two within one (``TimelineReaderUtils``)."""
    return "!".join(str(part).replace("*", "**").replace("!", "*!") for part in parts)


def parts_of(uid: str) -> list[str]:
    """Return the parts of a UID."""
    found, escaped = [""], False
    for character in uid:
        if not escaped and character in "*!":
            escaped = character == "*"
            if character == "!":
                found.append("")
            continue
        found[-1] += character
        escaped = False
    return found


def run_id(run: Run) -> int:
    """Return the id of a run within its flow: when it started, in ms since 1970."""
    return milliseconds(run.started)


def day_of(run: Run) -> int:
    """Return the day on which a run started, in ms since 1970."""
    return run_id(run) // DAY * DAY


def flow(runs: Sequence[tuple[int, Run]]) -> Json:
    """Return what a flow did on a day: its runs of that day, the newest first."""
    _, newest = runs[0]
    day, name, user = day_of(newest), newest.application, newest.user
    info = {
        "UID": uid_of(CLUSTER, user, name),
        "FROM_ID": uid_of(CLUSTER, day, user, name),
        "SYSTEM_INFO_CLUSTER": CLUSTER,
        "SYSTEM_INFO_DATE": day,
        "SYSTEM_INFO_FLOW_NAME": name,
        "SYSTEM_INFO_USER": user,
    }
    flowruns = [_entity(FLOW_RUN, f"{user}@{name}/{run_id(run)}", None, _of_run(run), configs=False) for _, run in runs]
    found = _entity(FLOW, f"{CLUSTER}/{day}/{user}@{name}", None, info, configs=False)
    return {**found, "flowruns": flowruns}


def _of_run(run: Run) -> Json:
    return {
        "SYSTEM_INFO_FLOW_NAME": run.application,
        "SYSTEM_INFO_USER": run.user,
        "SYSTEM_INFO_FLOW_RUN_ID": run_id(run),
        "SYSTEM_INFO_FLOW_VERSION": VERSION,
    }


def flow_run(run: Run, now: float, shown: Shown) -> Json:
    """Return a run of a flow. ``now`` is in seconds since 1970."""
    own = uid_of(CLUSTER, run.user, run.application, run_id(run))
    info = {**_of_run(run), "UID": own, "FROM_ID": own}
    if run.ended is not None:
        info["SYSTEM_INFO_FLOW_RUN_END_TIME"] = milliseconds(run.ended)
    found = _entity(FLOW_RUN, f"{run.user}@{run.application}/{run_id(run)}", run_id(run), info, configs=False)
    return {**found, "metrics": _metrics(run, now, shown)}


def application(key: int, run: Run, said: Iterable[Said], now: float, shown: Shown) -> Json:
    """Return an application with one of its runs, and what was ``said`` of it. ``now`` is in seconds since 1970."""
    info: Json = {}
    if shown.has(INFO):
        info = {
            "SYSTEM_INFO_QUEUE": run.queue,
            "YARN_APPLICATION_NAME": run.application,
            "YARN_APPLICATION_TYPE": TYPE,
            "YARN_APPLICATION_USER": run.user,
            "YARN_APPLICATION_QUEUE": run.queue,
            "YARN_APPLICATION_SUBMITTED_TIME": milliseconds(run.submitted),
            "YARN_APPLICATION_UNMANAGED_APPLICATION": True,
            "YARN_APPLICATION_LATEST_APP_ATTEMPT": attempt_of(key, run),
            **_state(run, APPLICATION),
        }
    own = uid_of(CLUSTER, run.user, run.application, run_id(run), id_of(run.application))
    info |= {"UID": own, "FROM_ID": own}
    found = _entity(APPLICATION, id_of(run.application), milliseconds(run.submitted), info)
    events = _events(run, APPLICATION, ("CREATED", run.submitted), ("LAUNCHED", run.started)) if shown.has(EVENTS) else []
    if shown.has(EVENTS):
        events += [
            {"id": one.reason, "timestamp": milliseconds(one.at), "info": {word: getattr(one, word) for word in WORDS}}
            for one in said
        ]
        events.sort(key=lambda one: -one["timestamp"])
    return {**found, "events": events, "metrics": _metrics(run, now, shown) if shown.has(METRICS) else []}


def attempt(key: int, run: Run, now: float, shown: Shown) -> Json:
    """Return a run as an attempt of its application. ``now`` is in seconds since 1970."""
    own = attempt_of(key, run)
    info: Json = _state(run, ATTEMPT) if shown.has(INFO) else {}
    info |= {"UID": uid_of(CLUSTER, id_of(run.application), ATTEMPT, 0, own), "FROM_ID": uid_of(0, own)}
    events = _events(run, ATTEMPT, ("REGISTERED", run.started)) if shown.has(EVENTS) else []
    metrics = _metrics(run, now, shown) if shown.has(METRICS) else []
    return {**_entity(ATTEMPT, own, milliseconds(run.started), info), "events": events, "metrics": metrics}


def _state(run: Run, of: str) -> Json:
    state, final = state_of(run)
    return {f"{of}_STATE": state, f"{of}_FINAL_STATUS": final, f"{of}_DIAGNOSTICS_INFO": diagnostics_of(run)}


def _events(run: Run, of: str, *begun: tuple[str, float]) -> list[Json]:
    """Return the events of a run, the newest first."""
    found = [{"id": f"{of}_{word}", "timestamp": milliseconds(at), "info": {}} for word, at in begun]
    if run.ended is not None:
        found.append({"id": f"{of}_FINISHED", "timestamp": milliseconds(run.ended), "info": _state(run, of)})
    return sorted(found, key=lambda one: -int(str(one["timestamp"])))


def _metrics(run: Run, now: float, shown: Shown) -> list[Json]:
    """Return what a run used: sums over time in YARN's units, vcore and MB times seconds; and, where several values are asked for, what it had at which time."""
    if not shown.has(METRICS):
        return []
    from treadle.history.runs import used

    until = run.ended or now
    total, at = used(run.steps, until), str(milliseconds(until))
    sums = {
        f"{APPLICATION}_CPU": round(total.get("cpu", 0.0) / 1000),
        f"{APPLICATION}_MEMORY": round(total.get("memory", 0.0) / MIB),
    }
    found = [_metric(SINGLE, name, {at: value}) for name, value in sums.items()]
    newest = list(reversed(run.steps))[: shown.values]
    kind = SERIES if shown.values > 1 else SINGLE
    series = {"PODS": lambda step: step.pods, "CPU_MILLICORES": _of("cpu"), "MEMORY_BYTES": _of("memory")}
    for name, value_of in series.items():
        found.append(_metric(kind, name, {str(milliseconds(step.at)): value_of(step) for step in newest}))
    return [one for one in found if not shown.metrics or one["id"].startswith(tuple(shown.metrics))]


def _of(name: str) -> Any:
    def value(step: Step) -> int:
        return step.amounts.get(name, 0)

    return value


def _metric(kind: str, name: str, values: dict[str, int]) -> Json:
    return {"type": kind, "id": name, "aggregationOp": "NOP", "values": values}


def _entity(kind: str, name: str, created: int | None, info: Json, *, configs: bool = True) -> Json:
    return {
        "metrics": [],
        "events": [],
        **({} if created is None else {"createdtime": created}),
        "idprefix": 0,
        "id": name,
        "type": kind,
        "info": info,
        **({"configs": {}} if configs else {}),
        "isrelatedto": {},
        "relatesto": {},
    }
