"""What happens, step by step: steps are plain data, so that a run can be recorded, played again and made smaller.

A step that speaks of pods or binds takes what is there when it is played, so a list of steps stays playable when some are left
out.
"""

from __future__ import annotations

import copy
import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from core.kernel.together.sets import HIGHS
from fuzz import pod_groups, schema
from treadle.api import acted
from treadle.api.labels import queue_of
from treadle.api.objects import KINDS
from treadle.controllers.ledger import Ledger
from treadle.controllers.status import merge_patch, status_of
from treadle.core import Core
from treadle.core.effects import Bind, BindVolumes, Evict, Expire, FreeDevices, ReportWaiting, ReserveDevices, Verify, Withhold
from treadle.core.events import (
    BindDone,
    BindFailed,
    DevicesGone,
    DevicesKnown,
    DevicesSeen,
    Event,
    EvictFailed,
    GangRequested,
    NamespaceSeen,
    NodeGone,
    NodeSampled,
    NodeSeen,
    PodGone,
    PodGroupGone,
    PodGroupSeen,
    PodGroupsServed,
    PodRefused,
    PodSampled,
    PodSeen,
    ProvisionerKnown,
    RemovedLately,
    StorageGone,
    StorageKnown,
    StorageSeen,
    UsageKnown,
)
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import Settings
from treadle.core.model.devices import Consumer, DeviceClaimSpec
from treadle.core.model.opportunistic import Removal
from treadle.core.model.volumes import VolumeSpec
from treadle.core.views.tree import tree_of
from treadle.kube import pod_group_status, provisioning, translate, wire
from treadle.kube.devices import PATHS as DEVICE_PATHS
from treadle.kube.devices import TRANSLATED as DEVICES_TRANSLATED
from treadle.kube.storage import PATHS, TRANSLATED

Json = dict[str, Any]
Step = tuple[Any, ...]
START = 1_000_000.0
OUTCOMES = [*["done"] * 12, "seen", "seen", "elsewhere", "transient", "refused", "gone", "nothing"]
SECONDS = [0.0, 0.01, 0.5, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 16.0, 61.0, 301.0, 10_000.0]

REFUSALS = ("OutOfcpu", "OutOfmemory", "OutOfexample.com/a", "NodeAffinity", "größer" * 200, "")


class Failure(Exception):
    """Something raised, or said what cannot be; ``kind`` is the same for the same defect."""

    def __init__(self, kind: str, details: str) -> None:
        super().__init__(f"{kind}\n{details}")
        self.kind = kind


