"""``treadle run``: serve a cluster."""

import asyncio
import logging
import re
import signal
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, NoReturn

import uvloop
from cyclopts import Parameter
from msgspec import Meta

from treadle.api.identity import Source
from treadle.api.opportunistic import URL, URL_TEXT
from treadle.core.model import DefaultAccess
from treadle.kube import auth
from treadle.kube.errors import CredentialsError
from treadle.runtime.admission import WebhookOptions
from treadle.runtime.doors import CannotListen, listen_address
from treadle.runtime.policies import PolicyUnusable, load_policies
from treadle.runtime.service import Options, running
from treadle.runtime.tls import BadCertificate, TlsOptions
from treadle.usage.credentials import Credentials

LEAST_BINDS: Final = 1
MORE_DAYS_THAN: Final = 0
"""Bounds of options, which the schema of the chart's values has from their annotations."""


def run(
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    name: str = "treadle",
    listen: str = "0.0.0.0:8080",
    probes_listen: str = "0.0.0.0:8081",
    tls_cert_file: Path | None = None,
    tls_private_key_file: Path | None = None,
    tls_self_signed: Annotated[bool, Parameter(negative="")] = False,
    tls_host: tuple[str, ...] = (),
    tls_config_map: str = "",
    anonymous_metrics: Annotated[bool, Parameter(negative="")] = False,
    leader_elect: bool = False,
    advertise_address: str = "",
    namespace: str = "",
    binds_in_flight: Annotated[int, Meta(ge=LEAST_BINDS)] = 64,
    history: Annotated[str, Parameter(env_var="TREADLE_HISTORY")] = "",
    history_days: Annotated[float, Parameter(env_var="TREADLE_HISTORY_DAYS"), Meta(gt=MORE_DAYS_THAN)] = 90.0,
    eta: bool = False,
    user_source: Source = Source.NAMESPACE,
    default_access: DefaultAccess = DefaultAccess.OPEN,
    publish_administrators: str = "",
    webhook_listen: str = "",
    webhook_name: str = "",
    webhook_stamps: str = "",
    webhook_host: str = "",
    prometheus_credentials: Path | None = None,
    prometheus_address: str = "",
    rest: Annotated[bool, Parameter(negative="")] = False,
    page: Annotated[bool, Parameter(negative="")] = False,
    rest_audience: str = "",
    queue_changes: str = "",
    log_level: Annotated[str, Parameter(help="debug, info, warning or error.")] = "info",
) -> None:
    """Schedule pods of a cluster until SIGTERM; what is in flight then is finished first.

    Without options it uses the service account of its pod, or the usual kubeconfig outside of one. It applies nothing to the
    cluster: install the CustomResourceDefinitions first (`kubectl apply -f crds/`).

    Parameters
    ----------
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    name:
        The Scheduler object to serve, and the schedulerName that pods ask for.
    listen:
        Where to serve /metrics, /status and what else is asked for, as host:port, to those who have a token and the right; empty for nowhere.
    probes_listen:
        Where to serve /healthz and /readyz, which need no token and say little, as host:port; empty for nowhere.
    tls_cert_file:
        A PEM file with the certificate of --listen and those that signed it; it is read again when it changes.
    tls_private_key_file:
        The PEM file of its key.
    tls_self_signed:
        Make that certificate instead, and a new one before it ends.
    tls_host:
        A name or an address that such a certificate is for, such as treadle.treadle-system.svc; may be given several times.
    tls_config_map:
        The ConfigMap whose key ca.crt tells clients such certificates, in the namespace of --namespace; nowhere if absent.
    anonymous_metrics:
        Tell /metrics and /status to anybody, without a token.
    leader_elect:
        Hold a Lease while scheduling, so that several replicas can run.
    advertise_address:
        The IP address at which other replicas reach the port of --listen, such as that of the pod: it is told in the Lease, and those who stand by pass on to there what --rest and --page serve, while this one leads. If absent they answer 503 and name the leader.
    namespace:
        The namespace of that Lease; our own if absent.
    binds_in_flight:
        How many binds may be under way at the most.
    history:
        Where to keep the history: sqlite:////FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE; nowhere if absent.
    history_days:
        For how many days it is kept.
    eta:
        Forecast when applications that wait will start and end, in a process of its own.
    user_source:
        What says whose pods, Applications and Reservations are: their namespace alone (namespace), whom the API server's admission has stamped on them (stamps, with the policies of the chart), or their own annotations, which anybody may write (claims).
    default_access:
        Whom queues let in while no access list of the root says it (submitAcl, administerAcl): everybody (open), each namespace to its own queue and the default one (namespace), or nobody whom a list does not name (closed).
    publish_administrators:
        An AdministratorList of --namespace in which it is kept who may administer queues, for the policies of the chart that judge edits of Queues; none if absent.
    webhook_listen:
        Where to serve the webhooks, one that rewrites opportunistic pods (/opportunistic) and one that stamps who made an object (/stamp-identity), as host:port; nowhere if absent.
    webhook_name:
        The MutatingWebhookConfiguration for opportunistic pods, whose caBundle is kept; none if absent.
    webhook_stamps:
        The MutatingWebhookConfiguration for stamps, whose caBundle is kept as well; a copy is ready once it is in there. None if absent.
    webhook_host:
        The host by which the API server calls the webhooks, such as treadle-webhook.treadle-system.svc.
    prometheus_credentials:
        A folder with the file token, or the files username and password, for a Prometheus (spec.opportunistic.usage.prometheus); none are sent if absent.
    prometheus_address:
        The address that those are for, such as https://prometheus.monitoring:9090; no other server is sent them.
    rest:
        Serve the REST at the address of --listen: what there is, why it waits and what would be if below /api/v1, the ResourceManager's web services and its REST of reservations below /ws/v1/cluster, and that of the resource estimator below /resourceestimator.
    page:
        Serve the page at the address of --listen, below / and /static, and what it shows, below /api/v1: a stream, pods, preemptions, plans and the history. The page asks for a token; it shows what its owner may see. With --rest it previews changes of queues, and with --queue-changes it makes them.
    rest_audience:
        The audience that the tokens of users of --rest and --page must have; that of the API server if absent.
    queue_changes:
        A ConfigMap of --namespace with the log of changes of queues: serve also YARN's REST of the scheduler's configuration, below /ws/v1/cluster/scheduler-conf, and our own, below /api/v1/queue-changes; neither if absent.
    """
    level = getattr(logging, log_level.upper(), None)
    if not isinstance(level, int):
        _refuse(2, f"--log-level: {log_level!r} is not known; allowed are debug, info, warning, error")
    if binds_in_flight < LEAST_BINDS:
        _refuse(2, f"--binds-in-flight: {binds_in_flight} is too few; at least 1 is needed to bind anything")
    _check_doors(listen, probes_listen, anonymous_metrics=anonymous_metrics)
    if rest and not listen:
        _refuse(2, "--rest: is served at the address of --listen, which is empty")
    if page and not listen:
        _refuse(2, "--page: is served at the address of --listen, which is empty")
    if rest_audience and not rest and not page:
        _refuse(2, f"--rest-audience: {rest_audience!r} is for the users of --rest and --page, of which none is given")
    if queue_changes and not rest:
        _refuse(2, f"--queue-changes: {queue_changes!r} is for changes by --rest, which is not given")
    if queue_changes and rest_audience:
        _refuse(
            2,
            f"--rest-audience: {rest_audience!r}: queues are changed with the tokens of users (--queue-changes), which have to be for the API server itself",
        )
    tls = _tls(listen, tls_cert_file, tls_private_key_file, tls_host, tls_config_map, self_signed=tls_self_signed)
    _check_advertised(advertise_address, listen, tls, leader_elect=leader_elect, told=rest or page)
    _check_history(history, history_days)
    hook = _webhook(webhook_listen, webhook_name, webhook_stamps, webhook_host)
    credentials = _credentials(prometheus_credentials, prometheus_address)
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("kopf").setLevel(max(level, logging.WARNING))
    try:
        load_policies()
    except PolicyUnusable as error:
        _refuse(1, str(error))
    try:
        server = auth.load(str(kubeconfig) if kubeconfig else None, context)
    except CredentialsError as error:
        _refuse(1, str(error))
    options = Options(
        name=name,
        listen=listen,
        probes=probes_listen,
        tls=tls,
        anonymous_metrics=anonymous_metrics,
        leader_elect=leader_elect,
        advertise=advertise_address,
        namespace=namespace,
        binds_in_flight=binds_in_flight,
        eta=eta,
        users=user_source,
        default_access=default_access,
        administrators=publish_administrators,
        webhook=hook,
        history=history,
        history_days=history_days,
        prometheus=credentials,
        rest=rest,
        page=page,
        rest_audience=rest_audience,
        queue_changes=queue_changes,
    )
    try:
        uvloop.run(_serve(server, options))
    except (CannotListen, BadCertificate) as error:
        _refuse(1, str(error))


