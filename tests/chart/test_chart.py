"""What the chart renders, checked without a cluster by Helm itself."""

import itertools
import json
import re
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from chart.binaries import program

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "treadle"
EVERYTHING = (
    "--set=networkPolicy.enabled=true,podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true,scheduler.create=true,agent.enabled=true,opportunistic.webhook.enabled=true",
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


@pytest.mark.parametrize(
    "settings",
    [
        "replicaCount=2",
        "agent.enabled=true,opportunistic.webhook.enabled=true",
        "agent.enabled=true,agent.alone.enabled=true,agent.alone.cpuPercent=85",
        "networkPolicy.enabled=true",
        "rest.enabled=true,rest.audience=treadle",
        "replicaCount=1,crds.install=false",
    ],
)
def test_helm_finds_no_fault(settings):
    answer = helm("lint", "--strict", str(CHART), f"--set={settings}")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_rendered_object_has_a_kind_a_name_and_our_labels():
    for document in rendered(*EVERYTHING):
        assert document["apiVersion"]
        assert document["metadata"]["name"]
        if document["kind"] != "CustomResourceDefinition":
            ours = "treadle-test" if document["kind"] == "Pod" else "treadle"
            assert document["metadata"]["labels"]["app.kubernetes.io/name"] == ours


def test_no_two_rendered_objects_are_the_same_one():
    keys = [
        (document["kind"], document["metadata"].get("namespace"), document["metadata"]["name"])
        for document in rendered(*EVERYTHING)
    ]
    assert len(set(keys)) == len(keys)


PLAIN = [
    "run",
    "--name=treadle",
    "--user-source=namespace",
    "--default-access=namespace",
    "--publish-administrators=treadle-administrators",
]


def test_two_copies_elect_a_leader_and_are_probed():
    spec = deployment()
    (container,) = spec["template"]["spec"]["containers"]
    assert spec["replicas"] == 2
    assert container["args"] == [*PLAIN, "--leader-elect", *SELF_SIGNED]
    assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
    assert container["ports"] == [
        {"name": "https", "containerPort": 8080, "protocol": "TCP"},
        {"name": "probes", "containerPort": 8081, "protocol": "TCP"},
    ]


def test_the_pods_run_with_no_privilege_and_are_placed_by_another_scheduler():
    pod = deployment()["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["schedulerName"] == "default-scheduler"
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert "resources" in container


def test_two_copies_that_both_decide_are_refused():
    answer = template("--set=leaderElection.enabled=false")
    assert answer.returncode != 0
    assert "two copies that both decide would break the queues' limits" in answer.stderr
    (container,) = deployment("--set=leaderElection.enabled=false,replicaCount=1")["template"]["spec"]["containers"]
    assert container["args"] == [*PLAIN, *SELF_SIGNED]


def test_kubelets_are_read_only_by_who_asks_for_it():
    def rights(*arguments):
        roles = of_kind("ClusterRole", *arguments)
        return [rule["verbs"] for role in roles for rule in role["rules"] if "nodes/proxy" in rule.get("resources", ())]

    assert rights() == []
    assert rights("--set=opportunistic.usage.kubelets=true") == [["get"]]


def test_who_tells_what_nodes_use_can_be_reached_where_the_network_is_closed():
    (policy,) = of_kind("NetworkPolicy", "--set=networkPolicy.enabled=true,agent.enabled=true,networkPolicy.usagePorts={9090}")
    assert [one["port"] for one in policy["spec"]["egress"][-1]["ports"]] == [9101, 9090]
    (policy,) = of_kind("NetworkPolicy", "--set=networkPolicy.enabled=true")
    assert len(policy["spec"]["egress"]) == 2


def rights(*arguments):
    """What the scheduler may do: verbs by group and resource."""
    found = {}
    for role in [*of_kind("ClusterRole", *arguments), *of_kind("Role", *arguments)]:
        if role["metadata"]["name"] in {"treadle-scheduler", "treadle-controllers", "treadle-leader"}:
            for rule in role["rules"]:
                for key in itertools.product(rule["apiGroups"], rule["resources"]):
                    found.setdefault(key, set()).update(rule["verbs"])
    return found


def test_the_rights_are_exactly_those_that_are_used():
    rules = rights("--set=rbac.features.deletions=true")
    ours = ("schedulers", "queues", "applications", "reservations")
    stored = ("storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments")
    grouping = ("scheduling.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.sigs.k8s.io")
    look = {"list", "watch"}
    assert rules == {
        ("", "pods"): {"get", "list", "watch", "delete"},
        ("", "nodes"): look,
        ("", "namespaces"): look,
        ("", "persistentvolumeclaims"): {*look, "patch"},
        ("", "persistentvolumes"): {*look, "patch"},
        **{("storage.k8s.io", kind): look for kind in stored},
        **{(system, "podgroups"): look for system in grouping if system != "scheduling.volcano.sh"},
        ("scheduling.volcano.sh", "podgroups"): {*look, "patch"},
        **{(system, "podgroups/status"): {"patch"} for system in grouping},
        ("autoscaling.x-k8s.io", "provisioningrequests"): {"get", *look, "create", "delete"},
        ("", "podtemplates"): {"create"},
        ("resource.k8s.io", "resourceclaims"): {"get", *look, "create", "patch", "delete"},
        ("resource.k8s.io", "resourceslices"): look,
        ("resource.k8s.io", "deviceclasses"): look,
        ("resource.k8s.io", "resourceclaims/status"): {"update", "patch"},
        ("resource.k8s.io", "resourceclaims/binding"): {"update", "patch"},
        ("metrics.k8s.io", "nodes"): {"list"},
        ("metrics.k8s.io", "pods"): {"list"},
        ("", "pods/binding"): {"create"},
        ("", "pods/eviction"): {"create"},
        ("", "pods/resize"): {"patch"},
        ("", "pods/status"): {"patch"},
        ("events.k8s.io", "events"): {"create", "patch"},
        ("apiextensions.k8s.io", "customresourcedefinitions"): look,
        ("coordination.k8s.io", "leases"): {"get", "create", "update"},
        ("", "configmaps"): {"get", "patch", "create"},
        **{("treadle.dev", kind): look for kind in ours},
        **{("treadle.dev", f"{kind}/status"): {"patch"} for kind in ours},
    }


GROUPS = ("scheduling.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.sigs.k8s.io")
FEATURES = {
    "evictions": {("", "pods/eviction"): {"create"}},
    "deletions": {("", "pods"): {"delete"}},
    "resizes": {("", "pods/resize"): {"patch"}},
    "volumes": {("", "persistentvolumeclaims"): {"patch"}, ("", "persistentvolumes"): {"patch"}},
    "devices": {
        ("resource.k8s.io", "resourceclaims"): {"create", "patch", "delete"},
        ("resource.k8s.io", "resourceclaims/status"): {"update", "patch"},
        ("resource.k8s.io", "resourceclaims/binding"): {"update", "patch"},
    },
    "podGroups": {
        ("scheduling.volcano.sh", "podgroups"): {"patch"},
        **{(group, "podgroups/status"): {"patch"} for group in GROUPS},
    },
    "provisioning": {
        ("autoscaling.x-k8s.io", "provisioningrequests"): {"get", "list", "watch", "create", "delete"},
        ("", "podtemplates"): {"create"},
    },
    "usage": {("metrics.k8s.io", "nodes"): {"list"}, ("metrics.k8s.io", "pods"): {"list"}},
}


def test_a_feature_that_is_off_has_no_rights_and_pods_are_deleted_on_request_only():
    values = yaml.safe_load((CHART / "values.yaml").read_text())["rbac"]["features"]
    assert values == {name: name != "deletions" for name in FEATURES}
    every = rights("--set=rbac.features.deletions=true")
    for name, own in FEATURES.items():
        without = rights(f"--set=rbac.features.deletions=true,rbac.features.{name}=false")
        lost = {key: every[key] - without.get(key, set()) for key in every if every[key] != without.get(key, set())}
        assert lost == own, name


def test_leases_are_written_in_the_namespace_of_the_release_only():
    for role in of_kind("ClusterRole"):
        assert all("leases" not in rule.get("resources", ()) for rule in role["rules"])
    assert {role["metadata"]["namespace"] for role in of_kind("Role")} == {"treadle-system"}


def test_no_right_is_a_wildcard():
    for role in [*of_kind("ClusterRole"), *of_kind("Role")]:
        for rule in role["rules"]:
            named = [one for key in ("apiGroups", "resources", "nonResourceURLs", "verbs") for one in rule.get(key, ())]
            assert not any("*" in one for one in named)
            assert "secrets" not in named


def test_every_binding_binds_a_role_of_the_chart_to_the_service_account():
    roles = {(role["kind"], role["metadata"]["name"]) for kind in ("ClusterRole", "Role") for role in of_kind(kind)}
    for binding in [*of_kind("ClusterRoleBinding"), *of_kind("RoleBinding")]:
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in roles
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "treadle", "namespace": "treadle-system"}]


