"""``treadle run`` as people start it: clear words when it cannot begin, and a clean end when it is told to."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.treadle_process import Treadle
from kube.access import served, until
from runtime.services import add_nodes, add_pods, node_of
from treadle.cli.run import run
from treadle.fakeapi import FakeApi


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"log_level": "chatty"}, "--log-level: 'chatty' is not known; allowed are debug, info, warning, error"),
        ({"log_level": "logger"}, "--log-level: 'logger' is not known"),
        ({"listen": "8080"}, "--listen: '8080' is not host:port, such as 0.0.0.0:8080"),
        ({"prometheus_address": "https://x"}, "--prometheus-credentials and --prometheus-address are required together"),
        (
            {"prometheus_credentials": Path("x"), "prometheus_address": "https://user@x"},
            "--prometheus-address: 'https://user@x' must be the address of a server",
        ),
        ({"webhook_listen": "9443"}, "--webhook-listen: '9443' is not host:port"),
        ({"webhook_listen": ":9443"}, "--webhook-listen: ':9443' needs --webhook-host and --webhook-name as well"),
        (
            {"webhook_listen": ":9443", "webhook_host": "h"},
            "--webhook-listen: ':9443' needs --webhook-host and --webhook-name as well; --webhook-host is the name in its certificate, and --webhook-stamps may stand for --webhook-name",
        ),
        ({"webhook_stamps": "x"}, "--webhook-stamps: 'x' names what is served at --webhook-listen, which is not given"),
        (
            {"history": "mysql://u:p@h/d"},
            "--history: 'mysql://u:***@h/d' is not the URL of a history; allowed are sqlite:////FILE and postgresql://",
        ),
        ({"history_days": 0}, "--history-days: 0 is too few; more than 0 are needed"),
        ({"binds_in_flight": 0}, "--binds-in-flight: 0 is too few; at least 1"),
        ({"probes_listen": "8081"}, "--probes-listen: '8081' is not host:port, such as 0.0.0.0:8080"),
        (
            {"probes_listen": "0.0.0.0:8080"},
            "--probes-listen: '0.0.0.0:8080' is the address of --listen; probes have a port of their own",
        ),
        (
            {"anonymous_metrics": True, "listen": ""},
            "--anonymous-metrics: metrics are served at the address of --listen, which is empty",
        ),
        ({"tls_cert_file": Path("x")}, "--tls-cert-file and --tls-private-key-file are required together"),
        ({"tls_self_signed": True}, "--tls-self-signed: needs --tls-host, the name in its certificate"),
        ({"tls_host": ("x",)}, "--tls-host and --tls-config-map: are for the certificate that --tls-self-signed makes"),
        (
            {"tls_self_signed": True, "tls_cert_file": Path("x")},
            "--tls-self-signed: makes a certificate, and --tls-cert-file has one",
        ),
        ({"tls_self_signed": True, "listen": ""}, "--tls-cert-file and --tls-self-signed: are for the address of --listen"),
        ({"rest": True, "listen": ""}, "--rest: is served at the address of --listen, which is empty"),
        ({"rest_audience": "x"}, "--rest-audience: 'x' is for the users of --rest and --page, of which none is given"),
        ({"page": True, "listen": ""}, "--page: is served at the address of --listen, which is empty"),
        ({"advertise_address": "treadle-0"}, "--advertise-address: 'treadle-0' is not an IP address at which others reach us"),
        ({"advertise_address": "0.0.0.0"}, "--advertise-address: '0.0.0.0' is not an IP address at which others reach us"),
        ({"advertise_address": "ff02::1"}, "--advertise-address: 'ff02::1' is not an IP address at which others reach us"),
        ({"advertise_address": "fe80::1%eth0"}, "--advertise-address: 'fe80::1%eth0' is not an IP address at which others"),
        (
            {"advertise_address": "10.0.0.3", "page": True},
            "--advertise-address: '10.0.0.3' is told to other replicas (--leader-elect), which pass on what --rest and --page serve at --listen",
        ),
        ({"advertise_address": "fd00::3", "leader_elect": True}, "--advertise-address: 'fd00::3' is told to other replicas"),
        (
            {"advertise_address": "10.0.0.3", "leader_elect": True, "rest": True, "tls_self_signed": True, "tls_host": ("h",)},
            "--advertise-address: other replicas know a certificate that --tls-self-signed makes by --tls-config-map",
        ),
    ],
)
def test_an_option_that_makes_no_sense_is_named_with_what_is_allowed(
    arguments: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        run(**arguments)  # type: ignore[arg-type]

    assert refused.value.code == 2
    assert words in capsys.readouterr().err


def test_a_kubeconfig_that_is_not_there_is_one_line_and_exit_status_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refused:
        run(kubeconfig=tmp_path / "absent")

    assert refused.value.code == 1
    assert capsys.readouterr().err == f"treadle: kubeconfig {tmp_path}/absent: there is no such file\n"


async def test_a_port_in_use_is_one_line_and_exit_status_1(api: FakeApi, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = await asyncio.to_thread(
            subprocess.run,
            [
                sys.executable,
                "-m",
                "treadle",
                "run",
                "--kubeconfig",
                str(api.write_kubeconfig(tmp_path / "config")),
                "--listen",
                where,
                "--probes-listen",
                "",
                "--log-level",
                "error",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"treadle: cannot serve on {where}: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_when_it_is_told_to_end_it_finishes_what_is_under_way_and_exits_0(
    api: FakeApi, tmp_path: Path, how: signal.Signals
) -> None:
    add_nodes(api, 10, cpu="32", memory="64Gi")
    gate = asyncio.Event()
    asked: list[str] = []
    done: list[str] = []

    async def hold(_method: str, path: str) -> None:
        if path.endswith("/binding"):
            asked.append(path)
            await gate.wait()
            done.append(path)

    api.before = hold
    names = [f"p{number}" for number in range(40)]
    add_pods(api, *names)
    with Treadle(api.write_kubeconfig(tmp_path / "config"), tmp_path) as process:
        await until(lambda: len(asked) >= 16, "binds under way", seconds=60)
        assert process.process is not None
        process.process.send_signal(how)
        await until(lambda: "ending: no further decisions" in process.log.read_text())
        gate.set()
        status = await asyncio.to_thread(process.process.wait, 60)
        log = process.log.read_text()

    assert status == 0, log
    assert "Traceback" not in log
    assert len(done) == len(asked)
    assert sum(bool(node_of(api, name)) for name in names) == len(asked)
    # One event speaks of all of them.
    (event,) = api.list("events")
    assert event["note"].startswith(f"Bound {len(asked)} pods of application default/app ")


async def test_it_ends_at_once_when_the_server_was_never_there(tmp_path: Path) -> None:
    api = FakeApi()
    await api.start()
    config = api.write_kubeconfig(tmp_path / "config")
    await api.stop()
    with Treadle(config, tmp_path) as process:
        await until(lambda: process.log.exists() and "cannot be reached" in process.log.read_text(), seconds=60)
        assert await asyncio.to_thread(process.terminate) == 0
