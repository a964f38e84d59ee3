"""The certificate of the doors: read again when its files change, or our own, which is known before it is served."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from treadle.admission.certificates import RENEWED_AFTER, VALID_FOR, Certificate, make
from treadle.kube.transport import Response
from treadle.rest.forwarding import Trust, Untrusted
from treadle.runtime.tls import (
    KNOWN_BEFORE,
    TRUSTED_AGAIN_AFTER,
    TRUSTED_FOR,
    BadCertificate,
    Files,
    SelfSigned,
    TlsOptions,
    publish,
)
from web.certificates import authority, made, trusting

NAMESPACE, NAME = "treadle-system", "treadle-ca"
BEGUN = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def shown(tls: ssl.SSLContext) -> bytes:
    """The certificate that a client sees, in memory; it is not checked."""
    sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    client, server = blind.wrap_bio(received, sent), tls.wrap_bio(sent, received, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return ssl.DER_cert_to_PEM_cert(client.getpeercert(binary_form=True)).encode()


def write(folder: Path, certificate: Certificate) -> tuple[Path, Path]:
    paths = folder / "tls.crt", folder / "tls.key"
    paths[0].write_bytes(certificate.pem)
    paths[1].write_bytes(certificate.key)
    return paths


def folder_in(folder: Path, name: str) -> Path:
    (made_ := folder / name).mkdir()
    return made_


def now_of(later: dt.timedelta = dt.timedelta()) -> Callable[[], dt.datetime]:
    """A clock, which may be ahead."""
    return lambda: dt.datetime.now(dt.UTC) + later


def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    first, second = made(), made()
    files = Files(*write(tmp_path, first), now_of())
    assert shown(files.context) == first.pem
    write(tmp_path, second)
    files.look()
    assert (shown(files.context), files.problem) == (second.pem, "")


def test_half_of_a_pair_is_not_served_and_said(tmp_path: Path) -> None:
    first, second = made(), made()
    certificate, key = write(tmp_path, first)
    files = Files(certificate, key, now_of())
    certificate.write_bytes(second.pem)
    files.look()
    assert shown(files.context) == first.pem
    assert files.problem.startswith(f"the certificate {certificate} with the key {key} cannot be served: ")
    key.unlink()
    files.look()
    assert "No such file" in files.problem
    key.write_bytes(second.key)
    files.look()
    assert (shown(files.context), files.problem) == (second.pem, "")
    write(tmp_path, second)
    files.look()
    assert files.problem == ""


def test_files_that_cannot_be_served_at_first_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCertificate, match="No such file"):
        Files(tmp_path / "absent", tmp_path / "absent", now_of())


@pytest.mark.parametrize("damage", [b"", b"-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n", b"\x00" * 64])
@pytest.mark.parametrize("part", [0, 1])
def test_files_that_are_damaged_leave_what_is_served(tmp_path: Path, damage: bytes, part: int) -> None:
    first = made()
    paths = write(tmp_path, first)
    files = Files(*paths, now_of())
    paths[part].write_bytes(damage)
    files.look()
    assert (shown(files.context), files.ends_at) == (first.pem, first.ends_at.replace(microsecond=0))
    assert "cannot be served" in files.problem
    write(tmp_path, first)
    files.look()
    assert files.problem == ""


def test_one_that_has_ended_does_not_replace_one_that_is_valid(tmp_path: Path) -> None:
    ended, valid = make(("127.0.0.1",), dt.datetime.now(dt.UTC) - VALID_FOR - dt.timedelta(days=1)), made()
    files = Files(*write(tmp_path, valid), now_of())
    write(tmp_path, ended)
    files.look()
    assert shown(files.context) == valid.pem
    assert "is not served, since it ended at" in files.problem


def test_what_is_served_and_has_ended_is_said_and_what_comes_then_is_served(tmp_path: Path) -> None:
    first, later = made(), [dt.timedelta()]
    files = Files(*write(tmp_path, first), lambda: dt.datetime.now(dt.UTC) + later[0])
    assert files.problem == ""
    later[0] = VALID_FOR + dt.timedelta(seconds=1)
    files.look()
    assert shown(files.context) == first.pem
    assert files.problem.endswith("clients refuse it")
    fresh = make(("127.0.0.1",), dt.datetime.now(dt.UTC) + later[0])
    write(tmp_path, fresh)
    files.look()
    assert (shown(files.context), files.problem) == (fresh.pem, "")


def test_one_that_has_ended_is_served_at_first_and_said(tmp_path: Path) -> None:
    ended = make(("127.0.0.1",), dt.datetime.now(dt.UTC) - VALID_FOR - dt.timedelta(days=1))
    files = Files(*write(tmp_path, ended), now_of())
    assert shown(files.context) == ended.pem
    assert files.problem.endswith("clients refuse it")


class ConfigMaps:
    """Stands for an API server that has one ConfigMap. ``there`` is what it holds, None for no ConfigMap."""

    def __init__(self) -> None:
        self.there: dict[str, str] | None = {}
        self.version = 1
        self.conflicts = 0

    async def request(self, method: str, path: str, body: bytes | None = None, **_: object) -> object:
        assert path == f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
        if self.there is None:
            return Response(404, b'{"reason": "NotFound", "message": "configmaps \\"treadle-ca\\" not found"}')
        if method == "GET":
            found = {"metadata": {"resourceVersion": str(self.version)}, **({"data": self.there} if self.there else {})}
            return Response(200, json.encode(found))
        test, put = json.decode(body or b"")
        if self.conflicts or test != {"op": "test", "path": "/metadata/resourceVersion", "value": str(self.version)}:
            self.conflicts -= 1
            self.version += 1
            return Response(422, b"{}")
        self.version += 1
        self.there = put["value"] if put["path"] == "/data" else {**self.there, put["path"].rpartition("/")[2]: put["value"]}
        return Response(200, b"{}")


def ours(maps: ConfigMaps, now: list[dt.datetime]) -> SelfSigned:
    options = TlsOptions(hosts=("127.0.0.1",), config_map=NAME, namespace=NAMESPACE)
    return SelfSigned(maps, options, lambda: now[0])  # type: ignore[arg-type]


async def test_a_certificate_of_our_own_is_published_beside_those_of_other_copies() -> None:
    maps, now = ConfigMaps(), [BEGUN]
    one, other = ours(maps, now), ours(maps, now)
    await one.look()
    await other.look()
    assert maps.there is not None
    for each in (one, other):
        assert shown(each.context).strip() in maps.there["ca.crt"].encode()
        assert each.problem == ""
    before = maps.version
    await one.look()
    assert maps.version == before, "what stands there is not written again"
    maps.there = {}
    await one.look()
    assert maps.there, "it is put back where somebody has emptied it"


async def test_a_fresh_one_is_known_for_a_while_before_it_is_served() -> None:
    maps, now = ConfigMaps(), [BEGUN]
    one = ours(maps, now)
    await one.look()
    first = shown(one.context)
    now[0] += RENEWED_AFTER
    await one.look()
    assert maps.there is not None
    bundle = maps.there["ca.crt"].encode()
    assert bundle.count(b"BEGIN CERTIFICATE") == 2
    assert shown(one.context) == first
    now[0] += KNOWN_BEFORE - dt.timedelta(seconds=1)
    await one.look()
    assert shown(one.context) == first
    now[0] += dt.timedelta(seconds=1)
    await one.look()
    second = shown(one.context)
    assert second != first
    assert second in bundle
    assert RENEWED_AFTER + KNOWN_BEFORE < VALID_FOR


async def test_where_it_cannot_be_published_the_old_one_is_served_to_its_end_and_it_is_said() -> None:
    maps, now = ConfigMaps(), [BEGUN]
    one = ours(maps, now)
    await one.look()
    first, maps.there = shown(one.context), None
    now[0] += VALID_FOR - dt.timedelta(minutes=1)
    await one.look()
    assert shown(one.context) == first
    assert one.problem.startswith(f"ConfigMap {NAMESPACE}/{NAME}: 404")
    now[0] += dt.timedelta(minutes=1)
    await one.look()
    assert shown(one.context) != first


async def test_what_others_write_at_the_same_time_is_read_again() -> None:
    maps = ConfigMaps()
    maps.conflicts = 2
    certificate = made()
    assert await publish(maps, NAMESPACE, NAME, certificate, dt.datetime.now(dt.UTC))  # type: ignore[arg-type]
    assert maps.there == {"ca.crt": certificate.pem.decode()}
    trusting(maps.there["ca.crt"].encode())


# -- by what copies trust each other


def trusts(trust: Trust, served: ssl.SSLContext) -> bool:
    """Whether a client with that trust takes what a server shows, in memory."""
    assert trust.tls is not None
    sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.tls.wrap_bio(received, sent, server_hostname=trust.name)
    server = served.wrap_bio(sent, received, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError:
            return False
    return True


async def test_copies_that_serve_the_same_files_trust_each_other_by_them(tmp_path: Path) -> None:
    ours, another = made("10.0.0.1", "treadle.ns.svc"), made("10.0.0.1", "treadle.ns.svc")
    paths = write(tmp_path, ours)
    one, other = Files(*paths, now_of()), Files(*paths, now_of())
    trust = await one.trust(False)
    assert (trust.name, trusts(trust, other.context)) == ("treadle.ns.svc", True)
    write(tmp_path, another)
    other.look()
    assert not trusts(await one.trust(False), other.context), "it has read the files before they changed"
    assert trusts(await one.trust(True), other.context)


async def test_what_is_trusted_is_made_out_once_for_the_same_files(tmp_path: Path) -> None:
    ours, another = made("treadle.ns.svc"), made("treadle.ns.svc")
    one = Files(*write(tmp_path, ours), now_of())
    trust = await one.trust(False)
    assert await one.trust(False) is trust, "connections are kept by it"
    assert await one.trust(True) is trust
    write(tmp_path, another)
    assert await one.trust(False) is trust
    assert await one.trust(True) is not trust


async def test_what_an_authority_signed_next_is_trusted_under_its_name_alone(tmp_path: Path) -> None:
    issuer = authority()
    now, later, elsewhere = (issuer(name) for name in ("*.ns.svc", "*.ns.svc", "elsewhere.example"))
    one = Files(*write(tmp_path, now), now_of())
    served = [Files(*write(folder_in(tmp_path, str(number)), each), now_of()) for number, each in enumerate((later, elsewhere))]
    trust = await one.trust(False)
    assert [trusts(trust, each.context) for each in served] == [True, False]


async def test_a_certificate_without_what_signed_it_is_trusted_itself(tmp_path: Path) -> None:
    issued = authority()("treadle.ns.svc")
    end = b"-----END CERTIFICATE-----\n"
    alone = issued._replace(pem=issued.pem.partition(end)[0] + end)
    paths = write(tmp_path, alone)
    one, other = Files(*paths, now_of()), Files(*paths, now_of())
    assert trusts(await one.trust(False), other.context)


async def test_without_a_name_or_a_config_map_nobody_is_trusted(tmp_path: Path) -> None:
    nameless = authority()("")
    with pytest.raises(Untrusted, match="has no name by which"):
        await Files(*write(tmp_path, nameless), now_of()).trust(False)
    with pytest.raises(Untrusted, match="--tls-config-map"):
        await SelfSigned(ConfigMaps(), TlsOptions(hosts=("h",)), now_of()).trust(False)  # type: ignore[arg-type]


async def test_copies_that_make_their_own_trust_what_stands_in_the_config_map_and_look_again_where_one_is_not_there() -> None:
    maps, now = ConfigMaps(), [dt.datetime.now(dt.UTC)]
    one, other = ours(maps, now), ours(maps, now)
    await one.look()
    assert not trusts(await one.trust(False), other.context)
    await other.look()
    assert not trusts(await one.trust(True), other.context), "it was read a moment ago"
    now[0] += TRUSTED_AGAIN_AFTER
    assert not trusts(await one.trust(False), other.context)
    assert trusts(await one.trust(True), other.context)
    trust = await one.trust(False)
    now[0] += TRUSTED_FOR
    assert await one.trust(False) is trust, "connections are kept by it"
    maps.there = {"ca.crt": made().pem.decode()}
    now[0] += TRUSTED_FOR
    assert not trusts(await one.trust(False), other.context), "what does not stand there any more is trusted no longer"
    maps.there = {}
    now[0] += TRUSTED_FOR
    with pytest.raises(Untrusted, match="no certificate is in it"):
        await one.trust(False)  # not the authorities of the system
    maps.there = None
    now[0] += TRUSTED_FOR
    with pytest.raises(Untrusted, match=f"ConfigMap {NAMESPACE}/{NAME}: .*not found"):
        await one.trust(False)


async def test_who_waits_for_what_cannot_be_read_is_told_so_by_the_first_try_for_a_moment() -> None:
    maps, now = ConfigMaps(), [dt.datetime.now(dt.UTC)]
    one, tries, read = ours(maps, now), 0, maps.request

    async def request(*arguments: Any, **more: Any) -> object:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0)
        return await read(*arguments, **more)

    maps.request, maps.there = request, None  # type: ignore[method-assign]
    found = await asyncio.gather(*(one.trust(False) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [Untrusted] * 3
    assert tries == 1
    maps.there = {"ca.crt": made().pem.decode()}
    now[0] += TRUSTED_AGAIN_AFTER
    assert (await one.trust(False)).name
    assert tries == 2