def check(*, holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(words)


@dataclass
class World:
    """An API server's objects, a core and what it has been told. ``anew``: at times the core is replaced by one that is told its facts."""

    core: Core = field(default_factory=lambda: Core(Settings(solver=HIGHS), validate=True))
    now: float = START
    pods: dict[str, Json] = field(default_factory=dict)
    binds: list[Bind] = field(default_factory=list)
    evictions: list[Evict | Expire] = field(default_factory=list)
    claims: list[BindVolumes] = field(default_factory=list)
    reserved: list[ReserveDevices] = field(default_factory=list)
    objects: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    version: int = 100
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger("treadle", self.tell)

    def tell(self, event: Event) -> None:
        self.core.handle(event, self.now)

    def play(self, step: Step) -> None:
        getattr(self, f"do_{step[0]}")(*step[1:])

    def do_object(self, body: Json) -> None:
        meta = body["metadata"]
        key = (body["kind"], meta.get("namespace", ""), meta["name"])
        before = self.objects.get(key)
        self.version += 1
        generation = before["metadata"]["generation"] + 1 if before is not None else 1
        uid = before["metadata"]["uid"] if before is not None else f"uid-{self.version}"
        stamps = {
            "uid": uid,
            "generation": generation,
            "resourceVersion": str(self.version),
            "creationTimestamp": "2026-11-20T00:00:00Z",
        }
        full = {**copy.deepcopy(body), "metadata": {**meta, **stamps}}
        if before is not None and "status" in before:
            full["status"] = before["status"]
        self.objects[key] = full
        self.ledger.seen(body["kind"], full)
        problems = self.ledger.entries[key].problems
        check(holds=all(": " in problem for problem in problems), words=f"a problem without its field: {problems}")

    def do_object_gone(self, kind: str, namespace: str, name: str) -> None:
        if self.objects.pop((kind, namespace, name), None) is not None:
            self.ledger.gone(kind, namespace, name)

    def do_node(self, body: Json) -> None:
        self.tell(NodeSeen(translate.node(msgspec.convert(body, wire.Node, strict=False))))

    def do_node_gone(self, name: str) -> None:
        self.tell(NodeGone(name))

    def do_namespace(self, body: Json) -> None:
        meta = body["metadata"]
        self.tell(NamespaceSeen(meta["name"], queue_of(meta.get("labels"), meta.get("annotations")) or ""))

    def do_pod(self, body: Json) -> None:
        self.pods[body["metadata"]["uid"]] = copy.deepcopy(body)
        self._see(body["metadata"]["uid"])

    def do_pods(self, body: Json, count: int) -> None:
        """Let pods come that are alike."""
        name = body["metadata"]["name"]
        for number in range(count):
            self.do_pod({**body, "metadata": {**body["metadata"], "name": f"{name}-{number}", "uid": f"{name}-{number}"}})

    def _see(self, uid: str, *, answer: bool = False) -> None:
        body = self.pods[uid]
        self.tell(PodSeen(translate.pod(msgspec.json.decode(msgspec.json.encode(body), type=wire.Pod)), answer))

    def do_edit(self, at: int, change: Json) -> None:
        """Change a pod as users, controllers and kubelets may: a part of its metadata, its status, or its gates and tolerations."""
        if not self.pods:
            return
        uid = sorted(self.pods)[at % len(self.pods)]
        body = self.pods[uid]
        for part, values in change.items():
            target = body.setdefault(part, {})
            for key, value in values.items():
                if value is None:
                    target.pop(key, None)
                elif isinstance(value, dict) and isinstance(target.get(key), dict):
                    target[key] = {**target[key], **value}
                else:
                    target[key] = value
        self._see(uid)

    def do_pod_gone(self, at: int) -> None:
        if self.pods:
            uid = sorted(self.pods)[at % len(self.pods)]
            del self.pods[uid]
            self.tell(PodGone(uid))

    def do_pod_refused(self, at: int, reason: str) -> None:
        """Let the kubelet of a pod's node fail the pod, as the watch of failed pods tells it."""
        bound = sorted(uid for uid, body in self.pods.items() if body["spec"].get("nodeName"))
        if bound:
            uid = bound[at % len(bound)]
            body = self.pods.pop(uid)
            body["status"] = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {reason}"}
            pod = translate.pod(msgspec.json.decode(msgspec.json.encode(body), type=wire.Pod))
            self.tell(PodRefused(pod, reason, body["status"]["message"]))
            if at % 2:
                self.tell(PodGone(uid))

    def do_time(self, seconds: float) -> None:
        self.now += seconds

    def do_plan(self, budget: int) -> None:
        effects = self.core.plan(self.now, budget)
        binds = [effect for effect in effects if isinstance(effect, Bind)]
        placed = [self.core.state.pods[bind.uid] for bind in binds]
        # a gang is placed whole, whatever the budget, and so is what is placed together
        whole = any(record.spec.gang or record.shape.asked.batch is not None for record in placed)
        check(holds=len(binds) <= budget or whole, words=f"{len(binds)} binds of {budget} that were allowed")
        for effect in effects:
            if isinstance(effect, Bind):
                self.binds.append(effect)
                check(holds=effect.uid in self.pods, words=f"a bind of {effect.uid}, which is not there")
                check(holds=len(effect.queue) <= 63 and len(effect.application) <= 253 + 64, words=f"{effect}")
            elif isinstance(effect, Withhold):
                for bind in [bind for bind in self.binds if bind.uid in effect.uids]:
                    self.binds.remove(bind)
                    self.tell(BindFailed(bind.uid, "transient", effect.why))
            elif isinstance(effect, BindVolumes):
                self.claims.append(effect)
            elif isinstance(effect, ReserveDevices):
                self.reserved.append(effect)
            elif isinstance(effect, FreeDevices):
                self._freed(effect)
            elif isinstance(effect, Evict | Expire):
                self.evictions.append(effect)
            elif isinstance(effect, ReportWaiting):
                self._sensible(effect.reason, effect.message)
                self.pods[effect.uid].setdefault("status", {})["conditions"] = [
                    {"type": "PodScheduled", "status": "False", "reason": effect.reason, "message": effect.message}
                ]
            elif isinstance(effect, Verify) and effect.uid in self.pods:
                self._see(effect.uid, answer=True)

    def do_devices(self, kind: str, body: Json) -> None:
        of = DEVICE_PATHS[kind][1]
        seen = msgspec.json.decode(msgspec.json.encode(body), type=of)
        self.tell(DevicesSeen(DEVICES_TRANSLATED[of][1](seen)))

    def do_devices_gone(self, kind: str, at: int) -> None:
        known = DEVICES_TRANSLATED[DEVICE_PATHS[kind][1]][0]
        keys = sorted(thing.key for thing in self.core.state.shapes.devices.all() if isinstance(thing, known))
        if keys:
            self.tell(DevicesGone(known, keys[at % len(keys)]))

    def do_sampled(
        self, node: str, used: tuple[tuple[str, int], ...], ago: float, pressure: tuple[tuple[str, int, int], ...]
    ) -> None:
        self.tell(NodeSampled(node, used, self.now - ago, 1.0, pressure))

    def do_pod_sampled(self, at: int, used: tuple[tuple[str, int], ...], ago: float) -> None:
        known = sorted(self.core.state.pods)
        self.tell(PodSampled(known[at % len(known)] if known else "nobody", used, self.now - ago, 1.0))

    def do_usage_known(self, known: bool) -> None:
        self.tell(UsageKnown(known, "" if known else "404"))

    def do_removed_lately(self, seconds: float, times: int) -> None:
        applications, names = list(self.core.state.applications) or ["ns/gone"], self.core.state.nodes.names or ["gone"]
        at = int(seconds) % len(names)
        self.tell(RemovedLately((Removal(applications[times % len(applications)], names[at], self.now + seconds, times),)))

    def do_devices_known(self, known: bool) -> None:
        self.tell(DevicesKnown(known, "" if known else "403"))

    def _freed(self, effect: FreeDevices) -> None:
        claim = self.core.state.shapes.devices.claims.get(f"{effect.namespace}/{effect.claim}")
        if claim is not None and effect.delete:
            self.tell(DevicesGone(DeviceClaimSpec, claim.key))
        elif claim is not None:
            self.tell(DevicesSeen(replace(claim, allocation=None, reserved=())))

    def do_reserved(self, outcomes: list[str]) -> None:
        """Tell what became of the claims for devices of placed pods, the oldest first."""
        claims = self.core.state.shapes.devices.claims
        for outcome in outcomes:
            if not self.reserved:
                return
            asked = self.reserved.pop(0)
            if outcome == "failed":
                self.tell(BindFailed(asked.uid, "transient", "conflict"))
                continue
            for one in asked.claims:
                claim = claims.get(f"{one.namespace}/{one.claim}")
                if claim is not None:
                    self.tell(DevicesSeen(replace(claim, allocation=one.allocation or claim.allocation, reserved=one.reserved)))
            if asked.made is not None:
                name = f"{asked.name}-extended-resources"
                allocation, reserved = asked.made.allocation, (Consumer(asked.uid, asked.name),)
                made = DeviceClaimSpec(asked.namespace, name, f"uid-{name}", "1", asked.uid, special=True)
                self.tell(DevicesSeen(replace(made, requests=asked.made.requests, allocation=allocation, reserved=reserved)))
                if asked.uid in self.pods and outcome == "written":
                    self.pods[asked.uid].setdefault("status", {})["extendedResourceClaimStatus"] = {"resourceClaimName": name}
                    self._see(asked.uid)

    def do_group(self, source: str, body: Json) -> None:
        self.tell(PodGroupSeen(pod_groups.translated(source, body)))

    def do_group_gone(self, source: str, name: str) -> None:
        self.tell(PodGroupGone(source, name))

    def do_groups_served(self, source: str, served: bool) -> None:
        self.tell(PodGroupsServed(source, served=served))

    def do_provisioner(self, known: bool, trouble: str) -> None:
        self.tell(ProvisionerKnown(known, "" if known else trouble))

    def do_requested(self, phase: str, at: int) -> None:
        """Tell how the nodes of a gang are doing that lacks some, or of one that nobody knows."""
        gangs = [(one.application, one.gang) for one in self.core.view.gangs_lacking([("ns/app0", "g")])] or [("ns/nobody", "g")]
        self.tell(GangRequested(*gangs[at % len(gangs)], phase, phase))  # type: ignore[arg-type]

    def do_storage(self, kind: str, body: Json) -> None:
        of = PATHS[kind][1]
        seen = msgspec.json.decode(msgspec.json.encode(body), type=of)
        self.tell(StorageSeen(TRANSLATED[of][1](seen)))

    def do_storage_gone(self, kind: str, at: int) -> None:
        known = TRANSLATED[PATHS[kind][1]][0]
        keys = sorted(thing.key for thing in self.core.state.shapes.storage.all() if isinstance(thing, known))
        if keys:
            self.tell(StorageGone(known, keys[at % len(keys)]))

    def do_storage_known(self, known: bool) -> None:
        self.tell(StorageKnown(known, "" if known else "403"))

    def do_claims(self, outcomes: list[str]) -> None:
        """Tell what became of the claims of placed pods, the oldest first."""
        claims, volumes = self.core.state.shapes.storage.claims, self.core.state.shapes.storage.volumes
        for outcome in outcomes:
            if not self.claims:
                return
            asked = self.claims.pop(0)
            if outcome == "failed":
                self.tell(BindFailed(asked.uid, "transient", "conflict"))
            for one in asked.made if outcome != "failed" else ():
                claim = claims.get(f"{one.namespace}/{one.claim}")
                if claim is not None:
                    made = VolumeSpec(
                        f"pv-{claim.uid}", (claim.key, claim.uid), claim.storage_class, claim.size or 0, phase="Bound"
                    )
                    if outcome == "made":
                        self.tell(StorageSeen(made))
                        claim = replace(claim, volume=made.name, bound=True)
                    self.tell(StorageSeen(replace(claim, selected_node=asked.node)))
            for kept in asked.found if outcome != "failed" else ():
                claim, volume = claims.get(f"{kept.namespace}/{kept.claim}"), volumes.get(kept.volume)
                if claim is not None and volume is not None:
                    self.tell(StorageSeen(replace(volume, claim=(claim.key, claim.uid))))
                    if outcome == "made":
                        self.tell(StorageSeen(replace(claim, volume=volume.name, bound=True)))

    def do_outcomes(self, outcomes: list[str]) -> None:
        """Tell what became of binds, the oldest first."""
        for outcome in outcomes:
            if not self.binds:
                return
            bind = self.binds.pop(0)
            body = self.pods.get(bind.uid)
            if outcome in {"done", "seen", "elsewhere"} and body is not None and not body["spec"].get("nodeName"):
                body["spec"]["nodeName"] = bind.node if outcome != "elsewhere" else "n1"
                notes = body["metadata"].setdefault("annotations", {})
                notes["treadle.dev/allocated-queue"] = bind.queue
                if outcome == "done":
                    self.tell(BindDone(bind.uid))
                self._see(bind.uid)
            elif outcome in {"transient", "refused"}:
                self.tell(BindFailed(bind.uid, outcome, "it did not work"))  # type: ignore[arg-type]
            elif outcome == "gone" and body is not None:
                del self.pods[bind.uid]
                self.tell(BindFailed(bind.uid, "refused", "it is gone"))
                self.tell(PodGone(bind.uid))

    def do_evicted(self, outcomes: list[str]) -> None:
        for outcome in outcomes:
            if not self.evictions:
                return
            effect = self.evictions.pop(0)
            if effect.uid not in self.pods:
                continue
            if outcome == "stays":
                self.tell(EvictFailed(effect.uid, "a budget"))
            elif outcome == "leaving":
                self.pods[effect.uid]["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
                self._see(effect.uid)
            elif outcome == "gone":
                del self.pods[effect.uid]
                self.tell(PodGone(effect.uid))

    def do_anew(self, under_way: bool) -> None:
        """Let a new core be told what this one knows."""
        told = self.core.facts({bind.uid for bind in self.binds} if under_way else None)
        core = Core(self.core.state.settings, validate=True)
        for event in told:
            core.handle(event, self.now)
        before, after = self.core.state, core.state
        counts = [(state.assumed - len(state.claims), state.bound) for state in (before, after)]  # what has claims waits again
        if not under_way:
            check(holds=counts[0] == counts[1], words=f"assumed and bound: {counts[0]}, and told anew {counts[1]}")
        self.core = core

    def do_look(self) -> None:
        core = self.core
        timer = core.next_timer()
        check(holds=timer is None or isinstance(timer, float), words=f"{timer!r}")
        core.refresh_shares()
        for uid, record in list(core.state.pods.items())[:40]:
            if record.application is None and record.state is PodState.IDLE:
                continue
            explanation = core.explain(uid)
            assert explanation is not None
            self._sensible(explanation.reason, explanation.message)
        msgspec.json.encode(tree_of(core.state, 50))
        for lack in core.view.gangs_lacking([("ns/app0", "g")]):
            if lack.pods:
                request = provisioning.request(lack, "treadle", 1, "v1", [f"t-{at}" for at in range(len(lack.pods))])
                name = request["metadata"]["name"]
                check(holds=re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) is not None and len(name) < 200, words=name)
                check(holds=all(one["count"] >= 1 for one in request["spec"]["podSets"]), words=f"{request}")
                msgspec.json.encode(request)
        for one in core.view.pod_groups():
            group = pod_group_status.Group(one.minimum, one.pods, len(one.on_nodes), len(one.on_nodes), one.waits)
            new = pod_group_status.wanted(one.source, "v1", group, {}, 1, "2026-11-20T00:00:00Z") or {}
            check(holds=all(len(each["reason"]) <= 128 for each in new.get("conditions", ())), words=f"{new}")
            again = pod_group_status.wanted(one.source, "v1", group, new, 1, "2026-11-20T00:00:01Z") or {}
            check(holds=not pod_group_status.changes(new, again), words=f"{new} is written again as {again}")
        for key, entry in self.ledger.entries.items():
            status = status_of(entry, core.view, "treadle", "2026-11-20T00:00:00Z")
            body = self.objects[key]
            shown = {name: value for name, value in status.items() if value is not None}
            problem = fault(schema.schema_of(entry.kind)["properties"]["status"], shown, "status")
            check(holds=not problem, words=f"a status that the API server refuses: {problem}")
            KINDS[entry.kind].model_validate({**body, "status": shown})
            merge_patch(entry.status, status)
            entry.status = body["status"] = shown
            if entry.model is not None:
                acted.not_acted_on(entry.model)

    @staticmethod
    def _sensible(reason: str, message: str) -> None:
        check(holds=bool(reason) and bool(message), words=f"{reason!r}: {message!r}")
        before, found, _ = message.partition(" nodes are available")
        count, _, total = before.rpartition(" ")[2].partition("/") if found else ("", "", "")
        check(holds=not total or total == "0" or (count == "0" and ": " in message), words=f"senseless: {message}")
        check(holds=len(reason) <= 128, words=reason)


def fault(schema: Json, value: Any, path: str) -> str:
    """Say what a structural schema refuses of a value, empty if nothing."""
    if schema.get("x-kubernetes-int-or-string"):
        return (
            ""
            if not isinstance(value, str) or len(value) <= schema.get("maxLength", 1 << 30)
            else f"{path}: {len(value)} characters"
        )
    if value is None:
        return f"{path}: null"
    match schema.get("type"):
        case "object":
            if len(value) > schema.get("maxProperties", 1 << 30):
                return f"{path}: {len(value)} entries"
            known = schema.get("properties")
            for key, each in value.items():
                inner = known.get(key) if known is not None else schema.get("additionalProperties")
                if inner is not None and each is not None and (found := fault(inner, each, f"{path}.{key}")):
                    return found
        case "array":
            if len(value) > schema.get("maxItems", 1 << 30):
                return f"{path}: {len(value)} items"
            return next((found for at, each in enumerate(value) if (found := fault(schema["items"], each, f"{path}[{at}]"))), "")
        case "string":
            if len(value) > schema.get("maxLength", 1 << 30):
                return f"{path}: {len(value)} characters"
            if "enum" in schema and value not in schema["enum"]:
                return f"{path}: {value!r}"
        case "integer":
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not schema.get("minimum", value) <= value <= schema.get("maximum", value)
            ):
                return f"{path}: {value!r}"
    return ""


def play(steps: Iterable[Step], after: Callable[[], None] = lambda: None) -> Failure | None:
    """Play steps in a new world and return what went wrong, None if nothing did."""
    world = World()
    for step in steps:
        if failure := played(world, step):
            return failure
        after()
    return None


def played(world: World, step: Step) -> Failure | None:
    try:
        world.play(step)
    except NotImplementedError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is raised is what is looked for
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/treadle/" in frame.filename]
        where = f"{frames[-1].filename.rpartition('/treadle/')[2]}:{frames[-1].name}" if frames else "here"
        words = str(error).partition("\n")[0]
        shown = words[:60] if type(error).__name__ in {"AssertionError", "InvariantBroken"} else ""
        return Failure(
            f"{type(error).__name__} in {where}: {_without_numbers(shown)}",
            f"{step[0]}: {words[:600]}\n{''.join(traceback.format_tb(error.__traceback__)[-4:])}",
        )
    return None


def _without_numbers(text: str) -> str:
    return "".join("#" if char.isdigit() else char for char in text)
