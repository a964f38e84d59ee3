"""The certificate of the doors: files that are read again when they change, or one of our own that is made anew before it ends.

Of our own each copy makes its own, as for the webhook. Who is to trust it finds those of all copies in the key ``ca.crt`` of a ConfigMap. A fresh one stands there
for ``KNOWN_BEFORE`` before it is served, while the one before it is valid: readers need time to see it.

Copies trust each other by the same: files that all of them have, or the ConfigMap.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from treadle.admission.bundle import JSON_PATCH, TRIES, with_ours
from treadle.admission.certificates import Certificate, ends, load, load_pem, make, names
from treadle.kube.errors import ApiError, KubeError
from treadle.kube.transport import Client
from treadle.rest.forwarding import Trust, Untrusted

log = logging.getLogger(__name__)

KEY = "ca.crt"
LOOKED_AFTER_EVERY = 10.0
"""Seconds between two looks at the files, or at our own certificate."""
PUBLISHED_EVERY = 60.0
"""Seconds between two looks at the ConfigMap: whoever applies it anew may empty it."""
KNOWN_BEFORE = dt.timedelta(hours=1)
TRUSTED_FOR, TRUSTED_AGAIN_AFTER = dt.timedelta(minutes=1), dt.timedelta(seconds=5)
"""How long what was read of other copies' certificates counts, and how soon it is read again where one is not among them, or it could not be read."""


class BadCertificate(Exception):
    """A certificate that cannot be served; the message says why."""


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """``certificate`` and ``key`` are PEM files; without them one is made for ``hosts``, and published in ``config_map`` of ``namespace`` unless that is empty."""

    certificate: Path | None = None
    key: Path | None = None
    hosts: tuple[str, ...] = ()
    config_map: str = ""
    namespace: str = ""


