"""What the chart lets the scheduler do, and whom it lets in: rights, identities, queues and doors."""

import itertools

import yaml

from chart.rendering import CHART, MONITORED, deployment, of_kind, of_kind_named, template


def test_kubelets_are_read_only_by_who_asks_for_it():
    def rights(*arguments):
        roles = of_kind("ClusterRole", *arguments)
        return [rule["verbs"] for role in roles for rule in role["rules"] if "nodes/proxy" in rule.get("resources", ())]

    assert rights() == []
    assert rights("--set=opportunistic.usage.kubelets=true") == [["get"]]


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
        ("treadle.dev", "administratorlists"): {"get", "patch", "create"},
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
            let_through = name == "treadle-opportunistic" or name.startswith("treadle-warnings-")
            assert policy["spec"]["failurePolicy"] == ("Ignore" if let_through else "Fail"), name
            bindings = of_kind(f"{kind}Binding", served, more)
            assert sum(one["spec"]["policyName"] == name for one in bindings) == 1
    (policy,) = of_kind_named("treadle-identity", "MutatingAdmissionPolicy", served, more)
    ours, people = (one["expression"] for one in policy["spec"]["matchConditions"])
    assert ours.endswith('in ["treadle","yunikorn"]')
    assert people == '!(request.userInfo.username in ["system:kcm","system:serviceaccount:treadle-system:treadle"] || false)'


def test_edits_of_queues_are_judged_by_what_the_scheduler_publishes_and_fail_closed():
    name = "treadle-administrators"
    (policy,) = of_kind_named("treadle-administration", "ValidatingAdmissionPolicy")
    (binding,) = of_kind_named("treadle-administration", "ValidatingAdmissionPolicyBinding")
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert policy["spec"]["paramKind"] == {"apiVersion": "treadle.dev/v1alpha1", "kind": "AdministratorList"}
    where = {"name": name, "namespace": "treadle-system", "parameterNotFoundAction": "Deny"}
    assert (binding["spec"]["paramRef"], binding["spec"]["validationActions"]) == (where, ["Deny"])
    (role,) = of_kind_named("treadle-leader", "Role")
    rules = [(rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"] if rule["resources"] == ["administratorlists"]]
    assert rules == [([name], ["get", "patch"]), (None, ["create"])], "it changes no other"
    assert not any("configmaps" in rule["resources"] for rule in role["rules"])
    roles = {one["metadata"]["name"]: one["rules"] for one in of_kind("ClusterRole")}
    assert roles["treadle-queue-admin"][-1] == {
        "apiGroups": ["treadle.dev"],
        "resources": ["queues"],
        "verbs": ["administer", "view"],
    }
    assert not any("administer" in rule["verbs"] for rule in roles["treadle-team-admin"])

    off = "--set=access.administration.enabled=false"
    assert of_kind_named("treadle-administration", "ValidatingAdmissionPolicy", off) == []
    (container,) = deployment(off)["template"]["spec"]["containers"]
    assert not any("administrators" in argument for argument in container["args"])
    assert "treadle-team-admin" not in {one["metadata"]["name"] for one in of_kind("ClusterRole", off)}


def test_whom_queues_let_in_is_a_choice_of_three():
    for choice in ("namespace", "closed", "open"):
        (container,) = deployment(f"--set=access.default={choice}")["template"]["spec"]["containers"]
        assert f"--default-access={choice}" in container["args"]
    assert "default" in template("--set=access.default=anybody").stderr


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


def test_policies_about_our_kinds_are_about_all_of_their_versions():
    served = ("--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",)
    rules = [
        rule
        for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")
        for one in of_kind(kind, *served)
        for rule in one["spec"]["matchConstraints"]["resourceRules"]
        if rule["apiGroups"] == ["treadle.dev"]
    ]
    assert len(rules) >= 3
    assert {tuple(rule["apiVersions"]) for rule in rules} == {("*",)}


def rules_of(kind, name, *arguments):
    """The rules of a role."""
    return next(one["rules"] for one in of_kind(kind, *arguments) if one["metadata"]["name"] == name)


def test_changes_of_queues_give_the_right_to_take_them_back_and_need_tokens_for_the_api_server():
    on = ("--set=rest.enabled=true,rest.queueChanges=true",)
    assert deployment(*on)["template"]["spec"]["containers"][0]["args"][-1] == "--queue-changes=treadle-queue-changes"
    written = {
        "apiGroups": ["treadle.dev"],
        "resources": ["queues", "schedulers"],
        "verbs": ["get", "create", "update", "delete"],
    }
    assert written in rules_of("ClusterRole", "treadle-rest", *on)
    log = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["treadle-queue-changes"], "verbs": ["get", "patch"]}
    assert log in rules_of("Role", "treadle-leader", *on)
    assert written not in rules_of("ClusterRole", "treadle-rest", "--set=rest.enabled=true")
    assert "set rest.enabled as well" in template("--set=rest.queueChanges=true").stderr
    assert "rest.audience must be empty" in template(*on, "--set=rest.audience=treadle").stderr
