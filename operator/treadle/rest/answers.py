"""Answers: JSON, and what is refused in the shape of YARN's web services (``RemoteException``, of ``GenericExceptionHandler``) or of ours (problem details, RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

JSON, XML, PROBLEM = "application/json", "application/xml", "application/problem+json"
OURS = "/api/"
"""What the paths begin with whose shapes are ours."""
BARE = ("/ws/v1/applicationhistory", "/ws/v2/timeline")
"""Where YARN names the exception without ``RemoteException`` around it."""
_WEBAPP = "org.apache.hadoop.yarn.webapp."
CLASSES = {
    400: f"{_WEBAPP}BadRequestException",
    401: "org.apache.hadoop.security.authorize.AuthorizationException",
    403: f"{_WEBAPP}ForbiddenException",
    404: f"{_WEBAPP}NotFoundException",
    409: f"{_WEBAPP}ConflictException",
    412: "javax.ws.rs.ClientErrorException",
    406: "javax.ws.rs.NotAcceptableException",
    415: "javax.ws.rs.NotSupportedException",
    429: "org.apache.hadoop.ipc.RetriableException",
    503: "org.apache.hadoop.yarn.exceptions.YarnRuntimeException",
}
"""The exception of YARN that each status stands for."""
INVALID_ID = "java.io.IOException"
"""What YARN raises for an id that is none; the status is 404."""
UNAUTHENTICATED = "Unable to obtain user name, user not authenticated"


class Refused(Exception):
    """A request that is not done; ``status`` is HTTP's, ``wait`` says after how many seconds it may be sent again, 0: not told."""

    def __init__(self, status: int, message: str, class_name: str = "", wait: int = 0) -> None:
        """Keep what the answer says."""
        self.status, self.message, self.wait = status, message, wait
        self.class_name = class_name or CLASSES[status]
        super().__init__(message)

    def answer(self, path: str = "") -> web.Response:
        """Return it as a response to a request for a path."""
        headers = {"Retry-After": str(self.wait)} if self.wait else {}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if path.startswith(OURS):
            problem = {"title": HTTPStatus(self.status).phrase, "status": self.status, "detail": self.message, "instance": path}
            return web.Response(body=msgspec.json.encode(problem), status=self.status, headers=headers, content_type=PROBLEM)
        said = {
            "exception": self.class_name.rpartition(".")[2],
            "message": self.message,
            "javaClassName": self.class_name,
        }
        return answer(said if path.startswith(BARE) else {"RemoteException": said}, self.status, headers)


def answer(said: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a response with a JSON body."""
    return web.Response(body=msgspec.json.encode(said), status=status, headers=headers, content_type=JSON, charset="utf-8")


def check_media(request: web.Request, *read: str, xml: bool = False) -> None:
    """Raise ``Refused`` for a request that brings anything but what is ``read``, or wants anything but JSON, or with ``xml`` that."""
    if request.body_exists and request.content_type not in read:
        raise Refused(415, f"Content-Type: {request.content_type!r} is not read here; allowed is {' or '.join(read)}")
    accepted = [one.partition(";")[0].strip().lower() for one in request.headers.get("Accept", "*/*").split(",")]
    told = (JSON, XML) if xml else (JSON,)
    if not {*told, "application/*", "*/*"}.intersection(accepted):
        raise Refused(406, f"Accept: {request.headers['Accept']!r} cannot be answered; what is said here is {' or '.join(told)}")
