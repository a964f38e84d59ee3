"""``treadle explain``: why a pod, an application or a queue waits, from what the API server has of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import urlencode

from treadle.api.labels import ALLOCATED_QUEUE, application_of, queue_of
from treadle.cli.asking import API, asked, refuse
from treadle.cli.leader import HERE, Where, answer
from treadle.cli.past import Past, as_event, past_of, run_lines
from treadle.cli.queues import ready_of
from treadle.cli.tables import age, bar, condition
from treadle.controllers.in_words import NONE, amounts, part
from treadle.core.rules.placement.names import is_below
from treadle.core.rules.placement.rules import ROOT, qualified
from treadle.kube.transport import Client

Kind = Literal["pod", "app", "queue"]
Json = Mapping[str, Any]
MOST_EVENTS, MOST_WAITING = 8, 16
DAYS: Final = 7.0
"""How far the history is looked back."""
ASKED: Final = {"app": "application"}
"""What the REST calls them."""
WHAT = (("firstPodStart", "first pod starts"), ("lastPodStart", "last pod starts"), ("end", "ends"))


@dataclass(frozen=True, slots=True)
class Known:
    """What was read: the object, its application and pods' events as they are there, the queues by path, the applications, the names of schedulers that are ours."""

    now: datetime
    one: Json
    application: Json | None
    queues: Mapping[str, Json]
    applications: Iterable[Json]
    events: Iterable[Json]
    names: frozenset[str]
    held: Sequence[Json] | None = None
    """What holds pods back, as the scheduler says; None where it was not asked."""
    past: Past | None = None
    """What the history has of it; None where the scheduler was not asked."""


def explain(kind: Kind, name: str, /, *, where: Where = HERE) -> None:
    """Tell why a pod, an application or a queue waits: the reason, what is ahead, how full the queues above are, when it is likely to start, and what was said of it lately.

    What is told is what the API server has: conditions, statuses, which may be seconds old, and events, which it keeps for an hour. The scheduler, where it is asked, tells of any pod who is ahead of it, what would have to change, and from its history what was said before and how the last runs went.

    Parameters
    ----------
    kind:
        What it is: pod, app (an Application object) or queue.
    name:
        NAMESPACE/NAME of a pod or an application, the path of a queue.
    """
    namespace, slash, own = name.partition("/")
    if kind != "queue" and (not slash or not namespace or not own or "/" in own):
        refuse(f"{name!r} is not NAMESPACE/NAME")
    if kind == "queue" and slash:
        refuse(f"{name!r} is not the path of a queue, such as root.etl")
    known = asked(where.kubeconfig, where.context, _reader(kind, namespace, own if slash else name))
    said = answer(where, "explain", **{ASKED.get(kind, kind): name})
    if said is not None:
        of = "queue" if kind == "queue" else "application"
        past = past_of(where, DAYS, **{of: said["pod"]["application"] if kind == "pod" else name})
        known = replace(known, held=said["held"], past=past)
    found = {"pod": of_pod, "app": of_application, "queue": of_queue}[kind](known)
    print("\n".join(found))


def _reader(kind: Kind, namespace: str, name: str) -> Callable[[Client], Awaitable[Known]]:
    async def read(client: Client) -> Known:
        async def get(path: str, *, absent: bool = False) -> Any:
            answer = await client.request("GET", path)
            if answer.status == 404 and absent:
                return None
            if answer.status >= 400:
                raise answer.error()
            return answer.json()

        applications = f"{API}/namespaces/{namespace}/applications"
        path = {
            "pod": f"/api/v1/namespaces/{namespace}/pods/{name}",
            "app": f"{applications}/{name}",
            "queue": f"{API}/queues/{name}",
        }[kind]
        one = await get(path)
        application = None
        if kind == "pod":
            own = _application_of(one)
            application = await get(f"{applications}/{own}", absent=True) if own else None
        queues = {each["metadata"]["name"]: each for each in (await get(f"{API}/queues"))["items"]}
        schedulers = (await get(f"{API}/schedulers"))["items"]
        names = {each for scheduler in schedulers for each in (scheduler.get("status") or {}).get("schedulerNames") or ()}
        of_queue = (await get(f"{API}/applications"))["items"] if kind == "queue" else ()
        where = urlencode({"fieldSelector": f"involvedObject.uid={one['metadata']['uid']}"})
        events = (await get(f"/api/v1/namespaces/{namespace if kind != 'queue' else 'default'}/events?{where}"))["items"]
        return Known(datetime.now(UTC), one, application, queues, of_queue, events, frozenset(names))

    return read


