"""An API server that answers each path with what it was given for it."""

from __future__ import annotations

from typing import Any

from treadle.kube.transport import Response


class Api:
    """Answers by path; one that is an error is raised."""

    def __init__(self) -> None:
        self.answers: dict[str, Response | Exception] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    async def request(self, method: str, path: str, *, params: dict[str, str] | None = None, **_: Any) -> Response:
        assert method == "GET"
        self.asked.append((path, dict(params or {})))
        answer = self.answers.get(path, Response(404, b'{"message": "not found"}'))
        if isinstance(answer, Exception):
            raise answer
        return answer
