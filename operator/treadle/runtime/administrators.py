"""Publishes who may administer queues, for the API server's admission: an AdministratorList with a key for each queue that has a list.

The chart's ValidatingAdmissionPolicy reads it, so that an edit of a Queue is judged by the lists of the queues above it without asking us. The leader writes it. A value has a line for each
name: ``user:NAME`` or ``group:NAME``; ``user:*`` is everybody.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec

from treadle.api.crds import ADMINISTRATORS
from treadle.api.labels import API_VERSION
from treadle.kube.errors import KubeError
from treadle.kube.transport import MERGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.core.model import AccessList
    from treadle.core.views.view import View
    from treadle.kube.transport import Client

log = logging.getLogger(__name__)

EVERY, LOOKED_AFTER_EVERY = 1.0, 10.0
"""Seconds between two looks at the lists, and between two looks at what is published: somebody may have emptied or deleted the object, and without it no queue can be edited."""
MOST: Final = 900_000
"""Characters of an object, of which etcd takes a MiB and a half."""


def published(lists: Mapping[str, AccessList]) -> tuple[dict[str, str], int]:
    """Return the data of the object, and how many lists there was no room for: those of the deepest queues."""
    data: dict[str, str] = {}
    size = left_out = 0
    for path in sorted(lists, key=lambda path: (path.count("."), path)):
        acl = lists[path]
        names = [*(f"user:{name}" for name in sorted(acl.users)), *(f"group:{name}" for name in sorted(acl.groups))]
        text = "\n".join(name for name in names if "\n" not in name)
        if size + len(path) + len(text.encode()) > MOST:
            left_out += 1
            continue
        size += len(path) + len(text.encode())
        data[path] = text
    return data, left_out


class Administrators:
    """Keeps the object as the lists in force are. ``problem`` says why it is not, empty if it is."""

    def __init__(self, client: Client, namespace: str, name: str, view: Callable[[], View]) -> None:
        self.problem = "who may administer queues has not been published yet"
        self._client, self._view = client, view
        self._path = f"/apis/{API_VERSION}/namespaces/{namespace}/{ADMINISTRATORS}/{name}"
        self._name = f"{namespace}/{name}"
        self._written: dict[str, str] | None = None

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Write whatever differs until cancelled, while ``may_write``."""
        looked_at, loop = float("-inf"), asyncio.get_running_loop()
        while True:
            if may_write():
                data, left_out = published(self._view().administrators())
                due = loop.time() > looked_at + (EVERY if self.problem else LOOKED_AFTER_EVERY)
                if data != self._written or due:
                    looked_at = loop.time()
                    await self._publish(data, left_out)
            else:
                self._written = None
            await asyncio.sleep(EVERY)

    async def _publish(self, data: dict[str, str], left_out: int) -> None:
        try:
            answer = await self._client.request("GET", self._path)
            if answer.status == 404:
                made = {
                    "apiVersion": API_VERSION,
                    "kind": "AdministratorList",
                    "metadata": {"name": self._path.rpartition("/")[2]},
                }
                answer = await self._client.request("POST", self._path.rpartition("/")[0], msgspec.json.encode(made))
            if answer.status not in {200, 201}:
                raise answer.error()
            there: dict[str, str] = answer.json().get("data") or {}
            patch: dict[str, Any] = {key: text for key, text in data.items() if there.get(key) != text}
            patch |= dict.fromkeys(there.keys() - data.keys())
            if patch:
                answer = await self._client.request("PATCH", self._path, msgspec.json.encode({"data": patch}), content_type=MERGE)
                if answer.status != 200:
                    raise answer.error()
            self._written, problem = data, ""
        except KubeError as error:
            self._written, problem = None, f"AdministratorList {self._name}: {error}"
        if not problem and left_out:
            problem = f"AdministratorList {self._name} has no room for the administerAcl of {left_out} queues; nobody may edit what is below them by these"
        if problem and problem != self.problem:
            log.warning("who may administer queues is not published: %s", problem)
        self.problem = problem
