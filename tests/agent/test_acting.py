"""An agent that acts alone, from its sample to the pods that go: what it asks of the API server, and what it takes of the node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.api_stub import Stub, credentials
from agent.cgroup_tree import Tree
from treadle.agent.command import Agent, AgentOptions
from treadle.agent.evicting import PAGE, escaped

GIB = 1 << 30
ALLOWED = 20
"""Mebibytes that an agent has at the most."""
PROGRAM = r"""
import socket, sys
import treadle.cli.agent
from treadle.agent.command import Agent, plain_options
from treadle.agent.port import Port

now = [0.0]
agent = Agent(plain_options(sys.argv[1:]), clock=lambda: now[0])
with Port("127.0.0.1", 0, agent.answer) as port:
    port.begin()
    for _ in range(20):
        now[0] += 1
        agent.turn()
        if agent.acting is not None:
            agent.acting.settle()
        for page in (b"sample", b"metrics"):
            with socket.create_connection(("127.0.0.1", port.port)) as asking:
                asking.sendall(b"GET /" + page + b" HTTP/1.1\r\n\r\n")
                while asking.recv(65536):
                    pass
with open("/proc/self/status") as status:
    print(next(line for line in status if line.startswith("VmHWM")).split()[1], 0 if agent.acting is None else agent.acting.evicted)
"""
"""The agent with all that it loads, by a clock of its own; prints the most memory that it had in KiB, and how many pods it asked to go."""


def uid(number: int) -> str:
    return f"{number:08}-0000-0000-0000-000000000000"


def pods(count: int) -> list[dict[str, Any]]:
    """Opportunistic pods as large as pods are, which started one after the other."""
    container = {"image": "i" * 50, "resources": {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "1"}}}
    return [
        {
            "metadata": {
                "name": f"o{at}",
                "namespace": "ns",
                "uid": uid(at),
                "annotations": {"a": "b" * 2000},
                "creationTimestamp": f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z",
            },
            "spec": {"containers": [{"name": name, **container} for name in "ab"]},
            "status": {"phase": "Running"},
        }
        for at in range(count)
    ]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "cgroup")
    made.all(memory=9 * GIB)
    for number in range(100):
        made.pod(uid(number), "burstable", memory=GIB // 4)
    return made


def test_the_newest_of_all_pages_go_by_a_clock_that_is_given(tree: Tree, tmp_path: Path) -> None:
    stub, now = Stub({"cpu": "8", "memory": "10Gi"}, pods(3 * PAGE + 1)), [0.0]
    with stub.serving(credentials(tmp_path / "c")) as where:
        limits = "memory=80,after=60,borne=1"
        options = AgentOptions(cgroups=str(tree.mount), node="n", alone=limits, server=where, credentials=str(tmp_path / "c"))
        agent = Agent(options, clock=lambda: now[0])
        assert agent.acting is not None
        for second in range(1, 64):
            now[0] = second
            agent.turn()
            agent.acting.settle()
            assert stub.evicted == [] or second > 62
    assert stub.evicted == ["o30", "o29", "o28", "o27"], "1 GiB is too much, and each uses a quarter"
    assert [one["regarding"]["name"] for one in stub.events] == stub.evicted


@pytest.mark.parametrize("alone", [False, True])
def test_it_has_less_than_20_mebibytes_beside_a_hundred_pods_after_it_evicted_some_as_well(
    tree: Tree, tmp_path: Path, alone: bool
) -> None:
    stub = Stub({"cpu": "8", "memory": "10Gi"}, pods(100))
    with stub.serving(credentials(tmp_path / "c")) as where:
        options = [f"--cgroups={tree.mount}", "--node=n"]
        if alone:
            options += ["--alone=memory=80,after=10,borne=1", f"--server={where}", f"--credentials={tmp_path / 'c'}"]
        done = subprocess.run([sys.executable, "-c", PROGRAM, *options], capture_output=True, text=True, check=True)
    peak, evicted = map(int, done.stdout.split())
    assert evicted == len(stub.evicted) == (4 if alone else 0)
    assert peak / 1024 < ALLOWED


def test_what_a_page_ends_with_is_escaped_in_the_query_of_the_next() -> None:
    assert escaped("aZ9") == "aZ9"
    assert escaped("a+b/c=&ä") == "a%2Bb%2Fc%3D%26%C3%A4"
