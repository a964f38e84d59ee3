"""The embedded API server: the HTTP of the Kubernetes API over ``Objects``, on loopback, without TLS or accounts."""

import asyncio
import base64
import contextlib
import json
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml
from aiohttp import web

from treadle.api import crds as ours
from treadle.api.objects import KINDS, InvalidObject, parse
from treadle.fakeapi import discovery
from treadle.fakeapi.errors import ApiError, Json, bad_request, invalid
from treadle.fakeapi.objects import Objects
from treadle.fakeapi.patch import APPLY
from treadle.fakeapi.pods import check_amounts
from treadle.fakeapi.resources import Resource
from treadle.fakeapi.selectors import Test, selecting
from treadle.fakeapi.store import Entry, encode
from treadle.fakeapi.table import table
from treadle.kube.binary import NotUnderstood
from treadle.kube.binary.made import KindUnread, made
from treadle.listening import stop_listening, stranger

Target = tuple[Resource, str | None, str, str]
"""(kind, namespace, name, subresource) of a path; name and subresource may be empty."""


class FakeApi(Objects):
    """An API server in this process that serves our kinds and what they need. Options are those of ``Objects``.

    `before` is awaited with the method and the path of each request: a test may wait in it or raise ApiError. `bookmark_seconds`
    is the time after which a silent watch gets a bookmark.
    """

    def __init__(self, *, bookmark_seconds: float = 30.0, **options: Any) -> None:
        options.setdefault("crds", [ours.crd(kind) for kind in KINDS])
        options.setdefault("validate", _problems)
        super().__init__(**options)
        self.url = ""
        self.bookmark_seconds = bookmark_seconds
        self.before: Callable[[str, str], Awaitable[None]] | None = None
        self._runner: web.ServerRunner | None = None
        self._listening: asyncio.Server | None = None
        self._cuts = 0

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen, on any free port by default, and return the URL. After a stop it may be started again with all that it holds."""
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        self._listening = await asyncio.get_running_loop().create_server(server, host, port)
        self.url = f"http://{host}:{self._listening.sockets[0].getsockname()[1]}"
        return self.url

    async def stop(self) -> None:
        """End all watches and close the port; the objects stay."""
        self.cut_watches()
        if self._listening is not None:
            await stop_listening(self._listening)
            self._listening = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def cut_watches(self) -> None:
        """End every watch cleanly, as the real server does in a burst."""
        self._cuts += 1
        for collection in self.store.collections.values():
            for waker in collection.wakers:
                waker.set()

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this server and return its path."""
        name = "treadle-demo"
        context = {"cluster": name, "user": name, "namespace": "default"}
        named: Json = {"clusters": {"cluster": {"server": self.url}}, "users": {"user": {}}, "contexts": {"context": context}}
        lists = {key: [{"name": name} | value] for key, value in named.items()}
        path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": name} | lists))
        return path

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            _check_sender(request)
            if self.before is not None:
                await self.before(request.method, request.path)
            path = request.path.strip("/").split("/")
            found = discovery.answer(list(self.resources.values()), path)
            if isinstance(found, str):
                return web.Response(
                    body=found.encode(), content_type="text/plain" if found else request.headers.get("Accept", "").split(",")[0]
                )
            if found is not None:
                return _json(found)
            return await self._answer(request, self._target(path))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            return web.json_response(bad_request(f"the request cannot be understood: {error!r}").status(), status=400)
        except ApiError as error:
            headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
            return web.json_response(error.status(), status=error.code, headers=headers)

    def _target(self, path: list[str]) -> Target:
        group, rest = ("", path[2:]) if path[0] == "api" else ("." + "".join(path[1:2]), path[3:])
        namespace = None
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] != "status":
            namespace, rest = rest[1], rest[2:]
        plural, name, part, *more = [*rest, "", "", ""]
        resource = self.resources.get(plural + group)
        if (
            resource is None
            or resource.api_version not in "/".join(path)
            or any(more)
            or part not in {"", *resource.subresources}
        ):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return resource, namespace, name, part

    async def _answer(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        resource, namespace, name, part = target
        query = request.query if request.query_string else {}
        dry = "dryRun" in query
        body = await _body(request) if request.can_read_body else {}
        match request.method, bool(name), part:
            case "GET", True, _:
                return self._shown(request, resource, [self.entry(resource, name, namespace)], {}, None)
            case "GET", False, _:
                test = selecting(resource, namespace, query.get("labelSelector", ""), query.get("fieldSelector", ""))
                watch = query.get("watch") in {"1", "true"}
                return await self._watch(request, resource, test) if watch else self._listed(request, resource, test)
            case "DELETE", True, "":
                if not body:  # beside a body no parameter counts
                    body = {key: int(query[key]) for key in ("gracePeriodSeconds",) if key in query} | (
                        {"dryRun": True} if dry else {}
                    )
                obj, gone = self.delete(resource, name, namespace, body)
                details = {"name": name, "group": resource.group, "kind": resource.plural, "uid": obj["metadata"]["uid"]}
                return _json(_success(details) if gone and resource.name != "pods" else obj)
            case "POST", False, _:
                if resource.name == "pods":
                    check_amounts(body)
                return _json(self.create(resource, body, namespace, dry_run=dry), 201)
            case "POST", True, "binding":
                self.bind(name, body, namespace or "default", dry_run=dry)
                return _json(_success(), 201)
            case "POST", True, "eviction":
                self.evict(name, body, namespace or "default")
                return _json(_success(), 201)
            case "PUT", True, _:
                metadata = {"name": name, "namespace": namespace} | (body.get("metadata") or {})
                if metadata["name"] != name:
                    raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
                return _json(self.update(resource, {**body, "metadata": metadata}, part, dry_run=dry))
            case "PATCH", True, _:
                made = self.patch(
                    resource, name, body, namespace, subresource=part, content_type=request.content_type, dry_run=dry
                )
                return _json(made)
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def _shown(
        self, request: web.BaseRequest, resource: Resource, entries: list[Entry], metadata: Json, head: Json | None
    ) -> web.Response:
        """One object (`head` is None) or a list of them, or a table where the client asks for one."""
        if "as=Table" in request.headers.get("Accept", ""):
            whole = request.query.get("includeObject") == "Object"
            return _json(table(resource, [entry.obj for entry in entries], self.clock(), metadata, whole=whole))
        body = b",".join(entry.raw for entry in entries)
        if head is not None:
            body = encode(head)[:-1] + b',"items":[' + body + b"]}"
        return web.Response(body=body, content_type="application/json")

    def _listed(self, request: web.BaseRequest, resource: Resource, test: Test | None) -> web.Response:
        entries, query = self.store.collections[resource.storage].entries, request.query
        keys, version, limit = sorted(entries), self.store.version, int(query.get("limit") or 0)
        if query.get("continue"):
            # The version of the first page: a watch from it tells what changed between the pages.
            version, *last = json.loads(base64.urlsafe_b64decode(query["continue"]))
            self.store.collections[resource.storage].since(version)
            keys = keys[bisect_right(keys, tuple(last)) :]
        chosen = [key for key in keys if test is None or test(entries[key].obj)]
        metadata: Json = {"resourceVersion": str(version)}
        if limit and len(chosen) > limit:
            token = base64.urlsafe_b64encode(encode([version, *chosen[limit - 1]])).decode()
            metadata |= {"continue": token} | ({"remainingItemCount": len(chosen) - limit} if test is None else {})
            chosen = chosen[:limit]
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
        return self._shown(request, resource, [entries[key] for key in chosen], metadata, head)

    async def _watch(self, request: web.BaseRequest, resource: Resource, test: Test | None) -> web.StreamResponse:
        query, collection, cuts = request.query, self.store.collections[resource.storage], self._cuts
        streaming, bookmarks = query.get("sendInitialEvents") == "true", query.get("allowWatchBookmarks") == "true"
        if streaming and query.get("resourceVersionMatch") != "NotOlderThan":
            text = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise invalid("ListOptions", "", text)
        as_table = "as=Table" in request.headers.get("Accept", "")

        def line(kind: str, entry: Entry) -> bytes:
            raw = encode(table(resource, [entry.obj], self.clock(), {})) if as_table else entry.raw
            return b'{"type":"%s","object":%s}\n' % (kind.encode(), raw)

        version = int(query.get("resourceVersion") or 0)
        lines = []
        if streaming or not version:
            version = self.store.version
            chosen = (collection.entries[key] for key in sorted(collection.entries))
            lines = [line("ADDED", entry) for entry in chosen if test is None or test(entry.obj)]
            lines += [_bookmark(resource, version, {"k8s.io/initial-events-end": "true"})] if streaming and bookmarks else []
        told = version
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        clock, waker = asyncio.get_running_loop().time, asyncio.Event()
        deadline = clock() + float(query.get("timeoutSeconds") or 1800)
        collection.wakers.add(waker)
        try:
            while True:
                waker.clear()
                events = collection.since(version)
                seen = filter(None, (event.seen_through(test) for event in events))
                lines += [line(kind, entry) for kind, entry in seen]
                version = events[-1].version if events else version
                if lines:
                    await response.write(b"".join(lines))
                    lines, told = [], version
                    continue  # something may have come while this was written
                left = deadline - clock()
                if cuts != self._cuts or left <= 0:
                    break
                try:
                    async with asyncio.timeout(min(left, self.bookmark_seconds)):
                        await waker.wait()
                except TimeoutError:
                    if bookmarks and told < self.store.version and not collection.since(version):
                        version = self.store.version
                        lines = [_bookmark(resource, version)]
        except ApiError as error:  # too old, or fallen behind the ring
            await response.write(b'{"type":"ERROR","object":%s}\n' % encode(error.status()))
        except ConnectionResetError:
            return response
        finally:
            collection.wakers.discard(waker)
        with contextlib.suppress(ConnectionResetError):
            await response.write_eof()
        return response


def _check_sender(request: web.BaseRequest) -> None:
    if why := stranger(request.headers.get("Host", ""), request.headers.get("Origin", "")):
        raise ApiError(403, "Forbidden", why)


def _json(body: Json, status: int = 200) -> web.Response:
    return web.Response(body=encode(body), status=status, content_type="application/json")


def _success(details: Json | None = None) -> Json:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details or {}}


