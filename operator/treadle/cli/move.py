"""``treadle move``: an application to another queue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treadle.cli.asking import API, asked, refuse
from treadle.cli.leader import HERE, Where
from treadle.cli.tables import condition
from treadle.kube.errors import ApiError
from treadle.kube.transport import Client

EVERY: Final = 0.5
DAY: Final = 86_400.0
MERGE: Final = "application/merge-patch+json"
Json = Mapping[str, Any]


def move(application: str, queue: str, /, *, wait: float = 15.0, where: Where = HERE) -> None:
    """Write the queue of an Application object, and say where it then is.

    What runs moves with its pods where the other queue takes it; where it does not it stays, with the reason. Pods without an Application object are in the queue that their labels name.

    Parameters
    ----------
    application:
        NAMESPACE/NAME of the Application object.
    queue:
        The path of the queue.
    wait:
        For how many seconds it is waited for the scheduler to do it; 0: not at all.
    """
    if not 0 <= wait <= DAY:
        refuse(f"--wait: {wait:g} is not a number of seconds up to {DAY:g}", 2)
    namespace, slash, name = application.partition("/")
    if not slash or not namespace or not name or "/" in name:
        refuse(f"{application!r} is not NAMESPACE/NAME")
    path = f"{API}/namespaces/{namespace}/applications/{name}"

    async def change(client: Client) -> tuple[bool, str]:
        answer = await client.request("PATCH", path, msgspec.json.encode({"spec": {"queue": queue}}), content_type=MERGE)
        if answer.status == 404:
            raise ApiError(
                404,
                "NotFound",
                f"there is no Application {application}; apply one with spec.queue: {queue}, and its pods go there",
            )
        if answer.status >= 400:
            raise answer.error()
        found: Json = answer.json()
        for _ in range(int(wait / EVERY)):
            if (outcome := outcome_of(found, queue)) is not None:
                return outcome
            await asyncio.sleep(EVERY)
            answer = await client.request("GET", path)
            if answer.status >= 400:
                raise answer.error()
            found = answer.json()
        now = (found.get("status") or {}).get("queue") or "no queue"
        return wait <= 0, f"{application} asks for queue {queue}; it is in {now} for now"

    moved, words = asked(where.kubeconfig, where.context, change)
    if not moved:
        refuse(words)
    print(words)


def outcome_of(found: Json, queue: str) -> tuple[bool, str] | None:
    """Return whether an Application is where it is to be, and in words; None while its status is about an older version."""
    status, meta = found.get("status") or {}, found["metadata"]
    if (status.get("observedGeneration") or 0) < meta.get("generation", 0):
        return None
    name, now = f"{meta['namespace']}/{meta['name']}", status.get("queue")
    moved, ready = condition(found, "Moved"), condition(found, "Ready")
    if moved.get("status") == "False":
        return False, f"{name} stays in {now}: {moved.get('message')}"
    if now == queue:
        return True, f"{name} is in {queue}"
    if ready.get("status") == "False":
        return False, f"{name} is in no queue: {ready.get('reason')}: {ready.get('message')}"
    pods = status.get("pods") or {}
    if not pods.get("running") and not pods.get("pending"):
        return True, f"{name} asks for {queue}; it has no pods"
    suspicious = condition(found, "Suspicious")
    return False, f"{name} is in {now}: {suspicious.get('message') or f'the rules place it there, and not in {queue}'}"