def _application_of(pod: Json) -> str:
    """The name of the Application that a pod is in by a name that somebody chose; empty for one that has no object."""
    meta = pod["metadata"]
    name = application_of(meta.get("labels"), meta.get("annotations"), None, meta["name"])
    return "" if "/" in name else name


def of_pod(known: Known) -> Iterator[str]:
    """Yield what is known of a pod."""
    pod = known.one
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    title = f"pod {meta['namespace']}/{meta['name']}"
    scheduled = condition(pod, "PodScheduled")
    queue = (meta.get("annotations") or {}).get(ALLOCATED_QUEUE, "")
    if known.application is not None:
        queue = queue or (known.application.get("status") or {}).get("queue") or ""
    named = qualified(queue_of(meta.get("labels"), meta.get("annotations")) or "")
    if not queue and named in known.queues:
        queue = named
    phase = status.get("phase", "Pending")
    gates = ", ".join(gate["name"] for gate in spec.get("schedulingGates") or ())
    if spec.get("nodeName"):
        yield f"{title} is on node {spec['nodeName']}, {phase}"
    elif gates:
        yield f"{title} waits for whoever takes its scheduling gates away ({gates}); it is not looked at before"
    elif known.names and spec.get("schedulerName", "default-scheduler") not in known.names:
        names = ", ".join(sorted(known.names))
        yield f"{title} is for scheduler {spec.get('schedulerName', 'default-scheduler')}, and those of Treadle are {names}: nothing is known of it here"
        return
    elif scheduled.get("status") == "False":
        yield f"{title} waits{_since(scheduled, known.now)}: {scheduled.get('reason', 'no reason')}"
        yield from _indented(str(scheduled.get("message") or ""))
    else:
        yield f"{title} has not been looked at yet{_since({'lastTransitionTime': meta.get('creationTimestamp')}, known.now)}: a scheduler that runs says why within seconds"
    if known.application is not None:
        yield from _application_lines(known.application)
    elif not spec.get("nodeName") and known.held is None:
        yield "application: has no object (kind Application), so its place in line is not told here; the scheduler tells it (--server)"
    yield from _held_lines(known.held or (), named=False)
    yield from _queue_lines(queue, known.queues)
    yield from _event_lines(known)


def of_application(known: Known) -> Iterator[str]:
    """Yield what is known of an application."""
    yield from _application_lines(known.one)
    yield from _trouble(known.one)
    yield from _held_lines(known.held or ())
    yield from _queue_lines((known.one.get("status") or {}).get("queue") or "", known.queues)
    yield from _event_lines(known)


def of_queue(known: Known) -> Iterator[str]:
    """Yield what is known of a queue."""
    path = known.one["metadata"]["name"]
    ready = ready_of(known.one)
    yield f"queue {path} is in force as written" if ready == "True" else f"queue {path} is not in force as written: {ready}"
    yield from _trouble(known.one)
    yield from _queue_lines(path, known.queues)
    yield from _held_lines(known.held or ())
    waiting = [one for one in known.applications if _waits_in(one, path)] if known.held is None else []
    if waiting:
        yield f"applications that wait ({len(waiting)}):"
    for one in waiting[:MOST_WAITING]:
        why = one["status"]["waiting"]
        yield f"  {one['metadata']['namespace']}/{one['metadata']['name']}: {why['reason']}"
        yield from _indented(why["message"], "    ")
    if len(waiting) > MOST_WAITING:
        yield f"  and {len(waiting) - MOST_WAITING} more"
    yield from _event_lines(known)


def _waits_in(one: Json, path: str) -> bool:
    status = one.get("status") or {}
    queue = status.get("queue") or ""
    return bool(status.get("waiting")) and is_below(queue, path)


