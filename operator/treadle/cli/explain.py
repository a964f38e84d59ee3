"""``treadle explain``: why a pod, an application or a queue waits, from what the API server has of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final, Literal
from urllib.parse import urlencode

from treadle.api.labels import ALLOCATED_QUEUE, application_of, queue_of
from treadle.cli.asking import API, all_of, asked, named, refuse
from treadle.cli.leader import HERE, Where, answer
from treadle.cli.past import Past, as_event, past_of, run_lines
from treadle.cli.queues import ready_of
from treadle.cli.tables import age, bar, condition
from treadle.controllers.in_words import NONE, amounts, part
from treadle.core.rules.placement.names import is_below
from treadle.core.rules.placement.rules import ROOT, qualified
from treadle.kube.pod_words import words_of
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
    absent: bool = False
    """There is no object of it."""
    pods: Sequence[Json] = ()
    """The pods of an application without an object."""
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
        What it is: pod, app or queue.
    name:
        NAMESPACE/NAME of a pod or an application, or its NAME in the namespace of the context; the path of a queue. An application without an object is called as its pods name it, or after what made them, such as default/job/etl.
    """
    if kind == "queue":
        if not name or "/" in name:
            refuse(f"{name!r} is not the path of a queue, such as root.etl")
        namespace, own = "", name
    else:
        namespace, own = named(name, where.kubeconfig, where.context, parts=3 if kind == "app" else 2)
        name = f"{namespace}/{own}"
    known = asked(where.kubeconfig, where.context, _reader(kind, namespace, own))
    said = answer(where, "explain", **{ASKED.get(kind, kind): name})
    if said is not None:
        of = "queue" if kind == "queue" else "application"
        past = past_of(where, DAYS, **{of: said["pod"]["application"] if kind == "pod" else name})
        live = {row["name"]: {"metadata": {"name": row["name"]}, "status": row} for row in said.get("queues") or ()}
        known = replace(known, held=said["held"], past=past, queues={**known.queues, **live})
        if kind == "app" and known.absent:
            meta = {"namespace": namespace, "name": own}
            known = replace(known, one={"metadata": meta, "status": said["application"]}, absent=False)
    elif known.absent:
        _must_be(kind, name, known)
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
        found = await get(path, absent=kind != "pod") if "/" not in name else None
        application, pods = None, list[Json]()
        if found is None and kind == "app":
            pods = [each for each in await all_of(client, f"/api/v1/namespaces/{namespace}/pods") if _called(each) == name]
        one: Json = found or {
            "metadata": {"namespace": namespace, "name": name, "uid": ""},
            "kind": "Queue" if kind == "queue" else "",
        }
        if kind == "pod":
            own = _application_of(one)
            application = await get(f"{applications}/{own}", absent=True) if own else None
        queues = {each["metadata"]["name"]: each for each in (await get(f"{API}/queues"))["items"]}
        schedulers = (await get(f"{API}/schedulers"))["items"]
        names = {each for scheduler in schedulers for each in (scheduler.get("status") or {}).get("schedulerNames") or ()}
        of_queue = (await get(f"{API}/applications"))["items"] if kind == "queue" else ()
        where = urlencode({"fieldSelector": f"involvedObject.uid={one['metadata']['uid']}"})
        at = f"/api/v1/namespaces/{namespace if kind != 'queue' else 'default'}/events?{where}"
        events = (await get(at))["items"] if found is not None else []
        return Known(datetime.now(UTC), one, application, queues, of_queue, events, frozenset(names), found is None, pods)

    return read


def _must_be(kind: Kind, name: str, known: Known) -> None:
    """End the command where neither an object nor anything else that was read knows of it."""
    if kind == "app" and not known.pods:
        refuse(
            f"there is no application {name}: there is no object of it, and no pod of namespace {name.partition('/')[0]} is in it"
        )
    if kind != "queue" or name == ROOT or any(is_below(path, name) for path in known.queues):
        return
    made = {path for one in known.queues.values() for path in (one.get("status") or {}).get("dynamicQueues") or ()}
    if not any(is_below(path, name) for path in made):
        near = get_close_matches(name, [*known.queues, *made], 1)
        refuse(f"there is no queue {name}{f'; did you mean {near[0]}?' if near else ''}")


def _called(pod: Json) -> str:
    """What the application of a pod is called, with an object or without."""
    meta = pod["metadata"]
    owner = next(((one["kind"], one["name"]) for one in meta.get("ownerReferences") or () if one.get("controller")), None)
    group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or ""
    words = words_of(meta.get("labels"), meta.get("annotations"), group)
    return words.application or application_of(
        meta.get("labels"), meta.get("annotations"), owner, meta["name"], words.gang.name if words.gang.group else ""
    )


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
    if known.absent:
        yield from _without_object(known)
        return
    yield from _application_lines(known.one)
    yield from _trouble(known.one)
    yield from _held_lines(known.held or ())
    yield from _queue_lines((known.one.get("status") or {}).get("queue") or "", known.queues)
    yield from _event_lines(known)


def _without_object(known: Known) -> Iterator[str]:
    """Yield what is known of an application that is known by its pods alone."""
    meta = known.one["metadata"]
    pods = [one for one in known.pods if (one.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}]
    waiting = [one for one in pods if not one["spec"].get("nodeName")]
    ended = f", {len(known.pods) - len(pods)} have ended" if len(known.pods) > len(pods) else ""
    on_nodes = f"of its pods {len(pods) - len(waiting)} are on nodes, {len(waiting)} wait{ended}"
    yield f"application {meta['namespace']}/{meta['name']} has no object (kind Application): {on_nodes}"
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in waiting:
        why = condition(one, "PodScheduled")
        said = str(why.get("reason") or "it has not been looked at yet"), str(why.get("message") or "")
        reasons.setdefault(said, []).append(one["metadata"]["name"])
    for (reason, message), names in [*reasons.items()][:MOST_WAITING]:
        yield f"pod {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
        yield from _indented(message)
    if waiting:
        yield "its place in line is not told here; the scheduler tells it (--server)"
    queues = {(one["metadata"].get("annotations") or {}).get(ALLOCATED_QUEUE, "") for one in pods} | {
        qualified(queue_of(one["metadata"].get("labels"), one["metadata"].get("annotations")) or "") for one in pods
    }
    yield from _queue_lines(next((path for path in sorted(queues) if path in known.queues), ""), known.queues)
    yield from _event_lines(known)


def of_queue(known: Known) -> Iterator[str]:
    """Yield what is known of a queue."""
    path = known.one["metadata"]["name"]
    if not known.absent:
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
