"""The webhooks: AdmissionReviews (admission.k8s.io/v1) in, a JSON patch out.

That for opportunistic pods refuses nothing: a pod that it does not understand is let through as it is, and the API server does the same where it cannot be reached
(``failurePolicy: Ignore``). That for stamps refuses what it cannot stamp, and so does the API server without it (``failurePolicy: Fail``): what comes in without a
stamp of ours could have one of its own.
"""

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from aiohttp import web

from treadle.admission.rewriting import patch
from treadle.admission.stamping import stamp

log = logging.getLogger(__name__)

PATH: Final = "/opportunistic"
STAMPS: Final = "/stamp-identity"
MOST_BODY = 8 << 20
"""Bytes of a review; an object of the API server has 1.5 MB at the most, a review two of them."""


def review(body: bytes, scheduler_names: frozenset[str]) -> dict[str, Any]:
    """Return the answer to a review of an opportunistic pod. Raises ``ValueError`` for what is not one: nobody could say which it is the answer to."""
    request = _asked(body)
    try:
        return _answer(request, patch(request["object"], scheduler_names))
    except Exception:  # whatever it is, the pod is none the worse for it
        log.exception("an opportunistic pod cannot be rewritten; it is let through as it is")
        return _answer(request, warnings=["treadle could not rewrite this opportunistic pod; it counts by its requests"])


def stamp_review(body: bytes) -> dict[str, Any]:
    """Return the answer to a review of what is to be stamped. Raises ``ValueError`` as ``review`` does."""
    request = _asked(body)
    try:
        return _answer(request, stamp(request))
    except Exception as error:  # whatever it is, nothing comes in unstamped
        log.exception("an object cannot be stamped with who made it; it is refused")
        said = f"treadle could not write on it who made it (treadle.dev/submitted-by): {type(error).__name__}: {error}"
        return _answer(request, refused=said)


def _asked(body: bytes) -> Mapping[str, Any]:
    try:
        request: Mapping[str, Any] = msgspec.json.decode(body)["request"]
        request["uid"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
        raise ValueError(f"not an AdmissionReview: {error}") from error
    return request


def _answer(
    request: Mapping[str, Any], operations: Sequence[Any] = (), warnings: Sequence[str] = (), refused: str = ""
) -> dict[str, Any]:
    answer: dict[str, Any] = {"uid": request["uid"], "allowed": not refused}
    if refused:
        answer["status"] = {"code": 500, "reason": "InternalError", "message": refused}
    if warnings:
        answer["warnings"] = list(warnings)
    if operations:
        answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(msgspec.json.encode(operations)).decode()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}


def routes(scheduler_names: Callable[[], frozenset[str]]) -> list[web.RouteDef]:
    """Return the routes of both. ``scheduler_names`` says which pods are ours, now."""
    return [_route(PATH, lambda body: review(body, scheduler_names())), _route(STAMPS, stamp_review)]


def _route(path: str, answered: Callable[[bytes], dict[str, Any]]) -> web.RouteDef:
    async def answer(request: web.Request) -> web.Response:
        try:
            content = msgspec.json.encode(answered(await request.read()))
        except ValueError as error:
            return web.Response(text=f"{error}\n", status=400)
        return web.Response(body=content, content_type="application/json")

    return web.post(path, answer)
