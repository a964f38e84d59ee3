"""The objects of the embedded API server and what may be done to them, without HTTP.

Everything the server answers is decided here, so a test or the demo may call it in the process. What goes in is kept and what
comes out is shared: neither may be changed afterwards. All refusals are ApiError.
"""

import random
import re
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from treadle.fakeapi import pods
from treadle.fakeapi.errors import ApiError, Json, bad_request, conflict, invalid, not_found
from treadle.fakeapi.patch import APPLY, MERGE, apply_patch
from treadle.fakeapi.resources import BUILT_IN, Resource, from_crd
from treadle.fakeapi.selectors import selecting
from treadle.fakeapi.store import Entry, Store

MAX_EVENTS = 2000
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_KEPT = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generateName",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
_SERVERS = {"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}
_EVENT_NAMES = (("note", "message"), ("regarding", "involvedObject"), ("reportingController", "reportingComponent"))


class Objects:
    """Create, read, change and delete. A kind is named by its plural (``pods``) or in full (``queues.treadle.dev``).

    `validate` gets the kind and the object of each write of a custom kind and returns what is wrong with it; `default` may
    complete it first. `clock` is the wall clock in seconds, `ring` the number of events that a kind remembers.
    """

    def __init__(
        self,
        crds: Iterable[Json] = (),
        *,
        validate: Callable[[str, Json], list[str]] = lambda _kind, _obj: [],
        default: Callable[[str, Json], Json] = lambda _kind, obj: obj,
        clock: Callable[[], float] = time.time,
        ring: int = 20_000,
    ) -> None:
        self.store, self.clock = Store(ring), clock
        self._validate, self._default = validate, default
        self._random = random.Random(0)  # noqa: S311 - suffixes of names, not secrets
        self.resources: dict[str, Resource] = {}
        for resource in BUILT_IN:
            self._serve(resource)
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.create("namespaces", {"metadata": {"name": name}})
        for crd in crds:
            self.create("customresourcedefinitions", crd)

    def resource(self, kind: str | Resource) -> Resource:
        """The kind of this name. Raises KeyError for one that is not served."""
        return kind if isinstance(kind, Resource) else self.resources[kind]

    def entry(self, kind: str | Resource, name: str, namespace: str | None = None) -> Entry:
        """One object with its JSON. Raises a 404 ApiError."""
        resource = self.resource(kind)
        found = self.store.collections[resource.storage].entries.get(_key(resource, name, namespace))
        if found is None:
            raise not_found(resource.name, name)
        return found

    def get(self, kind: str | Resource, name: str, namespace: str | None = None) -> Json:
        """One object. Raises a 404 ApiError."""
        return self.entry(kind, name, namespace).obj

    def list(self, kind: str | Resource, namespace: str | None = None, *, labels: str = "", fields: str = "") -> list[Json]:
        """The objects that the selectors choose, by namespace and name."""
        resource = self.resource(kind)
        test = selecting(resource, namespace, labels, fields)
        entries = self.store.collections[resource.storage].entries
        return [entries[key].obj for key in sorted(entries) if test is None or test(entries[key].obj)]

    def create(self, kind: str | Resource, obj: Json, namespace: str | None = None, *, dry_run: bool = False) -> Json:
        """Store a new object and return it completed. Raises 400, 404 (namespace), 409 and 422 ApiErrors."""
        resource = self.resource(kind)
        metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _SERVERS}
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(self._random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
        name = metadata.get("name") or ""
        if resource.namespaced:
            if namespace and metadata.get("namespace", namespace) != namespace:
                raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
            metadata["namespace"] = namespace or metadata.get("namespace") or "default"
            self.get("namespaces", metadata["namespace"])
        _check_metadata(resource, metadata)
        key = _key(resource, name, metadata.get("namespace"))
        if key in self.store.collections[resource.storage].entries:
            raise ApiError(
                409, "AlreadyExists", f'{resource.name} "{name}" already exists', {"name": name, "kind": resource.plural}
            )
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.now()}
        metadata |= {"generation": 1} if resource.generation else {}
        made = self._admitted(resource, {**obj, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata})
        made = self._checked(resource, made)
        return made if dry_run else self._put(resource, made)

    def update(self, kind: str | Resource, obj: Json, subresource: str = "", *, dry_run: bool = False) -> Json:
        """Replace an object, or its ``status``. With a resourceVersion in it, only if nobody else was faster (409)."""
        resource, metadata = self.resource(kind), obj.get("metadata") or {}
        old = self.get(resource, metadata.get("name", ""), metadata.get("namespace"))
        if not metadata.get("resourceVersion") and not resource.blind_update:
            text = "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"
            raise invalid(resource.kind, metadata["name"], text)
        pods.check_preconditions(resource.name, old, {key: metadata[key] for key in ("uid",) if key in metadata})
        return self._replace(resource, old, obj, subresource, dry_run=dry_run)

    def patch(
        self,
        kind: str | Resource,
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        subresource: str = "",
        content_type: str = MERGE,
        dry_run: bool = False,
    ) -> Json:
        """Change an object, or its ``status``, by one of the kinds of patch in ``fakeapi.patch``."""
        resource = self.resource(kind)
        if content_type == APPLY and _key(resource, name, namespace) not in self.store.collections[resource.storage].entries:
            return self.create(resource, patch, namespace, dry_run=dry_run)
        old = self.get(resource, name, namespace)
        new = apply_patch(content_type, old, patch, custom=resource.custom)
        if new.get("metadata", {}).get("uid") != old["metadata"]["uid"]:
            raise invalid(resource.kind, name, "metadata.uid: Invalid value: field is immutable")
        return self._replace(resource, old, new, subresource, dry_run=dry_run)

    def delete(
        self, kind: str | Resource, name: str, namespace: str | None = None, options: Json | None = None
    ) -> tuple[Json, bool]:
        """Delete, or begin to: returns the object and whether it is gone. Preconditions in `options` may raise 409."""
        resource, options = self.resource(kind), options or {}
        old = self.get(resource, name, namespace)
        pods.check_preconditions(resource.name, old, options.get("preconditions") or {})
        if options.get("dryRun"):
            return old, True
        metadata, grace, is_pod = dict(old["metadata"]), 0, resource.name == "pods"
        if is_pod and old["spec"].get("nodeName") and old["status"].get("phase") not in pods.FINISHED:
            asked = options.get("gracePeriodSeconds")
            grace = old["spec"]["terminationGracePeriodSeconds"] if asked is None else asked
        if (is_pod or metadata.get("finalizers")) and grace < metadata.get("deletionGracePeriodSeconds", grace + 1):
            counted = "generation" in metadata and "deletionTimestamp" not in metadata
            metadata |= {"deletionTimestamp": self.now(grace), "deletionGracePeriodSeconds": grace}
            metadata |= {"generation": metadata["generation"] + 1} if counted else {}
            old = self._put(resource, {**old, "metadata": metadata})  # a pod is marked even where it then goes at once
        if grace or metadata.get("finalizers"):
            return old, False
        if resource.name == "namespaces":
            self._empty(name)
        return self._remove(resource, old), True

    def bind(self, name: str, binding: Json, namespace: str = "default", *, dry_run: bool = False) -> None:
        """POST pods/NAME/binding. Raises 400, 404, 409 and 500 ApiErrors."""
        metadata = binding.get("metadata") or {}
        if metadata.get("name", name) != name or metadata.get("namespace", namespace) != namespace:
            raise bad_request("name in URL does not match name in Binding object")
        node = self.store.collections["nodes"].entries.get(("", (binding.get("target") or {}).get("name", "")))
        pod = pods.bound(self.get("pods", name, namespace), binding, node.obj if node else None, self.now())
        if not dry_run:
            self.store.put("pods", (namespace, name), pod)

    def evict(self, name: str, eviction: Json, namespace: str = "default") -> None:
        """POST pods/NAME/eviction. Raises 404, 409, and 429 where a disruption budget forbids it."""
        pod, options = self.get("pods", name, namespace), eviction.get("deleteOptions") or {}
        budget = pods.charged_budget(pod, self.list("poddisruptionbudgets", namespace))
        pods.check_preconditions("pods", pod, options.get("preconditions") or {})
        if options.get("dryRun"):
            return
        if budget is not None:
            status = budget["status"] | {"disruptionsAllowed": budget["status"]["disruptionsAllowed"] - 1}
            self.update("poddisruptionbudgets", budget | {"status": status}, "status")
        why = ("EvictionByEvictionAPI", "Eviction API: evicting")
        status = pods.with_condition(pod["status"], "DisruptionTarget", "True", self.now(), *why)
        self.store.put("pods", (namespace, name), pod | {"status": status})
        self.delete("pods", name, namespace, {key: value for key, value in options.items() if key != "preconditions"})

    def now(self, later: float = 0) -> str:
        """The clock as Kubernetes writes it, some seconds later if wanted."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock() + later))

    def _serve(self, resource: Resource) -> None:
        self.resources[resource.name] = resource
        if self.resources.setdefault(resource.plural, resource).group == resource.group:
            self.resources[resource.plural] = resource

    def _put(self, resource: Resource, obj: Json) -> Json:
        stored = self.store.put(resource.storage, _key_of(resource, obj), obj)
        if resource.kind == "CustomResourceDefinition":
            self._serve(from_crd(stored))
        entries = self.store.collections["events"].entries
        if resource.kind == "Event" and len(entries) > MAX_EVENTS:  # on a real server they go after an hour
            oldest = next(iter(entries))
            self.store.remove("events", oldest, entries[oldest].obj)
        return stored

    def _remove(self, resource: Resource, last: Json) -> Json:
        return self.store.remove(resource.storage, _key_of(resource, last), last)

    def _empty(self, namespace: str) -> None:
        for storage, collection in self.store.collections.items():
            for key in [key for key in collection.entries if key[0] == namespace]:
                self.store.remove(storage, key, collection.entries[key].obj)

    def _replace(self, resource: Resource, old: Json, new: Json, subresource: str, *, dry_run: bool) -> Json:
        kept, given = old["metadata"], new.get("metadata") or {}
        if given.get("resourceVersion", kept["resourceVersion"]) != kept["resourceVersion"]:
            text = "the object has been modified; please apply your changes to the latest version and try again"
            raise conflict(resource.name, kept["name"], text)
        metadata = {key: value for key, value in given.items() if key not in _KEPT and key != "managedFields"}
        metadata |= {key: kept[key] for key in (*_KEPT, "resourceVersion") if key in kept}
        _check_metadata(resource, metadata)
        if subresource == "status":
            made = {**old, "metadata": kept if resource.custom else metadata, "status": new.get("status") or {}}
        elif subresource == "resize":
            made = pods.resized(old, new)
        else:
            made = {**new, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
            if "status" in resource.subresources:
                made.pop("status", None)
                made |= {"status": old["status"]} if "status" in old else {}
            if resource.name == "pods":
                pods.check_update(old, made)
        made = self._checked(resource, made)
        if resource.generation and any(made.get(key) != old.get(key) for key in {*made, *old} - {"metadata", "status"}):
            made["metadata"] = made["metadata"] | {"generation": kept["generation"] + 1}
        if made == old or dry_run:
            return made
        if "deletionTimestamp" in kept and not metadata.get("finalizers") and not kept["deletionGracePeriodSeconds"]:
            return self._remove(resource, made)
        return self._put(resource, made)

    def _admitted(self, resource: Resource, obj: Json) -> Json:
        match resource.kind:
            case "Pod":
                classes = self.store.collections["priorityclasses"].entries.items()
                return pods.admitted(obj, {key[1]: entry.obj for key, entry in classes}, self.now())
            case "Event":  # kept with the field names of both groups
                both = {name: obj.get(names[0]) or obj.get(names[1]) for names in _EVENT_NAMES for name in names}
                return {"lastTimestamp": self.now()} | obj | {key: value for key, value in both.items() if value}
            case "CustomResourceDefinition":
                status = pods.with_condition({"acceptedNames": obj["spec"]["names"]}, "Established", "True", self.now())
                return obj | {"status": pods.with_condition(status, "NamesAccepted", "True", self.now())}
            case "Namespace":
                return obj | {"status": {"phase": "Active"}}
            case "Node":  # a kubelet brings its status along
                return obj
        return {key: value for key, value in obj.items() if key != "status" or "status" not in resource.subresources}

    def _checked(self, resource: Resource, obj: Json) -> Json:
        if not resource.custom:
            return obj
        made = self._default(resource.kind, _defaulted(obj, resource.schema))
        wrong = self._validate(resource.kind, made)
        if wrong:
            raise invalid(f"{resource.kind}.{resource.group}", made["metadata"]["name"], *wrong)
        return made


def _key(resource: Resource, name: str, namespace: str | None) -> tuple[str, str]:
    return (namespace or "default", name) if resource.namespaced else ("", name)


def _key_of(resource: Resource, obj: Json) -> tuple[str, str]:
    return _key(resource, obj["metadata"]["name"], obj["metadata"].get("namespace"))


def _defaulted(value: Any, schema: Json) -> Any:
    """`value` with the defaults of its CRD's schema filled in, at every level."""
    if isinstance(value, list):
        return [_defaulted(item, schema.get("items") or {}) for item in value]
    if not isinstance(value, dict):
        return value
    parts, others = schema.get("properties") or {}, schema.get("additionalProperties")
    filled = {key: part["default"] for key, part in parts.items() if "default" in part} | value
    return {key: _defaulted(item, parts.get(key) or (others if isinstance(others, dict) else {})) for key, item in filled.items()}


def _check_metadata(resource: Resource, metadata: Json) -> None:
    name = metadata.get("name") or ""
    if not name:
        raise invalid(resource.kind, "", "metadata.name: Required value: name or generateName is required")
    if not _NAME.fullmatch(name):
        text = f"metadata.name: Invalid value: {name!r}: a lowercase RFC 1123 subdomain has a-z, 0-9, '-' and '.'"
        raise invalid(resource.kind, name, text)
    for key, value in (metadata.get("labels") or {}).items():
        if not isinstance(value, str) or not _LABEL.fullmatch(value):
            text = f"metadata.labels: Invalid value: {value!r}: the value of {key} must be no more than 63 bytes"
            raise invalid(resource.kind, name, text)
