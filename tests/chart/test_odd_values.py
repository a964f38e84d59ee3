"""Names and labels that are unusual and allowed, and what is refused with a word about why."""

import re

import pytest
import yaml

from chart.rendering import CHART, EVERYTHING, helm

ALL = (
    *EVERYTHING,
    "--set=agent.alone.enabled=true,agent.alone.cpuPercent=85,identity.webhook.enabled=true,ingress.enabled=true,ingress.host=treadle.example,rest.enabled=true,rest.queueChanges=true,page.enabled=true",
)
SERVICE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


class Strict(yaml.SafeLoader):
    """Reads YAML as the API server does: a key that stands twice is an error."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"{sorted(keys)} stand twice, line {node.start_mark.line}"
        return super().construct_mapping(node, deep)


def answer(*arguments, release="treadle", namespace="treadle-system"):
    return helm("template", release, str(CHART), f"--namespace={namespace}", *ALL, *arguments)


def objects(*arguments, **where):
    found = answer(*arguments, **where)
    assert found.returncode == 0, found.stderr
    return [one for one in yaml.load_all(found.stdout, Strict) if one and one["kind"] != "CustomResourceDefinition"]


def labels(value):
    """Every label and every selector by labels, wherever it stands."""
    if isinstance(value, dict):
        for name, below in value.items():
            if name in {"labels", "matchLabels"} and isinstance(below, dict):
                yield from below.values()
            else:
                yield from labels(below)
    elif isinstance(value, list):
        for below in value:
            yield from labels(below)


@pytest.mark.parametrize(
    ("release", "namespace", "more"),
    [
        ("a" * 53, "n" * 63, ()),
        ("treadle", "treadle-system", (f"--set=fullnameOverride={'b' * 63}",)),
        ("treadle", "treadle-system", (f"--set=nameOverride={'b' * 63}",)),
        ("my.treadle", "treadle-system", ()),
        ("team.batch", "treadle-system", ()),
        ("true", "null", ()),
        ("e1", "2024", ("--set-string=scheduler.name=123,test.queue=1e3",)),
        ("123", "0x1f", ()),
    ],
)
def test_names_may_be_as_long_and_as_odd_as_helm_and_kubernetes_allow(release, namespace, more):
    found = objects(*more, release=release, namespace=namespace)
    for one in found:
        what = f"{one['kind']} {one['metadata']['name']}"
        assert isinstance(one["metadata"]["name"], str), what
        assert one["metadata"].get("namespace", namespace) == namespace, what
        if one["kind"] == "Service":
            assert SERVICE.fullmatch(one["metadata"]["name"]), what
        for label in labels(one):
            assert isinstance(label, str), f"{what}: {label!r}"
            assert LABEL.fullmatch(label), f"{what}: {label!r}"
    services = {one["metadata"]["name"] for one in found if one["kind"] == "Service"}
    hooks = [one for one in found if one["kind"] == "MutatingWebhookConfiguration"]
    called = {hook["clientConfig"]["service"]["name"] for one in hooks for hook in one["webhooks"]}
    assert called
    assert called <= services
    (deployment,) = [one for one in found if one["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {f"--webhook-host={name}.{namespace}.svc" for name in called} <= set(arguments)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("podMonitor.labels", ("PodMonitor", "metadata", "labels")),
        ("prometheusRule.labels", ("PrometheusRule", "metadata", "labels")),
        ("podLabels", ("Deployment", "spec", "template", "metadata", "labels")),
        ("agent.podLabels", ("DaemonSet", "spec", "template", "metadata", "labels")),
    ],
)
def test_a_label_that_the_chart_has_too_is_that_which_was_chosen_and_stands_once(value, path):
    kind, *below = path
    for one in objects(f'--set-json={value}={{"app.kubernetes.io/component":"batch","more":"yes"}}'):
        if one["kind"] == kind:
            found = one
            for name in below:
                found = found[name]
            assert (found["app.kubernetes.io/component"], found["more"]) == ("batch", "yes")


@pytest.mark.parametrize("value", ["podLabels", "agent.podLabels"])
@pytest.mark.parametrize("label", ["app.kubernetes.io/name", "app.kubernetes.io/instance"])
def test_labels_by_which_pods_are_selected_are_not_to_be_chosen(value, label):
    found = answer(f'--set-json={value}={{"{label}":"other"}}')
    assert found.returncode != 0
    assert f"{value}: {label} is a label by which the pods are selected" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set=fullnameOverride=1treadle",), "at '/fullnameOverride'"),
        (("--set=fullnameOverride=a.b",), "at '/fullnameOverride'"),
        (("--set=tls=null",), "missing property 'tls'"),
        (("--set=networkPolicy=null",), "missing property 'networkPolicy'"),
        (("--set=opportunistic.usage=null",), "missing property 'usage'"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(arguments, said):
    found = answer(*arguments)
    assert found.returncode != 0
    assert said in found.stderr
