"""Credentials: every kind of kubeconfig that clusters hand out, a pod's service account, and files that are no good."""

from __future__ import annotations

import base64
import json
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from kube.access import answering
from treadle.kube import auth
from treadle.kube.auth import Access, from_kubeconfig, from_service_account
from treadle.kube.errors import CredentialsError, Unreachable
from treadle.kube.transport import Client

HERE = Path(__file__).parent / "certificates"
CERTIFICATE, KEY = HERE / "server.pem", HERE / "server-key.pem"
"""Signed by itself, for 127.0.0.1 and localhost, and without the key identifiers that strict checkers want."""


@asynccontextmanager
async def secure_server(*, ask_for_certificate: bool = False) -> AsyncIterator[str]:
    """An HTTPS server that answers with who asked: the Authorization header and the subject of the client's certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE, KEY)
    if ask_for_certificate:
        context.load_verify_locations(CERTIFICATE)
        context.verify_mode = ssl.CERT_REQUIRED

    async def answer(request: web.BaseRequest) -> web.Response:
        peer = request.get_extra_info("peercert") or {}
        subject = dict(pair for one in peer.get("subject", ()) for pair in one)
        return web.json_response({"header": request.headers.get("Authorization"), "name": subject.get("commonName")})

    async with answering(answer, context) as url:
        yield url


async def ask(access: Access) -> dict[str, Any]:
    async with Client(access) as client:
        return (await client.request("GET", "/whoami")).json()


def kubeconfig(
    folder: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None, server: str = "https://127.0.0.1:1", **context: Any
) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": server, **({"certificate-authority": str(CERTIFICATE)} if cluster is None else cluster)},
            }
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", **context}},
            {"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "elsewhere"}},
        ],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def plugin(folder: Path, status: dict[str, Any]) -> dict[str, Any]:
    """A user whose credentials come from a program; every run adds a line to ``runs`` and reads ``answer.json``."""
    script = folder / "plugin.py"
    (folder / "answer.json").write_text(
        json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})
    )
    script.write_text(
        f"#!{sys.executable}\nimport pathlib\nhere = pathlib.Path({str(folder)!r})\n"
        "(here / 'runs').open('a').write('x')\nprint((here / 'answer.json').read_text())\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script), "interactiveMode": "Never"}}


def encoded(path: str) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode()


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


# -- kubeconfigs


async def test_a_token_is_sent_as_a_bearer_over_tls_that_is_checked(tmp_path: Path) -> None:
    async with secure_server() as url:
        assert (await ask(from_kubeconfig(kubeconfig(tmp_path, {"token": "abc"}, server=url))))["header"] == "Bearer abc"


async def test_a_token_may_be_in_a_file_of_its_own_and_is_read_again_when_renewed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    access = from_kubeconfig(kubeconfig(tmp_path, {"tokenFile": str(tmp_path / "token")}))
    assert access.headers() == {"Authorization": "Bearer one"}
    (tmp_path / "token").write_text("two")
    access.renew()
    assert access.headers() == {"Authorization": "Bearer two"}


def test_a_name_and_a_password_are_basic_authentication(tmp_path: Path) -> None:
    access = from_kubeconfig(kubeconfig(tmp_path, {"username": "a", "password": "b"}))

    assert access.headers() == {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}


@pytest.mark.parametrize("inline", [False, True])
async def test_a_client_certificate_is_presented(tmp_path: Path, inline: bool) -> None:
    user: dict[str, Any] = {"client-certificate": str(CERTIFICATE), "client-key": str(KEY)}
    if inline:
        user = {f"{name}-data": encoded(path) for name, path in user.items()}
    async with secure_server(ask_for_certificate=True) as url:
        answer = await ask(from_kubeconfig(kubeconfig(tmp_path, user, server=url)))

    assert answer == {"header": None, "name": "treadle test"}


async def test_the_token_of_an_exec_plugin_is_used_and_fetched_again_only_when_renewed(tmp_path: Path) -> None:
    user = plugin(tmp_path, {"token": "first", "expirationTimestamp": "2001-01-01T00:00:00Z"})
    async with secure_server() as url:
        access = from_kubeconfig(kubeconfig(tmp_path, user, server=url))
        for _ in range(3):
            assert (await ask(access))["header"] == "Bearer first"
        assert runs(tmp_path) == 1
        plugin(tmp_path, {"token": "second"})
        access.renew()
        assert (await ask(access))["header"] == "Bearer second"
        assert runs(tmp_path) == 2


async def test_the_certificate_of_an_exec_plugin_is_presented(tmp_path: Path) -> None:
    user = plugin(tmp_path, {"clientCertificateData": CERTIFICATE.read_text(), "clientKeyData": KEY.read_text()})
    async with secure_server(ask_for_certificate=True) as url:
        access = from_kubeconfig(kubeconfig(tmp_path, user, server=url))
        assert (await ask(access))["name"] == "treadle test"
        access.renew()
        assert (await ask(access))["name"] == "treadle test"


@pytest.mark.parametrize("user", [{"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}, None])
def test_an_exec_plugin_that_gives_nothing_is_an_error_and_not_an_anonymous_user(
    tmp_path: Path, user: dict[str, Any] | None
) -> None:
    entry = {"exec": user} if user else plugin(tmp_path, {})
    path = kubeconfig(tmp_path, entry)

    with pytest.raises(CredentialsError, match=rf"{path}: the exec plugin .* of user u gave no credentials"):
        from_kubeconfig(path)


def test_credentials_that_cannot_be_renewed_leave_the_last_ones(tmp_path: Path) -> None:
    access = from_kubeconfig(kubeconfig(tmp_path, plugin(tmp_path, {"token": "first"})))
    (tmp_path / "answer.json").write_text("on fire")

    with pytest.raises(CredentialsError, match="gave no credentials"):
        access.renew()
    assert access.headers() == {"Authorization": "Bearer first"}


async def test_a_server_whose_certificate_nobody_vouches_for_is_not_talked_to(tmp_path: Path) -> None:
    async with secure_server() as url:
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await ask(from_kubeconfig(kubeconfig(tmp_path, {"token": "abc"}, cluster={}, server=url)))


async def test_unless_the_kubeconfig_says_not_to_look(tmp_path: Path) -> None:
    async with secure_server() as url:
        access = from_kubeconfig(kubeconfig(tmp_path, {"token": "abc"}, cluster={"insecure-skip-tls-verify": True}, server=url))
        assert (await ask(access))["header"] == "Bearer abc"


async def test_the_name_in_the_certificate_may_be_another_than_in_the_url(tmp_path: Path) -> None:
    cluster = {"certificate-authority": str(CERTIFICATE), "tls-server-name": "localhost"}
    async with secure_server() as url:
        access = from_kubeconfig(kubeconfig(tmp_path, {"token": "abc"}, cluster=cluster, server=url))
        assert access.server_hostname == "localhost"
        assert (await ask(access))["header"] == "Bearer abc"


def test_certificates_are_checked_as_other_clients_of_kubernetes_do(tmp_path: Path) -> None:
    tls = from_kubeconfig(kubeconfig(tmp_path, {"token": "abc"})).tls

    assert tls is not None
    assert not tls.verify_flags & ssl.VERIFY_X509_STRICT
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_plain_server_has_no_tls_and_an_anonymous_user_no_header(tmp_path: Path) -> None:
    access = from_kubeconfig(kubeconfig(tmp_path, {}, cluster={}, server="http://127.0.0.1:1/"))

    assert (access.server, access.tls, access.headers()) == ("http://127.0.0.1:1", None, {})


def test_the_namespace_is_the_contexts(tmp_path: Path) -> None:
    assert from_kubeconfig(kubeconfig(tmp_path, {})).namespace == "default"
    assert from_kubeconfig(kubeconfig(tmp_path, {}, namespace="team")).namespace == "team"
    assert from_kubeconfig(kubeconfig(tmp_path, {}), "there").namespace == "elsewhere"


# -- files that are no good: one clear error that names the file


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: [",
        "[]",
        "5",
        "just words",
        "{}",
        "clusters: []\nusers: []\ncontexts: []\ncurrent-context: x\n",
        "current-context: 5\n",
        "clusters: 7\n",
        "\x00",
    ],
)
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)

    with pytest.raises(CredentialsError, match=str(path)):
        from_kubeconfig(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"kubeconfig .*/absent: there is no such file"):
        from_kubeconfig(str(tmp_path / "absent"))


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=str(tmp_path)):
        from_kubeconfig(str(tmp_path))


def test_a_context_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="nowhere"):
        from_kubeconfig(kubeconfig(tmp_path, {}), "nowhere")


@pytest.mark.parametrize(
    ("user", "cluster", "named"),
    [
        ({}, {"certificate-authority": "/absent/ca.pem"}, "/absent/ca.pem"),
        ({}, {"certificate-authority": str(KEY)}, "server-key.pem"),
        ({}, {"certificate-authority-data": "not base64!"}, "kubeconfig"),
        ({"client-certificate": "/absent/cert.pem", "client-key": str(KEY)}, None, "/absent/cert.pem"),
        ({"client-certificate": str(KEY), "client-key": str(KEY)}, None, "server-key.pem"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_named(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any] | None, named: str
) -> None:
    with pytest.raises(CredentialsError, match=named):
        from_kubeconfig(kubeconfig(tmp_path, user, cluster))


def test_a_proxy_is_refused_and_not_passed_by(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "t"}, {"proxy-url": "http://proxy:3128"})
    with pytest.raises(CredentialsError, match=r"cluster c has proxy-url 'http://proxy:3128'; .* must be absent"):
        from_kubeconfig(path)


def test_a_context_without_a_user_is_an_anonymous_one(tmp_path: Path) -> None:
    path = Path(kubeconfig(tmp_path, {}))
    config = yaml.safe_load(path.read_text())
    del config["contexts"][0]["context"]["user"]
    path.write_text(yaml.safe_dump(config))

    assert from_kubeconfig(str(path)).headers() == {}


# -- in a pod


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "namespace").write_text("treadle-system\n")
    (tmp_path / "ca.crt").write_bytes(CERTIFICATE.read_bytes())
    return tmp_path


def test_a_pod_uses_its_service_account(account: Path) -> None:
    access = from_service_account(account)

    assert (access.server, access.namespace) == ("https://127.0.0.1:6443", "treadle-system")
    assert access.headers() == {"Authorization": "Bearer first"}
    assert access.tls is not None
    assert not access.tls.verify_flags & ssl.VERIFY_X509_STRICT


def test_an_ipv6_server_stands_in_brackets(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")

    assert from_service_account(account).server == "https://[fd00::1]:6443"


def test_a_rotated_token_is_read_again_after_a_while(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(auth.time, "monotonic", lambda: now)
    access = from_service_account(account)
    (account / "token").write_text("second")
    now += auth.TOKEN_LIFE - 1
    assert access.headers() == {"Authorization": "Bearer first"}
    now += 2
    assert access.headers() == {"Authorization": "Bearer second"}


def test_a_rotated_token_is_read_at_once_when_the_old_one_was_refused(account: Path) -> None:
    access = from_service_account(account)
    (account / "token").write_text("second")
    access.renew()

    assert access.headers() == {"Authorization": "Bearer second"}


def test_a_token_that_is_being_replaced_does_not_interrupt_anything(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(auth.time, "monotonic", lambda: now)
    access = from_service_account(account)
    (account / "token").unlink()
    now += 1000

    assert access.headers() == {"Authorization": "Bearer first"}
    with pytest.raises(CredentialsError, match="token"):
        access.renew()


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_missing_file_of_a_service_account_is_named(account: Path, missing: str) -> None:
    (account / missing).unlink()

    with pytest.raises(CredentialsError, match=missing):
        from_service_account(account)


def test_outside_of_a_cluster_there_is_no_service_account(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")

    with pytest.raises(CredentialsError, match="KUBERNETES_SERVICE_HOST is missing"):
        from_service_account(account)


def test_a_named_kubeconfig_goes_before_the_service_account_and_that_before_nothing(
    account: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(auth, "SERVICE_ACCOUNT", account)
    monkeypatch.setattr(auth.from_service_account, "__defaults__", (account,))

    assert auth.load().namespace == "treadle-system"
    assert auth.load(kubeconfig(tmp_path, {"token": "mine"})).headers() == {"Authorization": "Bearer mine"}