def test_users_see_everything_and_edit_what_is_in_their_namespaces():
    roles = {role["metadata"]["name"]: role for role in of_kind("ClusterRole")}
    edit = roles["treadle-edit"]
    assert edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert edit["rules"][0]["resources"] == ["applications", "reservations"]
    assert not any("aggregate-to" in label for label in roles["treadle-queue-admin"]["metadata"]["labels"])
    assert "treadle-view" not in {role["metadata"]["name"] for role in of_kind("ClusterRole", "--set=rbac.aggregate=false")}


def test_the_custom_resource_definitions_are_those_of_the_models_and_stay():
    kept = {document["metadata"]["name"]: document for document in of_kind("CustomResourceDefinition")}
    for path in (ROOT / "crds").glob("*.yaml"):
        definition = yaml.safe_load(path.read_text())
        found = kept.pop(definition["metadata"]["name"])
        assert found["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        assert found == definition
    assert kept == {}
    assert of_kind("CustomResourceDefinition", "--set=crds.install=false") == []


def test_what_is_optional_is_left_out_or_made_by_its_value():
    kinds = {document["kind"] for document in rendered()}
    assert not kinds & {"NetworkPolicy", "PodMonitor", "PrometheusRule", "Scheduler", "DaemonSet", "MutatingWebhookConfiguration"}
    assert {"PodDisruptionBudget", "FlowSchema", "PriorityLevelConfiguration"} <= kinds
    assert {"NetworkPolicy", "PodMonitor", "Scheduler", "DaemonSet"} <= {document["kind"] for document in rendered(*EVERYTHING)}
    bare = (
        "--set=flowControl.enabled=false,podDisruptionBudget.enabled=false,serviceAccount.create=false,rbac.create=false,rbac.aggregate=false,access.administration.enabled=false",
    )
    assert {document["kind"] for document in rendered(*bare)} == {
        "CustomResourceDefinition", "Deployment", "Service", "ConfigMap", "Pod", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    }  # fmt: skip


def test_opportunistic_pods_are_rewritten_by_the_newest_policy_that_the_server_knows():
    kind, group = "MutatingAdmissionPolicy", "admissionregistration.k8s.io"
    of_kind = partial(of_kind_named, "treadle-opportunistic")
    assert of_kind(kind) == []
    served = {version: f"--api-versions={group}/{version}/{kind}" for version in ("v1beta1", "v1")}
    for arguments, version in (((served["v1beta1"],), "v1beta1"), ((served["v1"],), "v1"), (tuple(served.values()), "v1")):
        (policy,), (binding,) = of_kind(kind, *arguments), of_kind(f"{kind}Binding", *arguments)
        assert {policy["apiVersion"], binding["apiVersion"]} == {f"{group}/{version}"}
        assert binding["spec"] == {"policyName": policy["metadata"]["name"]}
        assert policy["spec"]["failurePolicy"] == "Ignore"
    assert of_kind(kind, served["v1"], "--set=opportunistic.policy.enabled=false") == []


def test_policy_and_webhook_are_about_the_same_pods_and_refuse_none():
    (policy,) = of_kind_named("treadle-opportunistic", "MutatingAdmissionPolicy", *EVERYTHING)
    (configuration,) = of_kind("MutatingWebhookConfiguration", *EVERYTHING)
    (hook,) = configuration["webhooks"]
    by_policy = policy["spec"]["matchConstraints"]
    assert (
        hook["objectSelector"] == by_policy["objectSelector"] == {"matchLabels": {"treadle.dev/execution-type": "opportunistic"}}
    )
    assert hook["rules"] == by_policy["resourceRules"]
    assert hook["matchConditions"] == policy["spec"]["matchConditions"]
    assert hook["failurePolicy"] == policy["spec"]["failurePolicy"] == "Ignore"
    assert hook["sideEffects"] == "None"
    assert "caBundle" not in hook["clientConfig"], "an upgrade leaves what the scheduler wrote"
    aliases = (*EVERYTHING, "--set=opportunistic.schedulerNames={yunikorn,treadle}")
    (policy,) = of_kind_named("treadle-opportunistic", "MutatingAdmissionPolicy", *aliases)
    assert policy["spec"]["matchConditions"][0]["expression"].endswith('in ["treadle","yunikorn"]')


def test_stamps_are_believed_only_where_the_policies_are_that_write_them():
    served = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"

    def source(*arguments):
        (container,) = deployment(*arguments)["template"]["spec"]["containers"]
        (found,) = [one.partition("=")[2] for one in container["args"] if one.startswith("--user-source=")]
        kinds = ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")
        names = {one["metadata"]["name"] for kind in kinds for one in of_kind(kind, *arguments)}
        return found, {name for name in names if "identity" in name}

    policies = {f"treadle-identity{end}" for end in ("", "-templates", "-cronjobs", "-kept", "-bindings")}
    assert source(served) == ("stamps", policies)
    assert source() == ("namespace", set())
    assert source(served, "--set=identity.source=claims") == ("claims", set())
    assert source(served, "--set=identity.source=namespace") == ("namespace", set())
    assert "identity" in template("--set=identity.source=anybody").stderr


def test_identity_policies_fail_closed_and_know_the_scheduler_and_its_names():
    served = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
    more = (
        '--set-json=opportunistic.schedulerNames=["yunikorn"],identity.controllers=["system:kcm"],identity.controllerPrefixes=[]'
    )
    for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        for policy in of_kind(kind, served, more):
            name = policy["metadata"]["name"]
            assert policy["spec"]["failurePolicy"] == ("Ignore" if name == "treadle-opportunistic" else "Fail"), name
            bindings = of_kind(f"{kind}Binding", served, more)
            assert sum(one["spec"]["policyName"] == name for one in bindings) == 1
    (policy,) = of_kind_named("treadle-identity", "MutatingAdmissionPolicy", served, more)
    ours, people = (one["expression"] for one in policy["spec"]["matchConditions"])
    assert ours.endswith('in ["treadle","yunikorn"]')
    assert people == '!(request.userInfo.username in ["system:kcm","system:serviceaccount:treadle-system:treadle"] || false)'


def test_edits_of_queues_are_judged_by_what_the_scheduler_publishes_and_fail_closed():
    name = "treadle-administrators"
    (published,) = of_kind_named(name, "ConfigMap")
    assert "data" not in published, "an upgrade leaves what the scheduler wrote"
    (policy,) = of_kind_named("treadle-administration", "ValidatingAdmissionPolicy")
    (binding,) = of_kind_named("treadle-administration", "ValidatingAdmissionPolicyBinding")
    assert policy["spec"]["failurePolicy"] == "Fail"
    where = {"name": name, "namespace": "treadle-system", "parameterNotFoundAction": "Deny"}
    assert (binding["spec"]["paramRef"], binding["spec"]["validationActions"]) == (where, ["Deny"])
    (role,) = of_kind_named("treadle-leader", "Role")
    rules = [(rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"] if rule["resources"] == ["configmaps"]]
    assert rules == [([name], ["get", "patch"]), (None, ["create"])], "it changes no other ConfigMap"
    roles = {one["metadata"]["name"]: one["rules"] for one in of_kind("ClusterRole")}
    assert roles["treadle-queue-admin"][-1] == {"apiGroups": ["treadle.dev"], "resources": ["queues"], "verbs": ["administer"]}
    assert not any("administer" in rule["verbs"] for rule in roles["treadle-team-admin"])

    off = "--set=access.administration.enabled=false"
    assert (
        of_kind_named(name, "ConfigMap", off) == [] == of_kind_named("treadle-administration", "ValidatingAdmissionPolicy", off)
    )
    (container,) = deployment(off)["template"]["spec"]["containers"]
    assert not any("administrators" in argument for argument in container["args"])
    assert "treadle-team-admin" not in {one["metadata"]["name"] for one in of_kind("ClusterRole", off)}


def test_helm_test_places_a_pod_that_the_service_does_not_take_for_the_scheduler():
    (pod,) = of_kind("Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod["spec"]["schedulerName"] == "treadle"
    assert "treadle.dev/queue" not in pod["metadata"]["labels"]
    for name in ("Service", "PodDisruptionBudget", "Deployment"):
        (one,) = of_kind_named("treadle", name)
        wanted = one["spec"]["selector"].get("matchLabels", one["spec"]["selector"])
        assert not wanted.items() <= pod["metadata"]["labels"].items(), name
    container = pod["spec"]["containers"][0]
    (scheduler,) = deployment()["template"]["spec"]["containers"]
    assert (container["image"], container["securityContext"]) == (scheduler["image"], scheduler["securityContext"])
    (pod,) = of_kind("Pod", "--set=test.queue=root.ops,scheduler.name=batch")
    assert (pod["spec"]["schedulerName"], pod["metadata"]["labels"]["treadle.dev/queue"]) == ("batch", "root.ops")


def test_whom_queues_let_in_is_a_choice_of_three():
    for choice in ("namespace", "closed", "open"):
        (container,) = deployment(f"--set=access.default={choice}")["template"]["spec"]["containers"]
        assert f"--default-access={choice}" in container["args"]
    assert "default" in template("--set=access.default=anybody").stderr


def test_credentials_for_a_prometheus_are_mounted_and_sent_to_one_address():
    known = "--set=opportunistic.usage.prometheus.secret=prom,opportunistic.usage.prometheus.url=https://prom:9090/x"
    pod = deployment(known)["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][-2:] == [
        "--prometheus-credentials=/etc/treadle/prometheus",
        "--prometheus-address=https://prom:9090/x",
    ]
    assert {"name": "prometheus", "mountPath": "/etc/treadle/prometheus", "readOnly": True} in container["volumeMounts"]
    assert {"name": "prometheus", "secret": {"secretName": "prom", "defaultMode": 0o440}} in pod["volumes"]
    assert "secret and url go together" in template("--set=opportunistic.usage.prometheus.secret=prom").stderr
    plain = deployment()["template"]["spec"]
    assert "prometheus" not in [one["name"] for one in plain["volumes"]]


def test_the_webhook_is_served_where_it_is_called_and_may_keep_its_own_configuration_only():
    (configuration,) = of_kind("MutatingWebhookConfiguration", *EVERYTHING)
    called = configuration["webhooks"][0]["clientConfig"]["service"]
    (service,) = [one for one in of_kind("Service", *EVERYTHING) if one["metadata"]["name"] == called["name"]]
    assert service["spec"]["ports"] == [{"name": "webhook", "port": called["port"], "targetPort": "webhook", "protocol": "TCP"}]
    (container,) = deployment(*EVERYTHING)["template"]["spec"]["containers"]
    assert container["args"][-3:] == [
        "--webhook-listen=0.0.0.0:9443",
        f"--webhook-name={configuration['metadata']['name']}",
        f"--webhook-host={called['name']}.{called['namespace']}.svc",
    ]
    assert {"name": "webhook", "containerPort": 9443, "protocol": "TCP"} in container["ports"]
    (policy,) = of_kind("NetworkPolicy", *EVERYTHING)
    assert {"port": "webhook", "protocol": "TCP"} in policy["spec"]["ingress"][0]["ports"]
    (role,) = [one for one in of_kind("ClusterRole", *EVERYTHING) if one["metadata"]["name"] == "treadle-webhook"]
    assert role["rules"] == [
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [configuration["metadata"]["name"]],
            "verbs": ["get", "patch"],
        }
    ]
    assert of_kind("MutatingWebhookConfiguration") == []


def test_the_agent_reads_the_nodes_cgroups_and_has_no_other_right():
    assert of_kind("DaemonSet") == []
    (found,) = of_kind("DaemonSet", *EVERYTHING)
    pod = found["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["volumes"] == [{"name": "cgroup", "hostPath": {"path": "/sys/fs/cgroup", "type": "Directory"}}]
    assert container["volumeMounts"] == [{"name": "cgroup", "mountPath": "/host/cgroup", "readOnly": True}]
    assert container["args"] == ["agent", "--listen=0.0.0.0:9101", "--cgroups=/host/cgroup"]
    assert pod["tolerations"] == [{"operator": "Exists"}]


ALONE = ("--set=agent.enabled=true,agent.alone.enabled=true,agent.alone.memoryPercent=80",)


def test_an_agent_that_may_act_alone_has_an_account_of_its_own_that_may_evict_and_little_else():
    (found,) = of_kind("DaemonSet", *ALONE)
    pod = found["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "treadle-agent"
    assert "--alone=memory=80,after=60,borne=5" in pod["containers"][0]["args"]
    (role,) = [one for one in of_kind("ClusterRole", *ALONE) if one["metadata"]["name"] == "treadle-agent"]
    rights = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert rights == {("nodes", "get"), ("pods", "list"), ("pods/eviction", "create"), ("events", "create")}
    without = ("--set=agent.enabled=true",)
    assert not [one for one in of_kind("ClusterRole", *without) if one["metadata"]["name"] == "treadle-agent"]


def test_its_limits_are_the_schedulers_thresholds_unless_it_has_its_own():
    settings = "agent.enabled=true,agent.alone.enabled=true"
    thresholds = "scheduler.spec.opportunistic.thresholds.cpu.preemptionPercent=85,scheduler.spec.opportunistic.thresholds.memory.preemptionPercent=80"
    (found,) = of_kind("DaemonSet", f"--set={settings},{thresholds},agent.alone.cpuPercent=90")
    assert "--alone=cpu=90,memory=80,after=60,borne=5" in found["spec"]["template"]["spec"]["containers"][0]["args"]
    answer = template(f"--set={settings}")
    assert answer.returncode != 0
    assert "agent.alone.enabled: there is no limit to act by" in answer.stderr


def test_what_selects_the_schedulers_pods_does_not_select_the_agents():
    (agents,) = of_kind("DaemonSet", *EVERYTHING)
    labels = agents["spec"]["template"]["metadata"]["labels"]
    assert agents["spec"]["selector"]["matchLabels"].items() <= labels.items()
    selectors = [one["spec"]["selector"] for one in of_kind("Service", *EVERYTHING)]
    selectors += [
        one["spec"]["selector"]["matchLabels"]
        for kind in ("Deployment", "PodDisruptionBudget")
        for one in of_kind(kind, *EVERYTHING)
    ]
    selectors += [one["spec"]["podSelector"]["matchLabels"] for one in of_kind("NetworkPolicy", *EVERYTHING)]
    assert len(selectors) == 5
    assert not any(selector.items() <= labels.items() for selector in selectors)


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


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_dashboard_is_what_the_types_of_grafana_can_say(name):
    plain = json.loads(DASHBOARDS[name])
    assert json.loads(json.dumps(Dashboard.from_json(plain), cls=JSONEncoder)) == plain
    panels = [panel for panel in plain["panels"] if panel["type"] != "row"]
    places = {(one["gridPos"]["x"], one["gridPos"]["y"]) for one in plain["panels"]}
    assert len(places) == len(plain["panels"]), "no two stand at the same place"
    for panel in panels:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert panel["targets"]
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


def test_a_certificate_may_come_from_a_secret_which_also_tells_who_signed_it():
    arguments = (*MONITORED, "--set=tls.secret=cert")
    pod = deployment(*arguments)["template"]["spec"]
    (container,) = pod["containers"]
    files = {"name": "tls", "mountPath": "/etc/treadle/tls", "readOnly": True}
    assert files in container["volumeMounts"]
    assert {"name": "tls", "secret": {"secretName": "cert", "defaultMode": 0o440}} in pod["volumes"]
    told = [one for one in container["args"] if "tls" in one]
    assert told == ["--tls-cert-file=/etc/treadle/tls/tls.crt", "--tls-private-key-file=/etc/treadle/tls/tls.key"]
    assert of_kind_named("treadle-ca", "ConfigMap", *arguments) == []
    assert "treadle-ca" not in {role["metadata"]["name"] for role in of_kind("Role", *arguments)}
    (monitor,) = of_kind("PodMonitor", *arguments)
    assert monitor["spec"]["podMetricsEndpoints"][0]["tlsConfig"]["ca"] == {"secret": {"name": "cert", "key": "ca.crt"}}
    assert "whose names are in it" in template("--set=tls.secret=cert,tls.names={x}").stderr
    assert "tls.enabled, which is off" in template("--set=tls.secret=cert,tls.enabled=false").stderr


def test_the_scheduler_may_tell_its_certificate_in_one_config_map_and_ask_about_tokens_and_rights():
    (told,) = of_kind_named("treadle-ca", "ConfigMap")
    assert "data" not in told, "an upgrade leaves what the scheduler wrote"
    (role,) = of_kind_named(told["metadata"]["name"], "Role")
    only = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [told["metadata"]["name"]],
        "verbs": ["get", "patch"],
    }
    assert role["rules"] == [only]
    (doors,) = of_kind_named("treadle-doors", "ClusterRole")
    rights = {(resource, verb) for rule in doors["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert rights == {("tokenreviews", "create"), ("subjectaccessreviews", "create")}
    more = deployment("--set=tls.names={10.0.0.1}")["template"]["spec"]["containers"][0]["args"]
    assert "--tls-host=10.0.0.1" in more


def test_probes_and_the_service_are_all_that_is_let_in_where_the_network_is_closed():
    (policy,) = of_kind("NetworkPolicy", "--set=networkPolicy.enabled=true")
    (service,) = of_kind("Service")
    let_in = {one["port"] for one in policy["spec"]["ingress"][0]["ports"]}
    assert let_in == {"https", "probes"}
    assert [one["targetPort"] for one in service["spec"]["ports"]] == ["https"]


def test_a_scheduler_object_before_its_kind_is_refused_with_the_way_out():
    answer = template("--set=scheduler.create=true")
    assert answer.returncode != 0
    assert "install once without it, then upgrade with it" in answer.stderr


def test_one_copy_needs_no_disruption_budget():
    assert of_kind("PodDisruptionBudget", "--set=replicaCount=1") == []


def test_a_digest_wins_over_a_tag():
    digest = "sha256:" + "a" * 64
    (container,) = deployment(f"--set=image.tag=x,image.digest={digest}")["template"]["spec"]["containers"]
    assert container["image"] == f"treadle@{digest}"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("replicas=2", "additional properties 'replicas' not allowed"),
        ("image.name=x", "additional properties 'name' not allowed"),
        ("replicaCount=many", "/replicaCount"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("service.port=70000", "/service/port"),
        ("image.digest=latest", "/image/digest"),
        ("metrics.tokenSecret.key=", "/metrics/tokenSecret/key"),
        ("tls.name=x", "additional properties 'name' not allowed"),
        ("agent.port=0", "/agent/port"),
        ("agent.podsCgroup=/kubepods", "/agent/podsCgroup"),
        ("agent.alone.cpuPercent=101", "/agent/alone/cpuPercent"),
        ("agent.alone.afterSeconds=5", "/agent/alone/afterSeconds"),
        ("history.days=0", "/history/days"),
        ("history.url=mysql://x/y", "/history/url"),
        ("history.url=postgresql://u:secret@h/d", "/history/url"),
        ("opportunistic.webhook.timeoutSeconds=60", "/opportunistic/webhook/timeoutSeconds"),
    ],
)
def test_an_unknown_or_wrong_value_is_refused_by_name(setting, said):
    answer = template(f"--set={setting}")
    assert answer.returncode != 0
    assert said in answer.stderr


def test_forecasts_are_made_where_that_is_asked_for():
    assert "--eta" not in deployment()["template"]["spec"]["containers"][0]["args"]
    assert "--eta" in deployment("--set=eta.enabled=true")["template"]["spec"]["containers"][0]["args"]


def test_reservations_may_be_made_from_the_history_where_that_is_asked_for():
    on = ("--set=history.reservations=true",)
    name = "treadle-from-history"
    assert not [one for one in of_kind("ClusterRole") if one["metadata"]["name"] == name]
    (role,) = [one for one in of_kind("ClusterRole", *on) if one["metadata"]["name"] == name]
    assert role["rules"] == [
        {"apiGroups": ["treadle.dev"], "resources": ["reservations"], "verbs": ["create", "update", "delete"]}
    ]
    assert name in {one["roleRef"]["name"] for one in of_kind("ClusterRoleBinding", *on)}
    off = (*on, "--set=history.enabled=false")
    assert name not in {one["metadata"]["name"] for one in (*of_kind("ClusterRole", *off), *of_kind("ClusterRoleBinding", *off))}


def test_yarns_rest_and_its_rights_are_there_where_they_are_asked_for():
    on = ("--set=rest.enabled=true",)
    assert "--rest" not in deployment()["template"]["spec"]["containers"][0]["args"]
    assert deployment(*on)["template"]["spec"]["containers"][0]["args"][-1] == "--rest"
    whom = deployment(*on, "--set=rest.audience=treadle")["template"]["spec"]["containers"][0]["args"]
    assert whom[-2:] == ["--rest", "--rest-audience=treadle"]
    assert "set rest.enabled as well" in template("--set=rest.audience=treadle").stderr
    assert not [one for one in of_kind("ClusterRole") if one["metadata"]["name"] == "treadle-rest"]
    (role,) = [one for one in of_kind("ClusterRole", *on) if one["metadata"]["name"] == "treadle-rest"]
    rights = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    own = {("reservations", verb) for verb in ("get", "create", "update", "delete")}
    assert rights == own
    bound = {one["roleRef"]["name"]: one["subjects"] for one in of_kind("ClusterRoleBinding", *on)}
    assert [one["name"] for one in bound["treadle-rest"]] == ["treadle"]


def test_the_history_is_kept_in_a_volume_of_each_copy_unless_it_is_said_where():
    pod = deployment()["template"]["spec"]
    (container,) = pod["containers"]
    assert {"name": "TREADLE_HISTORY", "value": "sqlite:////var/lib/treadle/history.db"} in container["env"]
    assert {"name": "TREADLE_HISTORY_DAYS", "value": "90"} in container["env"]
    assert {"name": "history", "mountPath": "/var/lib/treadle"} in container["volumeMounts"]
    assert {"name": "history", "emptyDir": {"sizeLimit": "1Gi"}} in pod["volumes"]


def test_the_url_of_a_history_comes_from_a_secret_and_needs_no_volume_then():
    pod = deployment("--set=history.urlSecret.name=db")["template"]["spec"]
    (container,) = pod["containers"]
    assert {"name": "TREADLE_HISTORY", "valueFrom": {"secretKeyRef": {"name": "db", "key": "url"}}} in container["env"]
    assert [volume["name"] for volume in pod["volumes"]] == ["tmp"]
    (policy,) = of_kind("NetworkPolicy", "--set=history.urlSecret.name=db,networkPolicy.enabled=true")
    assert {"ports": [{"port": 5432, "protocol": "TCP"}]} in policy["spec"]["egress"]
    (policy,) = of_kind("NetworkPolicy", "--set=networkPolicy.enabled=true")
    assert {"ports": [{"port": 5432, "protocol": "TCP"}]} not in policy["spec"]["egress"]


def test_without_a_history_there_is_nothing_of_it():
    pod = deployment("--set=history.enabled=false")["template"]["spec"]
    (container,) = pod["containers"]
    assert "env" not in container
    assert [volume["name"] for volume in pod["volumes"]] == ["tmp"]


def test_a_history_in_a_claim_is_for_one_copy():
    pod = deployment("--set=history.persistentVolumeClaim=kept,replicaCount=1")["template"]["spec"]
    assert {"name": "history", "persistentVolumeClaim": {"claimName": "kept"}} in pod["volumes"]
    answer = template("--set=history.persistentVolumeClaim=kept")
    assert "history.persistentVolumeClaim goes with replicaCount 1 or 0 only" in answer.stderr
    answer = template("--set=history.urlSecret.name=db,history.url=sqlite:////x/y")
    assert "history.url and history.urlSecret.name: set one of them" in answer.stderr
    answer = template("--set=history.urlSecret.name=db,history.persistentVolumeClaim=kept,replicaCount=1")
    assert "it would hold nothing" in answer.stderr


def test_every_value_is_in_the_schema_and_in_the_readme():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    readme = (CHART / "README.md").read_text()
    check_covered(values, schema)
    assert [name for name in values if f"`{name}" not in readme] == []


def check_covered(values, schema):
    assert schema.get("additionalProperties") is False
    for name, value in values.items():
        assert name in schema["properties"]
        below = schema["properties"][name]
        if isinstance(value, dict) and below.get("properties"):
            check_covered(value, below)


def test_the_versions_of_chart_and_package_are_one():
    import treadle

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == treadle.__version__


def test_the_notes_name_three_commands_to_try():
    answer = helm("install", "treadle", str(CHART), "--namespace=treadle-system", "--dry-run=client")
    assert answer.returncode == 0, answer.stderr
    notes = answer.stdout.partition("NOTES:")[2]
    assert sum(line.strip().startswith("kubectl ") for line in notes.splitlines()) == 3
