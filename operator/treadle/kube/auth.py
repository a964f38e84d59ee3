"""Where the API server is and how to be let in: a kubeconfig (exec plugins included) or a pod's service account.

The kubeconfig is read by the official client, which knows every kind of credential there is; it is imported only for that.
"""

import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle.kube.errors import CredentialsError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_LIFE = 60.0
"""Seconds for which a service account's token file is trusted; the kubelet replaces it long before it expires."""


@dataclass(slots=True)
class Access:
    """What a client needs: the server's URL, TLS, and the headers of the moment.

    ``renew`` fetches fresh credentials; it may block (an exec plugin is a process) and is called from a thread.
    """

    server: str
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    headers: Callable[[], dict[str, str]] = field(default=dict)
    renew: Callable[[], None] = field(default=lambda: None)
    namespace: str = "default"
    ca_file: str | None = None
    client_cert: tuple[str, str] | None = None
    insecure: bool = False


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

    def headers() -> dict[str, str]:
        nonlocal cached
        now = time.monotonic()
        if now - cached[0] > TOKEN_LIFE:
            cached = (now, {"Authorization": f"Bearer {token.read_text().strip()}"})
        return cached[1]

    def renew() -> None:
        nonlocal cached
        cached = (float("-inf"), {})

    namespace = (folder / "namespace").read_text().strip() if (folder / "namespace").exists() else "default"
    shown = f"[{host}]" if ":" in host else host
    try:
        tls = ssl.create_default_context(cafile=str(ca))
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(f"{ca}: {error}") from error
    return Access(f"https://{shown}:{port}", tls, None, headers, renew, namespace, str(ca))


def from_kubeconfig(path: str | None, context: str | None = None) -> Access:
    """Read a kubeconfig (the usual place if ``path`` is None). Raises ``CredentialsError``."""
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, kube_config

    configuration = Configuration()
    where = path or kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    read: Any = kube_config  # the module is not annotated
    try:
        read.load_kube_config(config_file=path, context=context, client_configuration=configuration, persist_config=False)
        contexts, active = read.list_kube_config_contexts(config_file=path)
    except (ConfigException, OSError, ValueError, KeyError, TypeError) as error:
        raise CredentialsError(f"kubeconfig {where}: {error}") from error
    chosen = next((entry for entry in contexts if entry["name"] == context), active)

    def headers() -> dict[str, str]:
        token = configuration.get_api_key_with_prefix("BearerToken") or configuration.api_key.get("authorization")
        if token:
            return {"Authorization": token if token.startswith(("Bearer ", "Basic ")) else f"Bearer {token}"}
        if configuration.username:
            return {"Authorization": str(configuration.get_basic_auth_token())}
        return {}

    def renew() -> None:
        try:
            read.load_kube_config(config_file=path, context=context, client_configuration=configuration, persist_config=False)
        except (ConfigException, OSError, ValueError, KeyError, TypeError) as error:
            raise CredentialsError(f"kubeconfig {where}: {error}") from error

    return Access(
        str(configuration.host).rstrip("/"),
        _tls(configuration),
        configuration.tls_server_name or None,
        headers,
        renew,
        str((chosen or {}).get("context", {}).get("namespace") or "default"),
        configuration.ssl_ca_cert,
        (configuration.cert_file, configuration.key_file) if configuration.cert_file and configuration.key_file else None,
        insecure=not configuration.verify_ssl,
    )


def _tls(configuration: object) -> ssl.SSLContext | None:
    host = str(getattr(configuration, "host", ""))
    if not host.startswith("https:"):
        return None
    try:
        tls = ssl.create_default_context(cafile=getattr(configuration, "ssl_ca_cert", None))
        if not getattr(configuration, "verify_ssl", True):
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        if certificate := getattr(configuration, "cert_file", None):
            tls.load_cert_chain(certificate, getattr(configuration, "key_file", None))
    except (OSError, ssl.SSLError) as error:
        raise CredentialsError(f"TLS files of {host}: {error}") from error
    return tls