def _application_lines(one: Json) -> Iterator[str]:
    meta, status = one["metadata"], one.get("status") or {}
    pods = status.get("pods") or {}
    counted = ", ".join(
        f"{pods[field]} {word}"
        for field, word in (("running", "run"), ("pending", "wait"), ("succeeded", "succeeded"), ("failed", "failed"))
        if pods.get(field)
    )
    user = f" of {status['user']}" if status.get("user") else ""
    yield f"application {meta['namespace']}/{meta['name']}{user} is {status.get('phase', 'not seen yet')}: {counted or 'no pods'}"
    if waiting := status.get("waiting"):
        yield f"  its next pod waits: {waiting['reason']}"
        yield from _indented(waiting["message"], "    ")
        ahead = waiting.get("ahead") or []
        yield f"  ahead of it in the queue: {', '.join(ahead) if ahead else 'nobody'}"
    eta = status.get("eta") or {}
    for field, word in WHAT:
        if times := eta.get(field):
            early, middle, late = (times.get(key) or "beyond the horizon" for key in ("earliest", "median", "latest"))
            yield f"  {word} {middle} ({early} .. {late})"
    if eta.get("note"):
        yield from _indented(eta["note"])


def _queue_lines(path: str, queues: Mapping[str, Json]) -> Iterator[str]:
    while path:
        one = queues.get(path)
        if one is not None:
            status = one.get("status") or {}
            share = status.get("fairShare") or status.get("guaranteed")
            used, most = amounts(status.get("used")), status.get("maximum")
            limit = f", at most {amounts(most)}" if most else ""
            state = "" if status.get("state") in {None, "Running"} else f", {status['state']}"
            of_share = bar(part(status.get("used"), share))
            yield f"queue {path}{state}: uses {used if used != NONE else 'nothing'}; its share is {amounts(share)} ({of_share}){limit}"
        else:
            yield f"queue {path} has no object{': rules made it, or it is gone' if path != ROOT else ', so it has no limits of its own'}"
        path = path.rpartition(".")[0]


def _held_lines(held: Sequence[Json], *, named: bool = True) -> Iterator[str]:
    """Yield what the scheduler says of pods that wait: of each set of them that are alike why, what would have to change, and who is ahead."""
    for one in held[:MOST_WAITING]:
        ahead = one["ahead"]
        if named:
            others = f" and {one['pods'] - 1} like it" if one["pods"] > 1 else ""
            yield f"pod {one['pod']}{others} of {one['application']}: {one['reason']}"
            yield from _indented(one["message"])
        if one["change"] != one["message"]:
            yield f"  what would have to change: {one['change']}"
        closest = one.get("nodes", {}).get("closest", {}).get("name")
        if closest:
            yield f"  the closest node: {closest}"
        of = f", of {', '.join(ahead['applications'])}" if ahead["applications"] else ""
        yield f"  ahead of it in the queue: {ahead['pods'] or 'no'} pods{of}"
    if len(held) > MOST_WAITING:
        yield f"and {len(held) - MOST_WAITING} more"


def _trouble(one: Json) -> Iterator[str]:
    """Yield what is said of an object that is not as its owner may think."""
    ready = condition(one, "Ready")
    if ready.get("status") == "False":
        yield f"  not ready: {ready.get('reason')}"
        yield from _indented(str(ready.get("message") or ""), "    ")
    unacted = condition(one, "NotActedOn")
    if unacted.get("status") == "True":
        yield from _indented(str(unacted.get("message") or ""))


def _event_lines(known: Known) -> Iterator[str]:
    kept = sorted(known.events, key=_time_of)
    if known.past is not None:
        yield from run_lines(known.past.runs, known.now, named=known.one.get("kind") == "Queue")
        # What the API server still has is not told a second time.
        first = _time_of(kept[0]) if kept else known.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = [as_event(one) for one in reversed(known.past.events)]
        kept = [*(one for one in before if _time_of(one) < first), *kept]
    found = kept[-MOST_EVENTS:]
    if found:
        yield "events, the last one last:"
    for one in found:
        note = " ".join(str(one.get("message") or "").split())
        yield f"  {_ago(_time_of(one), known.now)} {one.get('reason', '')}: {note}"


def _time_of(event: Json) -> str:
    times = (event.get("lastTimestamp"), (event.get("series") or {}).get("lastObservedTime"), event.get("eventTime"))
    return str(next((one for one in times if one), event["metadata"].get("creationTimestamp") or ""))


def _since(found: Json, now: datetime) -> str:
    at = found.get("lastTransitionTime")
    return f" for {age(str(at), now)}" if at else ""


def _ago(at: str, now: datetime) -> str:
    return f"{age(at, now)} ago" if at else "some time ago"


def _indented(text: str, by: str = "  ") -> Iterator[str]:
    return (f"{by}{line}" for line in text.splitlines() if line)