def _webhook(listen: str, name: str, stamps: str, host: str) -> WebhookOptions | None:
    if not listen:
        if stamps:
            _refuse(2, f"--webhook-stamps: {stamps!r} names what is served at --webhook-listen, which is not given")
        return None
    try:
        at, port = listen_address(listen)
    except ValueError as error:
        _refuse(2, f"--webhook-listen: {error}")
    if not host or not (name or stamps):
        _refuse(
            2,
            f"--webhook-listen: {listen!r} needs --webhook-host and --webhook-name as well; --webhook-host is the name in its certificate, "
            "and --webhook-stamps may stand for --webhook-name",
        )
    return WebhookOptions(at, port, (host,), name, stamps)


def _check_doors(listen: str, probes: str, *, anonymous_metrics: bool) -> None:
    for option, where in (("listen", listen), ("probes-listen", probes)):
        try:
            if where:
                listen_address(where)
        except ValueError as error:
            _refuse(2, f"--{option}: {error}")
    if listen and listen == probes and not listen.endswith(":0"):
        _refuse(2, f"--probes-listen: {probes!r} is the address of --listen; probes have a port of their own")
    if anonymous_metrics and not listen:
        _refuse(2, "--anonymous-metrics: metrics are served at the address of --listen, which is empty")


def _tls(
    listen: str, certificate: Path | None, key: Path | None, hosts: tuple[str, ...], config_map: str, *, self_signed: bool
) -> TlsOptions | None:
    files = certificate is not None or key is not None
    if (files or self_signed) and not listen:
        _refuse(2, "--tls-cert-file and --tls-self-signed: are for the address of --listen, which is empty")
    if files and self_signed:
        _refuse(2, "--tls-self-signed: makes a certificate, and --tls-cert-file has one; give one of them")
    if files and (certificate is None or key is None):
        _refuse(2, "--tls-cert-file and --tls-private-key-file are required together")
    if (hosts or config_map) and not self_signed:
        _refuse(2, "--tls-host and --tls-config-map: are for the certificate that --tls-self-signed makes, which is not given")
    if self_signed and not hosts:
        _refuse(2, "--tls-self-signed: needs --tls-host, the name in its certificate")
    if not files and not self_signed:
        return None
    return TlsOptions(certificate, key, hosts, config_map)


