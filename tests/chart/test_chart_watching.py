"""What the chart has for whoever watches: monitors, alerts and dashboards."""

import json
import re
import subprocess
import sys

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from chart.rendering import CHART, MONITORED, ROOT, SELF_SIGNED, deployment, of_kind, of_kind_named, template


def test_a_pod_monitor_needs_its_kind_in_the_cluster():
    answer = template("--set=podMonitor.enabled=true")
    assert answer.returncode != 0
    assert "podMonitor.enabled: the API server serves no PodMonitor (monitoring.coreos.com/v1)" in answer.stderr
    served = "--api-versions=monitoring.coreos.com/v1/PodMonitor"
    assert len(of_kind("PodMonitor", "--set=podMonitor.enabled=true", served)) == 1


SERVES_SERVICES = "--api-versions=monitoring.coreos.com/v1/ServiceMonitor"


def test_a_service_monitor_needs_its_kind_in_the_cluster():
    answer = template("--set=serviceMonitor.enabled=true")
    assert answer.returncode != 0
    assert "serviceMonitor.enabled: the API server serves no ServiceMonitor (monitoring.coreos.com/v1)" in answer.stderr


def test_a_service_monitor_finds_the_service_and_the_port_by_name():
    settings = "--set=serviceMonitor.enabled=true,serviceMonitor.interval=45s,serviceMonitor.labels.release=main"
    (found,) = of_kind("ServiceMonitor", settings, SERVES_SERVICES)
    assert found["metadata"]["labels"]["release"] == "main"
    wanted = found["spec"]["selector"]["matchLabels"]
    services = [
        one for one in of_kind("Service", settings, SERVES_SERVICES) if wanted.items() <= one["metadata"]["labels"].items()
    ]
    assert len(services) == 1
    (endpoint,) = found["spec"]["endpoints"]
    (monitor,) = of_kind("PodMonitor", *MONITORED)
    (as_pods,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint == {**as_pods, "interval": "45s"}, "by the same token"
    assert of_kind("Secret", settings, SERVES_SERVICES), "which the chart makes"
    assert endpoint["port"] in {port["name"] for port in services[0]["spec"]["ports"]}


@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_labels_of_what_is_scraped_may_be_changed(kind):
    value, served = kind[0].lower() + kind[1:], f"--api-versions=monitoring.coreos.com/v1/{kind}"
    changed = [{"targetLabel": "cluster", "replacement": "east"}]
    (found,) = of_kind(kind, f"--set={value}.enabled=true", f"--set-json={value}.relabelings={json.dumps(changed)}", served)
    (endpoint,) = found["spec"].get("podMetricsEndpoints") or found["spec"]["endpoints"]
    assert endpoint["relabelings"] == changed
    (plain,) = of_kind(kind, f"--set={value}.enabled=true", served)
    (endpoint,) = plain["spec"].get("podMetricsEndpoints") or plain["spec"]["endpoints"]
    assert "relabelings" not in endpoint


def test_a_copy_is_not_scraped_twice():
    both = "--set=serviceMonitor.enabled=true,podMonitor.enabled=true"
    answer = template(both, SERVES_SERVICES, "--api-versions=monitoring.coreos.com/v1/PodMonitor")
    assert answer.returncode != 0
    assert "each copy would be scraped twice" in answer.stderr


SERVES_RULES = "--api-versions=monitoring.coreos.com/v1/PrometheusRule"


RULES = yaml.safe_load((CHART / "files" / "rules.yaml").read_text())


def alerts(groups):
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def test_alerts_need_their_kind_in_the_cluster():
    answer = template("--set=prometheusRule.enabled=true")
    assert answer.returncode != 0
    assert "prometheusRule.enabled: the API server serves no PrometheusRule (monitoring.coreos.com/v1)" in answer.stderr


@pytest.mark.parametrize(
    ("address", "begin"),
    [
        ("", ""),
        ("https://example.com/docs", "https://example.com/docs/"),
        ("https://example.com/docs/", "https://example.com/docs/"),
    ],
)
def test_alerts_are_those_of_the_rules_file_with_the_address_of_their_runbooks(address, begin):
    (found,) = of_kind("PrometheusRule", f"--set=prometheusRule.enabled=true,prometheusRule.runbookUrl={address}", SERVES_RULES)
    made, plain = alerts(found["spec"]["groups"]), alerts(RULES["groups"])
    assert set(made) == set(plain)
    for name, rule in plain.items():
        runbook = begin + rule["annotations"]["runbook_url"]
        assert made[name] == {**rule, "annotations": {**rule["annotations"], "runbook_url": runbook}}


def test_alerts_may_have_labels_by_which_a_prometheus_chooses_them():
    (found,) = of_kind("PrometheusRule", "--set=prometheusRule.enabled=true,prometheusRule.labels.release=main", SERVES_RULES)
    assert found["metadata"]["labels"]["release"] == "main"


DASHBOARDS = {path.name: path.read_text() for path in (CHART / "files" / "dashboards").glob("*.json")}


def dashboards(*arguments):
    return [one for one in of_kind("ConfigMap", *arguments) if "-dashboard-" in one["metadata"]["name"]]


def test_each_dashboard_is_a_config_map_that_the_sidecar_finds():
    assert not dashboards()
    found = dashboards("--set=dashboards.enabled=true")
    assert {name: text for one in found for name, text in one["data"].items()} == {
        f"treadle-{name}": text for name, text in DASHBOARDS.items()
    }
    for one in found:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert "annotations" not in one["metadata"]


def test_the_label_of_dashboards_and_their_folder_may_be_chosen():
    chosen = "--set=dashboards.enabled=true,dashboards.label=show,dashboards.labelValue=yes,dashboards.annotations.grafana_folder=Batch"
    for one in dashboards(chosen):
        assert one["metadata"]["labels"]["show"] == "yes"
        assert "grafana_dashboard" not in one["metadata"]["labels"]
        assert one["metadata"]["annotations"] == {"grafana_folder": "Batch"}


def test_the_dashboards_are_those_that_their_code_makes():
    check = [sys.executable, str(ROOT / "charts" / "dashboards.py"), "--check"]
    answer = subprocess.run(check, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 0, answer.stderr


def lost(said, there):
    """What is said and not there again, or otherwise."""
    if isinstance(said, dict) and isinstance(there, dict):
        return [one for name, value in said.items() for one in (lost(value, there[name]) if name in there else [name])]
    if isinstance(said, list) and isinstance(there, list) and len(said) == len(there):
        return [one for value, other in zip(said, there, strict=True) for one in lost(value, other)]
    return [] if said == there else [said]


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_dashboard_is_read_whole_by_the_library_of_grafanas_types(name):
    plain = json.loads(DASHBOARDS[name])
    assert lost(plain, json.loads(json.dumps(Dashboard.from_json(plain), cls=JSONEncoder))) == []
    assert lost({**plain, "colour": "red"}, json.loads(json.dumps(Dashboard.from_json(plain), cls=JSONEncoder))) == ["colour"]
    panels = [panel for panel in plain["panels"] if panel["type"] != "row"]
    places = {(one["gridPos"]["x"], one["gridPos"]["y"]) for one in plain["panels"]}
    assert len(places) == len(plain["panels"]), "no two stand at the same place"
    for panel in panels:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert panel["targets"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert re.fullmatch(r"[A-Z1].{8,}\.", panel["description"], re.DOTALL), f"{panel['title']}: a sentence"
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_each_alert_has_a_runbook_and_nothing_else_has():
    sections = re.findall(r"^## (\w+)$", (ROOT / "docs" / "runbooks.md").read_text(), re.MULTILINE)
    assert sections == list(alerts(RULES["groups"]))
    for name, rule in alerts(RULES["groups"]).items():
        assert rule["annotations"]["runbook_url"] == f"runbooks.md#{name.lower()}"
        assert rule["labels"]["severity"] in {"critical", "warning"}


def test_each_alert_is_tested_where_it_fires_and_where_it_does_not():
    tests = yaml.safe_load((ROOT / "tests" / "chart" / "alerts.yaml").read_text())["tests"]
    outcomes = {(one["alertname"], bool(one["exp_alerts"])) for test in tests for one in test["alert_rule_test"]}
    assert outcomes == {(name, fires) for name in alerts(RULES["groups"]) for fires in (True, False)}


def test_prometheus_reads_metrics_over_tls_with_a_token_of_an_account_that_may_nothing_else():
    (monitor,) = of_kind("PodMonitor", *MONITORED)
    assert monitor["spec"]["podMetricsEndpoints"] == [
        {
            "port": "https",
            "path": "/metrics",
            "interval": "15s",
            "scheme": "https",
            "tlsConfig": {
                "serverName": "treadle.treadle-system.svc",
                "ca": {"configMap": {"name": "treadle-ca", "key": "ca.crt"}},
            },
            "authorization": {"type": "Bearer", "credentials": {"name": "treadle-metrics", "key": "token"}},
        }
    ]
    assert f"--tls-host={monitor['spec']['podMetricsEndpoints'][0]['tlsConfig']['serverName']}" in SELF_SIGNED
    (secret,) = of_kind("Secret", *MONITORED)
    (account,) = [one for one in of_kind("ServiceAccount", *MONITORED) if one["metadata"]["name"] == "treadle-metrics"]
    assert secret["type"] == "kubernetes.io/service-account-token"
    assert secret["metadata"]["annotations"] == {"kubernetes.io/service-account.name": account["metadata"]["name"]}
    bound = [
        one
        for one in (*of_kind("ClusterRoleBinding", *MONITORED), *of_kind("RoleBinding", *MONITORED))
        if one["subjects"][0]["name"] == account["metadata"]["name"]
    ]
    assert [one["roleRef"]["name"] for one in bound] == ["treadle-metrics-reader"]
    (role,) = of_kind_named("treadle-metrics-reader", "ClusterRole")
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_prometheus_may_have_a_token_from_elsewhere_or_need_none():
    def endpoint(*more):
        (monitor,) = of_kind("PodMonitor", *MONITORED, *more)
        assert of_kind("Secret", *MONITORED, *more) == []
        return monitor["spec"]["podMetricsEndpoints"][0]

    known = endpoint("--set=metrics.tokenSecret.name=prom,metrics.tokenSecret.key=t,metrics.insecureSkipVerify=true")
    assert known["authorization"]["credentials"] == {"name": "prom", "key": "t"}
    assert known["tlsConfig"] == {"insecureSkipVerify": True}
    plain = ("--set=metrics.anonymous=true,tls.enabled=false",)
    assert endpoint(*plain) == {"port": "http", "path": "/metrics", "interval": "15s"}
    arguments = deployment(*plain)["template"]["spec"]["containers"][0]["args"]
    assert "--anonymous-metrics" in arguments
    assert not any("tls" in one for one in arguments)