def context() -> ssl.SSLContext:
    """Return what to serve with, without a certificate: TLS 1.2 and above, no renegotiation."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.options |= ssl.OP_NO_RENEGOTIATION
    return made


def trusting(bundle: bytes) -> ssl.SSLContext:
    """Return what trusts the certificates of a bundle and what they signed, and nothing else. Raises ``ValueError`` and ``ssl.SSLError`` for what is none."""
    if not bundle.strip():  # for nothing ssl takes the authorities of the system
        raise ValueError("no certificate is in it")
    made = ssl.create_default_context(cadata=bundle.decode("ascii"))
    # A bundle may end below its root, and authorities of clusters may lack extensions, as those of API servers do.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


class Files:
    """A certificate in files, as cert-manager and the kubelet write them.

    ``problem`` says why a new one is not served, or that the one that is has ended; empty if all is well. ``ends_at`` is when that ends.
    """

    def __init__(self, certificate: Path, key: Path, now: Callable[[], dt.datetime]) -> None:
        """Read them. Raises ``BadCertificate`` for what cannot be served; one that has ended can, for clients that do not mind."""
        self.context, self.problem = context(), ""
        self.ends_at: dt.datetime | None = None
        self._paths, self._now = (certificate, key), now
        self._seen = self._public = b""
        self._trust: tuple[bytes, Trust] | None = None
        self.look()
        if not self._seen:
            raise BadCertificate(self.problem)

    def look(self) -> None:
        """Serve what is in the files, if that has changed; what cannot be served, or has ended, leaves one that is valid in place."""
        problem = self._read()
        if not problem and self.ends_at is not None and self._now() >= self.ends_at:
            problem = f"the certificate {self._paths[0]} ended at {self.ends_at:%Y-%m-%dT%H:%M:%SZ}: clients refuse it"
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem

    def _read(self) -> str:
        """Read the files, and return why they are not served."""
        certificate, key = self._paths
        try:
            public = certificate.read_bytes()
            pem = key.read_bytes() + b"\n" + public
            read = hashlib.sha256(pem).digest()
            if read == self._seen:
                return ""
            load_pem(context(), pem)  # half of a pair would leave what is served with a key that is of another certificate
            ends_at, now = ends(public), self._now()
            if self.ends_at is not None and ends_at is not None and ends_at <= now < self.ends_at:
                return f"the certificate {certificate} is not served, since it ended at {ends_at:%Y-%m-%dT%H:%M:%SZ}; the one before is still valid"
            load_pem(self.context, pem)
        except (OSError, ValueError) as error:  # SSLError is an OSError; ValueError: a key with a password
            return f"the certificate {certificate} with the key {key} cannot be served: {error}"
        if self._seen:
            log.info("the certificate of %s is served from now on", certificate)
        self._seen, self._public, self.ends_at = read, public, ends_at
        return ""

    async def trust(self, again: bool) -> Trust:
        """Return by what other copies are trusted, which serve the same files or, for a moment, the ones before or after: by what signed it, under its own name. Raises ``Untrusted``."""
        if again:
            self.look()
        if self._trust is not None and self._trust[0] == self._public:
            return self._trust[1]  # the same, so that connections are kept: others are not of the same trust
        found = names(self._public)
        if not found:
            raise Untrusted(f"the certificate {self._paths[0]} has no name by which that of another copy could be known")
        plain = next((name for name in found if "*" not in name), found[0].replace("*", "treadle", 1))
        try:
            self._trust = self._public, Trust(trusting(self._public), plain)
        except (ValueError, ssl.SSLError) as error:
            raise Untrusted(f"the certificate {self._paths[0]}: {error}") from error
        return self._trust[1]

    async def keep(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY)
            self.look()


class SelfSigned:
    """A certificate of our own. ``problem`` says why nobody can know it, empty if all is well."""

    def __init__(self, client: Client, options: TlsOptions, now: Callable[[], dt.datetime]) -> None:
        """Make one."""
        self.context, self.problem = context(), ""
        self._client, self._options, self._now = client, options, now
        self._next: tuple[Certificate, dt.datetime] | None = None
        self._trust: tuple[dt.datetime, bytes, Trust] | None = None
        self._untrusted: tuple[dt.datetime, str] | None = None
        """When the ConfigMap could last not be read, and why."""
        self._reading = asyncio.Lock()
        self._serve(self._made())

    def _made(self) -> Certificate:
        return make(self._options.hosts, self._now(), "treadle")

    def _serve(self, certificate: Certificate) -> None:
        load(self.context, certificate)
        self._certificate, self._next = certificate, None

    @property
    def ends_at(self) -> dt.datetime:
        """When the certificate that is served ends."""
        return self._certificate.ends_at

    async def look(self) -> None:
        """Do what is due: make a fresh one, publish all that we have, and serve the fresh one when it has been known for a while."""
        now = self._now()
        if self._next is None and now >= self._certificate.renew_at:
            self._next = self._made(), dt.datetime.max.replace(tzinfo=dt.UTC)
        ours = [self._certificate, *([self._next[0]] if self._next else [])]
        try:
            if self._options.config_map:
                for one in ours:
                    await publish(self._client, self._options.namespace, self._options.config_map, one, now)
            self.problem = ""
        except KubeError as error:
            problem = f"ConfigMap {self._options.namespace}/{self._options.config_map}: {error}"
            if problem != self.problem:
                log.warning("clients cannot know our certificate: %s", problem)
            self.problem = problem
        else:
            if self._next is not None:
                fresh, since = self._next
                since = min(since, now)
                self._next = fresh, since
                if now >= since + (KNOWN_BEFORE if self._options.config_map else dt.timedelta()):
                    self._serve(fresh)
        if now >= self._certificate.ends_at and self._next is not None:  # better one that few know than one that nobody may take
            self._serve(self._next[0])

    async def trust(self, again: bool) -> Trust:
        """Return by what other copies are trusted, which make their own: by the certificates in the ConfigMap, under the name that all are for. Raises ``Untrusted``."""
        options = self._options
        if not options.config_map:
            raise Untrusted(
                "copies make their certificates themselves, and there is no ConfigMap in which they tell them (--tls-config-map)"
            )
        async with self._reading:
            now = self._now()
            if self._trust is None or now >= self._trust[0] + (TRUSTED_AGAIN_AFTER if again else TRUSTED_FOR):
                where = f"ConfigMap {options.namespace}/{options.config_map}"
                if self._untrusted is not None and now < self._untrusted[0] + TRUSTED_AGAIN_AFTER:
                    raise Untrusted(self._untrusted[1])  # or all who wait would try one after the other
                try:
                    found = await _read(self._client, options.namespace, options.config_map)
                    bundle = _bundle(found)
                    same = self._trust[2] if self._trust is not None and self._trust[1] == bundle else None
                    # Connections are kept by the same trust.
                    self._trust = now, bundle, same or Trust(trusting(bundle), options.hosts[0])
                except (KubeError, ValueError, ssl.SSLError) as error:
                    self._untrusted = self._now(), f"{where}: {error}"
                    raise Untrusted(self._untrusted[1]) from error
            return self._trust[2]

    async def keep(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await asyncio.sleep(LOOKED_AFTER_EVERY if self.problem else PUBLISHED_EVERY)


async def publish(client: Client, namespace: str, name: str, ours: Certificate, now: dt.datetime) -> bool:
    """Put our certificate into a ConfigMap, beside those of other copies that are still valid, and return whether anything was written. Raises ``KubeError``."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
    for _ in range(TRIES):
        found = await _read(client, namespace, name)
        bundle = _bundle(found)
        if ours.pem.strip() in bundle:
            return False
        text = with_ours(bundle, ours, now).decode()
        put = (
            {"op": "add", "path": f"/data/{KEY}", "value": text}
            if found.get("data")
            else {"op": "add", "path": "/data", "value": {KEY: text}}
        )
        unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
        answer = await client.request("PATCH", path, msgspec.json.encode([unchanged, put]), content_type=JSON_PATCH)
        if answer.status < 300:
            return True
        if answer.status not in (409, 422):  # somebody else has written: 422 is a test that failed
            raise answer.error()
    raise ApiError(409, "Conflict", f"{name} was written by others {TRIES} times while our certificate was put into it")


async def _read(client: Client, namespace: str, name: str) -> dict[str, Any]:
    answer = await client.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    if answer.status != 200:
        raise answer.error()
    found: dict[str, Any] = answer.json()
    return found


def _bundle(config_map: dict[str, Any]) -> bytes:
    return str((config_map.get("data") or {}).get(KEY) or "").encode()


def _utc() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def certificate_of(client: Client, options: TlsOptions) -> Files | SelfSigned:
    """Return whoever keeps the certificate. Raises ``BadCertificate``."""
    if options.certificate is not None and options.key is not None:
        return Files(options.certificate, options.key, _utc)
    return SelfSigned(client, options, _utc)
