"""examples/kind.sh, run with programs that write down how they are called, and what it gives to the real helm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from chart.binaries import program

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "kind.sh"
FOLDER = ROOT / "examples" / "kind"
TOOLS = ("kind", "docker", "helm", "kubectl")
FAKE = """#!/bin/bash
echo "$(basename "$0") $*" >> "$CALLS"
if [ "$(basename "$0") $1 $2" = "kind get clusters" ]; then echo "$THERE"; fi
if [[ "$(basename "$0") $*" == $FAILS ]]; then exit 7; fi
"""
HELPERS = ("bash", "dirname", "basename", "grep", "cat")


@pytest.fixture
def run(tmp_path):
    """Runs the script: (its answer, the calls in order). ``lacking`` are programs that are not there."""

    def start(*arguments, there="", fails="nothing", lacking=(), **more):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in TOOLS:
            if name not in lacking:
                (folder / name).write_text(FAKE)
                (folder / name).chmod(0o755)
        for name in HELPERS:  # and nothing else of this machine
            found = next(Path(one) / name for one in ("/bin", "/usr/bin") if (Path(one) / name).exists())
            (folder / name).symlink_to(found)
        calls = tmp_path / "calls"
        calls.touch()
        environment = {"PATH": str(folder), "CALLS": str(calls), "THERE": there, "FAILS": fails, **more}
        command = [str(folder / "bash"), str(SCRIPT), *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path, timeout=60)
        return answer, calls.read_text().splitlines()

    return start


def test_it_makes_a_cluster_loads_the_image_and_installs_in_this_order(run):
    answer, calls = run()
    assert answer.returncode == 0, answer.stderr
    wanted = [
        "docker info",
        "kind get clusters",
        "kind create cluster --name treadle --config examples/kind/cluster.yaml",
        "docker build --tag treadle:kind .",
        "kind load docker-image treadle:kind --name treadle",
        "helm upgrade --install monitoring kube-prometheus-stack --repo",
        "helm upgrade --install treadle charts/treadle --kube-context kind-treadle --namespace treadle-system --create-namespace --values examples/kind/values.yaml --values examples/kind/watched.yaml",
        "kubectl --context kind-treadle --namespace treadle-system rollout restart deployment/treadle",
        "kubectl --context kind-treadle --namespace treadle-system rollout status",
        "kubectl --context kind-treadle apply --filename examples/classic.yaml",
        "kubectl --context kind-treadle delete pod hello --ignore-not-found",
        "kubectl --context kind-treadle apply --filename examples/pod.yaml",
        "kubectl --context kind-treadle wait pod/hello",
        "kubectl --context kind-treadle get queues.treadle.dev",
    ]
    assert [call.startswith(begin) for call, begin in zip(calls, wanted, strict=False)] == [True] * len(wanted), calls
    forwarded = {call.split("port-forward ")[1] for call in calls[len(wanted) :]}
    assert forwarded == {"service/monitoring-grafana 3000:80", "service/monitoring-kube-prometheus-prometheus 9090:9090"}
    assert "http://localhost:3000" in answer.stdout
    assert "kubectl --context kind-treadle apply --filename examples/job.yaml" in answer.stdout


def test_no_other_cluster_is_touched_than_the_one_that_is_named(run):
    _, calls = run(CLUSTER="mine")
    talking = [call for call in calls if call.startswith(("kubectl", "helm"))]
    assert len(talking) > 8
    assert [call for call in talking if "--context kind-mine " not in call and "--kube-context kind-mine " not in call] == []
    assert [call for call in calls if call.startswith("kind") and "get clusters" not in call and "--name mine" not in call] == []


def test_a_cluster_that_is_there_is_used_again(run):
    answer, calls = run(there="other\ntreadle")
    assert answer.returncode == 0, answer.stderr
    assert not [call for call in calls if call.startswith("kind create")]
    assert "kind export kubeconfig --name treadle" in calls


def test_one_with_a_longer_name_is_another(run):
    _, calls = run(there="treadle-two")
    assert [call for call in calls if call.startswith("kind create")]


def test_without_monitoring_nothing_of_it_is_installed_or_forwarded(run):
    answer, calls = run("--no-monitoring")
    assert answer.returncode == 0, answer.stderr
    (installed,) = [call for call in calls if call.startswith("helm")]
    assert "watched.yaml" not in installed
    assert "port-forward" not in "\n".join(calls)
    assert "localhost" not in answer.stdout


def test_it_cleans_up(run):
    answer, calls = run("--delete", lacking=("helm", "kubectl"))
    assert (answer.returncode, calls) == (0, ["kind delete cluster --name treadle"])


@pytest.mark.parametrize("name", TOOLS)
def test_a_program_that_is_not_there_is_named_before_anything_is_made(run, name):
    answer, calls = run(lacking=(name,))
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"kind.sh: {name} is not there; it is needed to ")
    assert calls == []


def test_a_daemon_that_does_not_answer_is_said(run):
    answer, calls = run(fails="docker info*")
    assert answer.returncode == 1
    assert "docker does not answer" in answer.stderr
    assert calls == ["docker info"]


def test_an_argument_that_is_not_known_is_refused_with_what_is_allowed(run):
    answer, calls = run("--remove")
    assert (answer.returncode, calls) == (2, [])
    assert answer.stderr == "kind.sh: --remove is not known; allowed are --no-monitoring and --delete\n"


@pytest.mark.parametrize("step", ["kind create*", "docker build*", "kind load*", "helm*monitoring*", "helm*charts/treadle*"])
def test_it_stops_at_the_first_step_that_fails(run, step):
    answer, calls = run(fails=step)
    assert answer.returncode != 0
    words = step.split("*")
    assert calls[-1].startswith(words[0])
    assert words[1] in calls[-1]


def test_what_it_gives_to_helm_renders_with_the_image_that_was_loaded_and_dashboards_that_are_found():
    served = [f"--api-versions=monitoring.coreos.com/v1/{kind}" for kind in ("PodMonitor", "PrometheusRule")]
    values = [f"--values={FOLDER / name}" for name in ("values.yaml", "watched.yaml")]
    command = [program("helm"), "template", "treadle", ROOT / "charts" / "treadle", *values, *served]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stderr
    rendered = [one for one in yaml.safe_load_all(answer.stdout) if one]
    (container,) = next(one for one in rendered if one["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("treadle:kind", "Never")
    assert "image=treadle:kind" in SCRIPT.read_text()
    assert "--default-access=open" in container["args"], "the queues of the example have no lists"
    watched = yaml.safe_load((FOLDER / "monitoring.yaml").read_text())
    sidecar = watched["grafana"]["sidecar"]["dashboards"]
    boards = [one for one in rendered if one["kind"] == "ConfigMap" and sidecar["label"] in one["metadata"]["labels"]]
    assert len(boards) == 4
    assert {one["metadata"]["labels"][sidecar["label"]] for one in boards} == {sidecar["labelValue"]}
    assert sidecar["searchNamespace"] == "ALL"
    selectors = watched["prometheus"]["prometheusSpec"]
    assert {"podMonitorSelectorNilUsesHelmValues", "ruleSelectorNilUsesHelmValues"} <= {
        name for name, value in selectors.items() if value is False
    }


def test_shellcheck_finds_nothing_in_any_script():
    scripts = [path for path in (SCRIPT, ROOT / ".ci" / "run") if os.access(path, os.X_OK)]
    assert len(scripts) == 2
    answer = subprocess.run([Path(sys.executable).parent / "shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")