async def _body(request: web.BaseRequest) -> Any:
    raw = await request.read()
    if "protobuf" in request.content_type:
        try:
            return made(raw)
        except KindUnread as error:
            raise ApiError(
                415, "UnsupportedMediaType", f"the embedded API server: {error}; use a manifest, with apply -f or create -f"
            ) from error
        except NotUnderstood as error:
            raise bad_request(str(error)) from error
    try:
        return msgspec.json.decode(raw) if raw else {}
    except msgspec.DecodeError as error:
        if request.content_type != APPLY:
            raise bad_request(f"the body is not JSON: {error}") from error
        return yaml.safe_load(raw)


def _bookmark(resource: Resource, version: int, annotations: Json | None = None) -> bytes:
    """Built-in kinds come as typed skeletons, whose lists are null."""
    metadata: Json = {"resourceVersion": str(version)} | ({"annotations": annotations} if annotations else {})
    skeleton: Json = {"spec": {"containers": None}, "status": {}} if resource.name == "pods" else {}
    return (
        encode(
            {
                "type": "BOOKMARK",
                "object": {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata} | skeleton,
            }
        )
        + b"\n"
    )


def _problems(kind: str, obj: Json) -> list[str]:
    if kind in KINDS:
        try:
            parse(kind, obj)
        except InvalidObject as error:
            return error.problems
    return []
