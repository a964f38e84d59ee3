"""The agent as a program: its options, its port and its end."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.cgroup_tree import Tree
from cluster.client import eventually
from treadle.agent import command, port
from treadle.agent.command import Agent, AgentOptions, Unusable, address, plain_options
from treadle.agent.pages import metrics_page, sample_page
from treadle.agent.port import Port

ONE = "1f0c-aa"
MIB = 1 << 20


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "cgroup")
    made.all(cpu=3_500_000, memory=9 * MIB)
    made.pod(ONE, "burstable", cpu=1_500_000, memory=5 * MIB, cache=MIB)
    return made


def agent_over(tree: Tree) -> Agent:
    return Agent(AgentOptions(cgroups=str(tree.mount), node='n"1'))


def test_a_sample_is_json_with_the_node_all_pods_and_each(tree: Tree) -> None:
    agent = agent_over(tree)
    agent.turn()
    status, kind, body = agent.answer("/sample")
    assert (status, kind) == (200, "application/json")
    found = json.loads(body)
    assert found.pop("at") == pytest.approx(agent.sample.at if agent.sample else 0, abs=0.001)
    waits = [1.25, 0.25, 2_500_000, 500_000]
    assert found == {
        "node": 'n"1',
        "seconds": 0.0,
        "cpu": None,
        "memory": 9 * MIB,
        "pressure": {"cpu": waits, "memory": waits, "io": waits},
        "pods": {ONE: [None, 4 * MIB]},
    }


def test_the_metrics_are_what_prometheus_reads(tree: Tree) -> None:
    agent = agent_over(tree)
    agent.turn()
    found = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(agent.answer("/metrics")[2])
        for sample in family.samples
    }
    assert found["treadle_agent_up", ()] == 1
    assert found["treadle_agent_pods_cpu_usage_seconds_total", ()] == 3.5
    assert found["treadle_agent_pods_memory_working_set_bytes", ()] == 9 * MIB
    assert found["treadle_agent_pod_cpu_usage_seconds_total", (("uid", ONE),)] == 1.5
    assert found["treadle_agent_pod_memory_working_set_bytes", (("uid", ONE),)] == 4 * MIB
    assert found["treadle_agent_pods_pressure_seconds_total", (("kind", "some"), ("resource", "io"))] == 2.5
    assert found["treadle_agent_pod_pressure_seconds_total", (("kind", "full"), ("resource", "cpu"), ("uid", ONE))] == 0.5


def test_the_metrics_of_no_sample_are_that_there_is_none() -> None:
    assert metrics_page(None).splitlines()[-1] == "treadle_agent_up 0"
    assert "pods" not in metrics_page(None)


def test_an_old_sample_is_not_shown_and_a_stuck_agent_is_not_healthy(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(command.time, "monotonic", lambda: now[0])
    agent = agent_over(tree)
    agent.turn()
    now[0] += command.OLD_AFTER + 1
    assert agent.answer("/sample")[0] == 503
    assert json.loads(agent.answer("/sample")[2])["problem"] == "the last sample is 6 s old"
    assert "treadle_agent_up 0" in agent.answer("/metrics")[2]
    assert agent.answer("/healthz")[0] == 503


def test_why_there_is_no_sample_is_said_on_the_port_and_once_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = Agent(AgentOptions(cgroups=str(tmp_path), node="n1"))
    agent.turn()
    agent.turn()
    status, _, body = agent.answer("/sample")
    assert (status, json.loads(body)["problem"]) == (
        503,
        f"{tmp_path} is not a cgroup v2 hierarchy: it has no cgroup.controllers",
    )
    assert agent.answer("/healthz")[0] == 200, "a restart would help nothing"
    assert capsys.readouterr().err.count("is not a cgroup v2 hierarchy") == 1


@pytest.mark.parametrize("text", ["9101", "host:port", "[::]:70000", "a:b:1"])
def test_an_address_that_is_none_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(Unusable, match=re.escape(f"--listen: {text!r} is not host:port, such as 0.0.0.0:9101")):
        address(text)


def test_plain_options_are_read_and_all_others_are_left_to_the_command_line() -> None:
    assert plain_options(["--listen=:1", "--node", "n"]) == AgentOptions(listen=":1", node="n")
    assert plain_options([]) == AgentOptions()
    for odd in (["--help"], ["--listen"], ["extra"], ["--unknown=1"]):
        assert plain_options(odd) is None


@pytest.fixture
def served() -> Iterator[Port]:
    with Port("127.0.0.1", 0, lambda path, _: (200, "text/plain", f"asked {path}\n")) as found:
        found.begin(looked_every=0.02)
        yield found
        found.shutdown()


def said(where: Port, *parts: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", where.port), timeout=10) as connection:
        for part in parts:
            connection.sendall(part)
        content = b""
        while more := connection.recv(4096):
            content += more
    return content


@pytest.mark.parametrize(
    ("request_", "status", "body"),
    [
        (b"GET /sample?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", b"200 OK", b"asked /sample\n"),
        (b"HEAD /sample HTTP/1.0\r\n\r\n", b"200 OK", b""),
        (b"POST / HTTP/1.1\r\n\r\n", b"405 Method Not Allowed", b"only GET is answered\n"),
        (b"nonsense\r\n\r\n", b"400 Bad Request", b"not a request of HTTP/1\n"),
    ],
)
def test_the_port_answers_gets_and_refuses_all_else(served: Port, request_: bytes, status: bytes, body: bytes) -> None:
    head, _, content = said(served, request_[:5], request_[5:]).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert content == body


def test_a_request_without_an_end_is_answered_when_it_is_too_long(served: Port) -> None:
    assert said(served, b"x" * port.MOST_REQUEST).startswith(b"HTTP/1.1 400")


def test_more_clients_than_there_is_room_for_are_closed_and_others_are_served_when_they_go(served: Port) -> None:
    asking = b"GET / HTTP/1.1\r\n\r\n"
    held = [socket.create_connection(("127.0.0.1", served.port), timeout=10) for _ in range(port.MOST_AT_ONCE)]
    eventually(lambda: said_or_closed(served, asking) == b"", what="no room")
    for one in held:
        one.close()
    eventually(lambda: said_or_closed(served, asking).startswith(b"HTTP/1.1 200"), what="room again")


def said_or_closed(where: Port, asking: bytes) -> bytes:
    try:
        return said(where, asking)
    except ConnectionError:
        return b""


def get(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
    except OSError:
        return 0, None


def test_the_program_samples_every_second_and_ends_cleanly_when_told(tree: Tree) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{probe.getsockname()[1]}"
    program = [sys.executable, "-m", "treadle", "agent", f"--listen={where}", f"--cgroups={tree.mount}", "--node=n1"]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)
    try:
        first = eventually(lambda: later(where, 0.0), what="a first sample")
        assert first["node"] == "n1"
        second = eventually(lambda: later(where, first["at"]), what="a second sample")
        assert (second["cpu"], second["pods"]) == (0, {ONE: [0, 4 * MIB]})
        assert 0.5 < second["seconds"] < 30
    finally:
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 0, told
    assert told == "treadle agent: samples are taken\n"


def later(where: str, than: float) -> Any:
    status, found = get(f"http://{where}/sample")
    return found if status == 200 and found["at"] > than else None


def test_a_port_in_use_is_one_line_and_exit_status_2(tree: Tree) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "treadle", "agent", "--listen", where, "--cgroups", str(tree.mount)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, f"treadle: --listen: cannot serve on {where}: Address already in use\n")


def test_its_help_comes_from_the_command_line_proper() -> None:
    done = subprocess.run([sys.executable, "-m", "treadle", "agent", "--help"], capture_output=True, text=True, check=True)
    assert "Where cgroup v2 is mounted." in done.stdout


def test_it_loads_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import treadle.cli, treadle.cli.agent; print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"cyclopts", "json", "asyncio", "http", "http.server", "logging", "pathlib", "ssl", "email"} & set(loaded)
    assert {name for name in loaded if name.startswith("treadle")} == {
        "treadle", "treadle.cli", "treadle.cli.agent", "treadle.agent", *(f"treadle.agent.{name}" for name in ("cgroups", "command", "pages", "port", "rows", "sampler")),
    }  # fmt: skip


def test_a_page_of_two_hundred_pods_is_small(tree: Tree) -> None:
    for number in range(200):
        tree.pod(f"{number:08}-0000-0000-0000-000000000000", "burstable", memory=MIB)
    agent = agent_over(tree)
    agent.turn()
    assert agent.sample is not None
    assert len(sample_page(agent.sample, "n")) < 15_000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (AgentOptions(alone="cpu=101"), r"^--alone: 'cpu=101' is out of bounds; allowed are cpu=PERCENT"),
        (AgentOptions(alone="cpu=85"), r"^--server: empty, and KUBERNETES_SERVICE_HOST names no API server"),
        (AgentOptions(alone="cpu=85", server="127.0.0.1:1", credentials="/nowhere"), r"^--credentials: '/nowhere' has no ca.crt"),
    ],
)
def test_what_it_needs_to_act_alone_is_named(options: AgentOptions, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(Unusable, match=said):
        Agent(options)