def _check_advertised(address: str, listen: str, tls: TlsOptions | None, *, leader_elect: bool, told: bool) -> None:
    if not address:
        return
    try:
        found = ip_address(address)
        usable = not found.is_unspecified and not found.is_multicast and "%" not in address  # a zone is of this machine
    except ValueError:
        usable = False
    if not usable:
        _refuse(2, f"--advertise-address: {address!r} is not an IP address at which others reach us, such as 10.0.0.3")
    if not listen or not leader_elect or not told:
        _refuse(
            2,
            f"--advertise-address: {address!r} is told to other replicas (--leader-elect), which pass on what --rest and --page serve at --listen; one of these is not given",
        )
    if tls is not None and tls.certificate is None and not tls.config_map:
        _refuse(
            2,
            "--advertise-address: other replicas know a certificate that --tls-self-signed makes by --tls-config-map, which is not given",
        )


def _check_history(history: str, days: float) -> None:
    if not days > MORE_DAYS_THAN:
        _refuse(2, f"--history-days: {days:g} is too few; more than 0 are needed")
    if history:
        from treadle.history.store import BadUrl, url_of

        try:
            url_of(history)
        except BadUrl as error:
            _refuse(2, f"--history: {error}")


def _credentials(folder: Path | None, address: str) -> Credentials | None:
    if folder is None and not address:
        return None
    if folder is None or not address:
        _refuse(2, "--prometheus-credentials and --prometheus-address are required together")
    if not re.fullmatch(URL, address):
        _refuse(2, f"--prometheus-address: {address!r} {URL_TEXT}")
    return Credentials(folder, address)


def _refuse(status: int, why: str) -> NoReturn:
    print(f"treadle: {why}", file=sys.stderr)
    raise SystemExit(status) from None


async def _serve(access: auth.Access, options: Options) -> None:
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    async with running(access, options):
        await ending.wait()
        logging.getLogger(__name__).info("ending: no further decisions, finishing what is in flight")
