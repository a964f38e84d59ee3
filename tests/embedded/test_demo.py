"""``treadle demo`` as a user has it: a process of its own, its line of JSON, its page, and a normal kubectl."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from chart.binaries import program
from embedded import browser
from treadle.core.units.resources import amount

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "treadle", "demo"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}


class Running(NamedTuple):
    url: str
    kubeconfig: Path
    process: subprocess.Popen[str]

    def tree(self) -> dict:
        with urllib.request.urlopen(f"{self.url}/api/tree", timeout=30) as answer:
            return json.load(answer)

    def ready(self) -> bool:
        """Whether Treadle has seen the nodes and has the queues in force."""
        tree = self.tree()
        return tree["cluster"]["nodes"] == 12 and tree["queues"].keys() >= {
            "root.default",
            "root.prod",
            "root.dev",
            "root.dev.science",
        }

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run(
            [program("kubectl"), *args], env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout + done.stderr


@contextmanager
def demo(*args: str) -> Iterator[Running]:
    process = subprocess.Popen([*COMMAND, "--port", "0", *args], env=ENVIRONMENT, cwd="/", text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        kubeconfig = re.search(r"export KUBECONFIG=(\S+)$", process.stdout.readline())
        assert url, "the page's address comes first"
        assert kubeconfig, "then the line for kubectl"
        yield Running(url[0], Path(kubeconfig[1]), process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def shown() -> Iterator[Running]:
    with demo("--speed", "3") as running:
        eventually(running.ready)
        yield running


def eventually(ask: Callable[[], object], seconds: float = 60) -> object:
    deadline = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)
    return found


def headless(*args: str) -> dict:
    command = [*COMMAND, "--headless", "--json", *args]
    done = subprocess.run(command, env=ENVIRONMENT, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def cpu(queue: dict, what: str) -> int:
    return amount("cpu", queue[what].get("cpu", "0"))


def test_a_headless_demo_ends_with_one_line_of_json_and_nothing_else_on_stdout():
    summary = headless("--seconds", "4", "--speed", "4")

    pods, queues = summary["pods"], summary["queues"]
    assert summary.keys() == {"pods", "nodes", "queues"}
    assert pods.keys() == {"created", "bound", "finished", "waiting"}
    assert pods["created"] > pods["bound"] >= pods["finished"]
    assert pods["bound"] > 0
    assert pods["created"] == pods["bound"] + pods["waiting"]
    assert summary["nodes"] == 12
    assert queues.keys() == {"root", "root.default", "root.prod", "root.dev", "root.dev.eng", "root.dev.science"}
    assert all(queue.keys() == {"fair_share", "used", "pending"} for queue in queues.values())
    assert 0 < cpu(queues["root"], "used") <= 192_000
    assert 0 < cpu(queues["root"], "fair_share") <= 192_000
    assert cpu(queues["root"], "pending") > 0


def test_the_trace_is_replayed_with_its_nodes_its_gpus_and_a_queue_for_each_class_of_service():
    summary = headless("--seconds", "8", "--speed", "4", "--example", "trace")

    assert summary["nodes"] == 102
    assert summary["pods"]["bound"] > 0
    assert summary["queues"].keys() == {"root", "root.be", "root.burstable", "root.guaranteed", "root.ls"}
    assert int(summary["queues"]["root.ls"]["used"]["nvidia.com/gpu"]) > 0
    assert 0 < int(summary["queues"]["root"]["fair_share"]["nvidia.com/gpu"]) <= 394


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_demo_that_is_ended_says_what_it_did_clears_up_and_exits_with_0(number):
    with demo() as running:
        running.process.send_signal(number)
        out, _ = running.process.communicate(timeout=60)

    assert running.process.returncode == 0
    assert "pods created" in out
    assert not running.kubeconfig.parent.exists()


def test_a_port_that_is_taken_is_said_with_what_to_do(shown):
    command = [*COMMAND, "--port", shown.url.rpartition(":")[2], "--seconds", "1"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert "is in use by another program" in done.stderr


def test_the_page_and_its_stream_show_the_running_demo(shown):
    with urllib.request.urlopen(f"{shown.url}/", timeout=30) as answer:
        assert "<title>Treadle</title>" in answer.read().decode()
    with urllib.request.urlopen(f"{shown.url}/api/v1/stream", timeout=30) as stream:
        lines = [stream.readline().decode().strip() for _ in range(2)]
    told = json.loads(lines[1].removeprefix("data: "))
    queues = {row["name"]: row for row in told["queues"]["rows"]}

    assert lines[0] == "event: full"
    assert told["cluster"]["nodes"] == 12
    assert queues["root.dev"]["maximum"]["cpu"] == 144_000
    assert queues["root.dev.science"]["guaranteed"]["cpu"] == 2_000
    with urllib.request.urlopen(f"{shown.url}/readyz", timeout=30) as answer:
        assert json.load(answer)["ready"]


def test_production_and_development_come_to_hold_their_fair_shares_while_both_wait_for_more(shown):
    def fair() -> bool:
        queues = shown.tree()["queues"]
        two = [queues["root.prod"], queues["root.dev"]]
        # An executor has at most 4 cores, and a pod that ends is followed by another one a moment later.
        return all(cpu(queue, "pending") > 0 and abs(cpu(queue, "used") - cpu(queue, "fair_share")) <= 8_000 for queue in two)

    assert eventually(fair)
    prod, dev = (cpu(shown.tree()["queues"][path], "fair_share") for path in ("root.prod", "root.dev"))
    assert 0 <= prod <= 0.4 * 192_000
    assert dev <= 0.75 * 192_000


def test_a_pod_that_fits_nowhere_is_explained(shown):
    def entry() -> dict | None:
        return next((one for one in shown.tree()["waiting"] if one["application"].endswith("pod/needs-ssd")), None)

    found = eventually(entry)
    assert (found["queue"], found["reason"], found["pods"]) == ("root.dev.eng", "Unschedulable", 1)
    assert "node affinity/selector" in found["message"]


def test_kubectl_gets_and_describes_what_is_there(shown):
    assert "node-12" in shown.kubectl("get", "nodes")
    assert eventually(lambda: re.search(r"root\.dev\.science\s+Running", shown.kubectl("get", "queues")))
    assert eventually(lambda: "driver" in shown.kubectl("get", "pods", "-l", "spark-role=driver"))
    assert "Scheduling Policy:  drf" in shown.kubectl("describe", "queue", "root.dev")
    assert re.search(r"cpu:\s+24", shown.kubectl("describe", "pod", "too-big"))
    assert "cpu" in shown.kubectl("describe", "node", "node-01")


def test_kubectl_applies_a_pod_that_then_runs_and_deletes_it(shown):
    assert "pod/hello created" in shown.kubectl("apply", "-f", str(ROOT / "examples" / "pod.yaml"))
    assert "pod/hello unchanged" in shown.kubectl("apply", "-f", str(ROOT / "examples" / "pod.yaml"))
    assert eventually(lambda: shown.kubectl("get", "pod", "hello", "-o", "jsonpath={.spec.nodeName}")).startswith("node-")
    assert "deleted" in shown.kubectl("delete", "pod", "hello", "--wait=true")
    assert "NotFound" in shown.kubectl("get", "pod", "hello", check=False)


def test_kubectl_applies_a_job_whose_pods_run_and_go_with_it(shown):
    shown.kubectl("apply", "-f", str(ROOT / "examples" / "job.yaml"))
    assert eventually(lambda: shown.kubectl("get", "pods", "-l", "job-name=pi", "-o", "name").count("pod/") == 4)
    assert "Parallelism:    4" in shown.kubectl("describe", "job", "pi")
    shown.kubectl("delete", "job", "pi")
    assert eventually(lambda: not shown.kubectl("get", "pods", "-l", "job-name=pi", "-o", "name"))


def test_a_queue_that_kubectl_edits_has_its_new_weight_on_the_page_and_a_wrong_one_is_refused(shown):
    refused = shown.kubectl(
        "patch", "queue", "root.default", "--type=merge", "-p", '{"spec":{"fair":{"weight":"-2"}}}', check=False
    )
    assert "spec.fair.weight" in refused
    shown.kubectl("patch", "queue", "root.default", "--type=merge", "-p", '{"spec":{"fair":{"weight":"3"}}}')
    assert eventually(lambda: shown.tree()["queues"]["root.default"]["weight"] == 3)


@browser.needed
async def test_a_browser_shows_the_running_demo(shown, tmp_path):
    async with browser.opened(shown.url, tmp_path) as page:
        await page.until("document.querySelectorAll('#tree .grid-body .grid-row').length === 6")
        title = await page.ask("document.getElementById('subtitle').textContent")
        await page.show(f"{shown.url}/#/applications?only=waiting")
        await page.until("document.querySelectorAll('#list .grid-body .grid-row').length > 0")
        assert await page.ask("document.querySelector('#list .cell.reason').innerText") != ""

    assert title == "treadle demo, classic"
    assert page.errors == []


@browser.needed
async def test_an_edit_of_a_queue_of_the_demo_is_previewed_and_written_for_kubectl(shown, tmp_path):
    button = "[...document.querySelectorAll('.editor button')].find(one => one.textContent.trim() === {!r}).click()"
    weight = "document.getElementById('edit-spec-fair-weight')"
    async with browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/#/queue/root.default")
        await page.until("document.querySelector('.editor') !== null && !document.querySelector('.editor').hidden")
        await page.ask(button.format("Edit"))
        await page.until(f"{weight} !== null")
        await page.ask(f"{weight}.value = '7'; {weight}.dispatchEvent(new Event('input', {{ bubbles: true }}))")
        await page.ask(button.format("Preview"))
        await page.until("document.querySelector('.preview').innerText.includes('pods would be placed')", 60)
        assert "weight: 7" in str(await page.ask("document.querySelector('.editor pre').textContent"))
        assert await page.ask("[...document.querySelectorAll('.editor button')].some(one => one.textContent.startsWith('Apply') && one.offsetParent !== null)") is False  # fmt: skip
    assert page.errors == []
    assert "7" not in shown.kubectl("get", "queue", "root.default", "-o", "jsonpath={.spec.fair.weight}")
