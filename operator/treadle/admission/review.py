"""The webhook: AdmissionReviews (admission.k8s.io/v1) in, a JSON patch out.

It refuses nothing: a pod that it does not understand is let through as it is, and the API server does the same where it cannot be reached
(``failurePolicy: Ignore``).
"""

import base64
import logging
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from treadle.admission.rewriting import patch

log = logging.getLogger(__name__)

PATH = "/opportunistic"
MOST_BODY = 8 << 20
"""Bytes of a review; an object of the API server has 1.5 MB at the most, a review two of them."""


def review(body: bytes, scheduler_names: frozenset[str]) -> dict[str, Any]:
    """Return the answer to a review. Raises ``ValueError`` for what is not one: nobody could say which it is the answer to."""
    try:
        asked = msgspec.json.decode(body)
        request = asked["request"]
        uid = request["uid"]
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise ValueError(f"not an AdmissionReview: {error}") from error
    answer: dict[str, Any] = {"uid": uid, "allowed": True}
    try:
        operations = patch(request["object"], scheduler_names)
    except Exception:  # whatever it is, the pod is none the worse for it
        log.exception("an opportunistic pod cannot be rewritten; it is let through as it is")
        operations = []
        answer["warnings"] = ["treadle could not rewrite this opportunistic pod; it counts by its requests"]
    if operations:
        answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(msgspec.json.encode(operations)).decode()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}


def routes(scheduler_names: Callable[[], frozenset[str]]) -> list[web.RouteDef]:
    """Return the webhook's route. ``scheduler_names`` says which pods are ours, now."""

    async def answer(request: web.Request) -> web.Response:
        try:
            content = msgspec.json.encode(review(await request.read(), scheduler_names()))
        except ValueError as error:
            return web.Response(text=f"{error}\n", status=400)
        return web.Response(body=content, content_type="application/json")

    return [web.post(PATH, answer)]
