"""What the chart renders, checked without a cluster by Helm itself."""

from functools import partial

import pytest
import yaml

from chart.rendering import CHART, EVERYTHING, ROOT, SELF_SIGNED, deployment, helm, of_kind, of_kind_named, rendered, template


@pytest.mark.parametrize(
    "settings",
    [
        "replicaCount=2",
        "agent.enabled=true,opportunistic.webhook.enabled=true",
        "agent.enabled=true,agent.alone.enabled=true,agent.alone.cpuPercent=85",
        "networkPolicy.restrictEgress=true",
        "rest.enabled=true,rest.audience=treadle",
        "page.enabled=true",
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
    assert not kinds & {"PodMonitor", "PrometheusRule", "Scheduler", "DaemonSet", "MutatingWebhookConfiguration"}
    assert {"NetworkPolicy", "PodDisruptionBudget", "FlowSchema", "PriorityLevelConfiguration"} <= kinds
    assert {"PodMonitor", "Scheduler", "DaemonSet"} <= {document["kind"] for document in rendered(*EVERYTHING)}
    bare = (
        "--set=flowControl.enabled=false,podDisruptionBudget.enabled=false,networkPolicy.enabled=false,serviceAccount.create=false,rbac.create=false,rbac.aggregate=false,access.administration.enabled=false",
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
    (policy,) = of_kind_named("treadle", "NetworkPolicy", *EVERYTHING)
    assert {"port": "webhook", "protocol": "TCP"} in policy["spec"]["ingress"][1]["ports"]
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
    selectors += [one["spec"]["podSelector"]["matchLabels"] for one in of_kind_named("treadle", "NetworkPolicy", *EVERYTHING)]
    assert len(selectors) == 5
    assert not any(selector.items() <= labels.items() for selector in selectors)


def test_a_scheduler_object_before_its_kind_is_refused_with_the_way_out():
    answer = template("--set=scheduler.create=true")
    assert answer.returncode != 0
    assert "install once without it, then upgrade with it" in answer.stderr


def test_copies_are_kept_apart_by_node_and_by_zone_and_start_where_they_cannot_be():
    spec = deployment()
    apart = spec["template"]["spec"]["topologySpreadConstraints"]
    assert [one["topologyKey"] for one in apart] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    for one in apart:
        assert (one["whenUnsatisfiable"], one["labelSelector"]) == ("ScheduleAnyway", spec["selector"])
    assert "topologySpreadConstraints" not in deployment("--set=topologySpread.enabled=false")["template"]["spec"]


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


def test_the_page_is_there_where_it_is_asked_for_and_needs_no_right_of_its_own():
    on = ("--set=page.enabled=true",)
    assert "--page" not in deployment()["template"]["spec"]["containers"][0]["args"]
    whom = deployment(*on, "--set=rest.audience=treadle")["template"]["spec"]["containers"][0]["args"]
    assert whom[-2:] == ["--page", "--rest-audience=treadle"]
    assert of_kind("ClusterRole", *on) == of_kind("ClusterRole")


@pytest.mark.parametrize("served", ["rest.enabled", "page.enabled"])
def test_a_copy_says_where_others_reach_it_where_they_pass_something_on(served):
    (container,) = deployment(f"--set={served}=true")["template"]["spec"]["containers"]
    assert "--advertise-address=$(POD_IP)" in container["args"]
    assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in container["env"]
    for none in ("replicaCount=2", f"{served}=true,replicaCount=1,leaderElection.enabled=false"):
        (container,) = deployment(f"--set={none}")["template"]["spec"]["containers"]
        assert not [one for one in container["args"] if one.startswith("--advertise-address")]
        assert "POD_IP" not in [one["name"] for one in container["env"]]
    bare = f"--set={served}=true,history.enabled=false"
    (container,) = deployment(bare)["template"]["spec"]["containers"]
    assert [one["name"] for one in container["env"]] == ["POD_IP"]


def test_yarns_rest_and_its_rights_are_there_where_they_are_asked_for():
    on = ("--set=rest.enabled=true",)
    assert "--rest" not in deployment()["template"]["spec"]["containers"][0]["args"]
    assert deployment(*on)["template"]["spec"]["containers"][0]["args"][-1] == "--rest"
    whom = deployment(*on, "--set=rest.audience=treadle")["template"]["spec"]["containers"][0]["args"]
    assert whom[-2:] == ["--rest", "--rest-audience=treadle"]
    assert "set rest.enabled or page.enabled as well" in template("--set=rest.audience=treadle").stderr
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
    closed = "networkPolicy.restrictEgress=true"
    (policy,) = of_kind_named("treadle", "NetworkPolicy", f"--set=history.urlSecret.name=db,{closed}")
    assert {"ports": [{"port": 5432, "protocol": "TCP"}]} in policy["spec"]["egress"]
    (policy,) = of_kind_named("treadle", "NetworkPolicy", f"--set={closed}")
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


def test_every_value_is_in_the_readme():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    readme = (CHART / "README.md").read_text()
    assert [name for name in values if f"`{name}" not in readme] == []


def test_the_versions_of_chart_and_package_are_one():
    import treadle

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (treadle.__version__, treadle.__version__), (
        "a release pushes the chart by it"
    )


def test_the_notes_name_three_commands_to_try():
    answer = helm("install", "treadle", str(CHART), "--namespace=treadle-system", "--dry-run=client")
    assert answer.returncode == 0, answer.stderr
    notes = answer.stdout.partition("NOTES:")[2]
    assert sum(line.strip().startswith("kubectl ") for line in notes.splitlines()) == 3
