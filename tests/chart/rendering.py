"""What the chart renders, by Helm itself."""

import subprocess
from functools import cache
from pathlib import Path

import yaml

from chart.binaries import program

ROOT = Path(__file__).resolve().parents[2]


CHART = ROOT / "charts" / "treadle"


EVERYTHING = (
    "--set=networkPolicy.restrictEgress=true,podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true,scheduler.create=true,agent.enabled=true,opportunistic.webhook.enabled=true",
    "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",
    "--api-versions=monitoring.coreos.com/v1/PodMonitor",
    "--api-versions=monitoring.coreos.com/v1/PrometheusRule",
    "--api-versions=treadle.dev/v1alpha1/Scheduler",
)


SELF_SIGNED = [
    "--tls-self-signed",
    "--tls-config-map=treadle-ca",
    "--tls-host=treadle.treadle-system.svc",
    "--tls-host=treadle.treadle-system",
]


MONITORED = ("--set=podMonitor.enabled=true", "--api-versions=monitoring.coreos.com/v1/PodMonitor")


def helm(*arguments):
    return subprocess.run([str(program("helm")), *arguments], capture_output=True, text=True, check=False, timeout=120)


def template(*arguments):
    return helm("template", "treadle", str(CHART), "--namespace=treadle-system", *arguments)


@cache
def rendered(*arguments):
    answer = template(*arguments)
    assert answer.returncode == 0, answer.stderr
    return [document for document in yaml.safe_load_all(answer.stdout) if document]


def of_kind(kind, *arguments):
    return [document for document in rendered(*arguments) if document["kind"] == kind]


def of_kind_named(name, kind, *arguments):
    return [document for document in of_kind(kind, *arguments) if document["metadata"]["name"] == name]


def deployment(*arguments):
    (found,) = of_kind("Deployment", *arguments)
    return found["spec"]
