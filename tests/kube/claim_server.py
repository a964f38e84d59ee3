"""A server of ResourceClaims without sockets, whose writes can be lost or go unheard."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

from treadle.kube.errors import ApiError, Unreachable

Json = dict[str, Any]


class Answer:
    def __init__(self, status: int, body: Mapping[str, Any], reason: str = "Reason") -> None:
        self.status, self._body, self._reason = status, body, reason

    def json(self) -> Mapping[str, Any]:
        return self._body

    def error(self) -> ApiError:
        return ApiError(self.status, self._reason, str(self._body.get("message", "")))


class Server:
    """Keeps claims; ``faults`` says of the next writes whether they are ``lost`` before or ``unheard`` after they were taken, or what status they get."""

    def __init__(self) -> None:
        self.claims: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}
        self.faults: list[str | int] = []
        self.log: list[str] = []
        self.version = 0

    def have(self, name: str, **fields: Any) -> Json:
        self.version += 1
        found = {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(self.version)}, "status": {}, **fields}
        self.claims[name] = found
        return found

    async def request(self, method: str, path: str, body: Any = None, **_: Any) -> Answer:
        await asyncio.sleep(0)
        fault = self.faults.pop(0) if self.faults and method != "GET" else ""
        if fault == "lost":
            raise Unreachable("connection reset")
        if isinstance(fault, int):
            return Answer(fault, {"message": "no"})
        answer = self._answer(method, path, body)
        if fault == "unheard":
            raise Unreachable("no answer in time")
        return answer

    def _answer(self, method: str, path: str, body: Any) -> Answer:
        self.log.append(f"{method} {path.partition('/namespaces/ns/')[2]}")
        if "/pods/" in path:
            self.pods[path.split("/")[-2]] = body
            return Answer(200, body)
        if method == "POST":
            name = f"{body['metadata']['generateName']}x"
            found = self.have(name, spec=body["spec"])
            found["metadata"] |= {key: value for key, value in body["metadata"].items() if key != "generateName"}
            return Answer(201, copy.deepcopy(found))
        name = path.removesuffix("/status").rpartition("/")[2]
        found = self.claims.get(name)
        if found is None:
            return Answer(404, {"message": "not found"}, "NotFound")
        if method == "GET":
            return Answer(200, copy.deepcopy(found))
        if method == "DELETE":
            del self.claims[name]
            return Answer(200, {})
        if body["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            return Answer(409, {"message": "the object has been modified"})
        self.version += 1
        for part in ("metadata", "status"):
            for key, value in body.get(part, {}).items():
                if value is None:
                    found[part].pop(key, None)
                else:
                    found[part][key] = value
        found["metadata"]["resourceVersion"] = str(self.version)
        return Answer(200, copy.deepcopy(found))
