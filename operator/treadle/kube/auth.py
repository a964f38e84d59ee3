"""Where the API server is and how to be let in: a kubeconfig (exec plugins included) or a pod's service account.

The kubeconfig is read by the official client, which knows every kind of credential there is; it is imported only for that.
"""

import contextlib
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from treadle.kube.errors import CredentialsError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_LIFE = 60.0
"""Seconds for which a service account's token file is trusted; the kubelet replaces it long before it expires."""


@dataclass(slots=True)
class Access:
    """What a client needs: the server's URL, TLS, and the headers of the moment.

    ``headers`` never blocks. ``renew`` fetches fresh credentials or raises ``CredentialsError``; it may block (an exec plugin is
    a process) and is called from a thread.
    """

    server: str
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    headers: Callable[[], dict[str, str]] = field(default=dict)
    renew: Callable[[], None] = field(default=lambda: None)
    namespace: str = "default"
    bare: Callable[[], ssl.SSLContext | None] = field(default=lambda: None)
    """Makes a TLS context without a client certificate: whoever asks with it is nobody but whose token is sent."""


def load(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """Return the access that was asked for: a kubeconfig if named, else the pod's service account, else the usual kubeconfig.

    Raises ``CredentialsError``.
    """
    if (
        kubeconfig is None
        and context is None
        and (SERVICE_ACCOUNT / "token").exists()
        and "KUBERNETES_SERVICE_HOST" in os.environ
    ):
        return from_service_account()
    return from_kubeconfig(kubeconfig, context)


def from_service_account(folder: Path = SERVICE_ACCOUNT) -> Access:
    """Read the mounted service account; the token is read again once a minute, as it is rotated. Raises ``CredentialsError``."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    ca, token = folder / "ca.crt", folder / "token"
    if not host or not token.exists():
        raise CredentialsError(f"no service account: {token} or KUBERNETES_SERVICE_HOST is missing")
    cached: tuple[float, dict[str, str]] = (float("-inf"), {})

    def renew() -> None:
        nonlocal cached
        try:
            cached = (time.monotonic(), {"Authorization": f"Bearer {token.read_text().strip()}"})
        except (OSError, ValueError) as error:
            raise CredentialsError(f"{token}: {error}") from error

    def headers() -> dict[str, str]:
        if time.monotonic() - cached[0] > TOKEN_LIFE:
            with contextlib.suppress(CredentialsError):  # the last token is good for longer than its replacement takes
                renew()
        return cached[1]

    renew()
    namespace = (folder / "namespace").read_text().strip() if (folder / "namespace").exists() else "default"
    shown = f"[{host}]" if ":" in host else host
    try:
        tls = _context(str(ca))
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(f"{ca}: {error}") from error
    return Access(f"https://{shown}:{port}", tls, None, headers, renew, namespace, lambda: _context(str(ca)))


def from_kubeconfig(path: str | None, context: str | None = None) -> Access:
    """Read a kubeconfig (the usual place if ``path`` is None). Raises ``CredentialsError``."""
    configuration, namespace = _read(path, context)
    tls = _tls(configuration)

    def headers() -> dict[str, str]:
        # Not through the client's own look-up: it would run an exec plugin here, in the loop, when a token has expired.
        token = configuration.api_key.get("BearerToken")
        return {"Authorization": str(token)} if token else {}

    def renew() -> None:
        nonlocal configuration
        configuration, _ = _read(path, context)
        if tls is not None:
            _load_certificate(tls, configuration)

    server = str(configuration.host).rstrip("/")
    return Access(server, tls, configuration.tls_server_name or None, headers, renew, namespace, lambda: _bare_tls(configuration))


def _read(path: str | None, context: str | None) -> tuple[Any, str]:
    """Return the client's configuration and the namespace of a context."""
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, kube_config

    configuration: Any = Configuration()
    where = path or kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    read: Any = kube_config  # the module is not annotated
    try:
        merged = read.KubeConfigMerger(where).config
        if merged is None:
            raise CredentialsError(f"kubeconfig {where}: there is no such file")
        loader = read.KubeConfigLoader(config_dict=merged, config_base_path=None, active_context=context)
        loader.load_and_set(configuration)
        chosen = loader.current_context["context"]
        users = [one.value for one in merged.value["users"]]
        clusters = [one.value for one in merged.value["clusters"]]
    except (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise CredentialsError(f"kubeconfig {where}: {str(error) or type(error).__name__}") from error
    user = next((one.get("user") or {} for one in users if one.get("name") == chosen.get("user")), {})
    if "exec" in user and not configuration.api_key.get("BearerToken") and not configuration.cert_file:
        command = (user["exec"] or {}).get("command")
        raise CredentialsError(f"kubeconfig {where}: the exec plugin {command!r} of user {chosen['user']} gave no credentials")
    proxy = next(
        ((one.get("cluster") or {}).get("proxy-url") for one in clusters if one.get("name") == chosen.get("cluster")), None
    )
    if proxy:
        raise CredentialsError(
            f"kubeconfig {where}: cluster {chosen['cluster']} has proxy-url {proxy!r}; requests go to the server directly, so it must be absent"
        )
    return configuration, str(chosen.get("namespace") or "default")


def _tls(configuration: Any) -> ssl.SSLContext | None:
    tls = _bare_tls(configuration)
    if tls is not None:
        _load_certificate(tls, configuration)
    return tls


def _bare_tls(configuration: Any) -> ssl.SSLContext | None:
    """Return a context that trusts the server's authority and has no certificate of ours."""
    host = str(configuration.host)
    if not host.startswith("https:"):
        return None
    try:
        tls = _context(configuration.ssl_ca_cert)
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(f"certificate authority {configuration.ssl_ca_cert} of {host}: {error}") from error
    if not configuration.verify_ssl:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def _context(ca: str | None) -> ssl.SSLContext:
    """Return a context that trusts ``ca``.

    Python 3.13 checks certificates by RFC 5280 to the letter. The self-signed authorities of API servers may lack extensions that
    it wants, and Go, which every other client of theirs is written in, does not insist.
    """
    tls = ssl.create_default_context(cafile=ca)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return tls


def _load_certificate(tls: ssl.SSLContext, configuration: Any) -> None:
    """Present the client certificate of a configuration, if it has one, from the next connection on."""
    if not configuration.cert_file:
        return
    try:
        tls.load_cert_chain(configuration.cert_file, configuration.key_file)
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(f"client certificate {configuration.cert_file}: {error}") from error
