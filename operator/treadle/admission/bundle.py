"""The caBundle of the webhook, kept fresh: it holds our certificate, and those of other copies that are still valid."""

import base64
import binascii
import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treadle.admission.certificates import Certificate, ends
from treadle.kube.errors import ApiError
from treadle.kube.transport import Client

CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
JSON_PATCH: Final = "application/json-patch+json"
MOST: Final = 16
"""Certificates in a bundle; the newest stay. A copy that is restarted again and again adds one each time."""
TRIES: Final = 5
_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)


def with_ours(bundle: bytes, ours: Certificate, now: dt.datetime) -> bytes:
    """Return a bundle with our certificate at its end; what has ended, or is not a certificate, is left out."""
    own = ours.pem.strip()
    kept = []
    for pem in (found.strip() for found in _PEM.findall(bundle)):
        end = ends(pem)
        if pem != own and end is not None and end > now:
            kept.append((end, pem))
    newest = sorted(kept, key=lambda one: one[0])[-(MOST - 1) :]
    return b"".join(pem + b"\n" for pem in (*(pem for _, pem in newest), own))


async def publish(client: Client, name: str, ours: Certificate, now: dt.datetime) -> bool:
    """Put our certificate into every webhook of a MutatingWebhookConfiguration that has not got it, and return whether anything was written.

    Other copies do the same at the same time, so it is written at the version that was read, and read again where that has changed. Raises ``KubeError``.
    """
    for _ in range(TRIES):
        answer = await client.request("GET", f"{CONFIGURATIONS}/{name}")
        if answer.status != 200:
            raise answer.error()
        configuration = answer.json()
        operations = _operations(configuration, ours, now)
        if not operations:
            return False
        version = configuration["metadata"]["resourceVersion"]
        body = msgspec.json.encode([{"op": "test", "path": "/metadata/resourceVersion", "value": version}, *operations])
        answer = await client.request("PATCH", f"{CONFIGURATIONS}/{name}", body, content_type=JSON_PATCH)
        if answer.status < 300:
            return True
        if answer.status not in (409, 422):  # somebody else has written: 422 is a test that failed
            raise answer.error()
    raise ApiError(409, "Conflict", f"{name} was written by others {TRIES} times while our certificate was put into it")


def _operations(configuration: Mapping[str, Any], ours: Certificate, now: dt.datetime) -> list[dict[str, Any]]:
    operations = []
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        bundle = _decoded((webhook.get("clientConfig") or {}).get("caBundle") or "")
        if ours.pem.strip() not in bundle:
            text = base64.b64encode(with_ours(bundle, ours, now)).decode()
            operations.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": text})
    return operations


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""
