"""The webhook that stamps who made an object, as the chart renders it: the same objects as the policies, closed where it is down, and nothing in the way of Treadle's own start."""

import pytest

from chart.rendering import CHART, deployment, helm, of_kind, of_kind_named, template

ON = ("--set=identity.webhook.enabled=true",)
POLICIES = ("--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",)
MORE = '--set-json=opportunistic.schedulerNames=["yunikorn"],identity.controllers=["system:kcm"],identity.controllerPrefixes=["system:serviceaccount:kube-system:", "oidc:"]'
POLICY_OF = {"objects": "treadle-identity", "templates": "treadle-identity-templates", "cronjobs": "treadle-identity-cronjobs"}


def hooks(*arguments):
    (configuration,) = of_kind_named("treadle-identity", "MutatingWebhookConfiguration", *ON, *arguments)
    return {hook["name"].partition(".")[0]: hook for hook in configuration["webhooks"]}


def source(*arguments):
    (container,) = deployment(*arguments)["template"]["spec"]["containers"]
    return [one.partition("=")[2] for one in container["args"] if one.startswith("--user-source=")]


def named(*arguments):
    """The kinds and names of what there is about identities."""
    kinds = ("MutatingAdmissionPolicy", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ClusterRole")
    return {
        (kind, one["metadata"]["name"])
        for kind in kinds
        for one in of_kind(kind, *arguments)
        if "identity" in one["metadata"]["name"]
    }


@pytest.mark.parametrize("more", [(), (MORE,)], ids=["defaults", "others"])
def test_it_is_about_the_same_requests_as_the_policies(more):
    found = hooks(*more)
    assert found.keys() == POLICY_OF.keys()
    for kind, hook in found.items():
        (policy,) = of_kind_named(POLICY_OF[kind], "MutatingAdmissionPolicy", *POLICIES, *more)
        assert hook["rules"] == policy["spec"]["matchConstraints"]["resourceRules"]
        assert hook["matchConditions"][:2] == policy["spec"]["matchConditions"]
        assert hook["failurePolicy"] == policy["spec"]["failurePolicy"] == "Fail"
        assert hook["reinvocationPolicy"] == policy["spec"]["reinvocationPolicy"]
        assert [one["name"] for one in hook["matchConditions"][2:]] == ([] if kind == "objects" else ["unstamped"])
        assert (hook["sideEffects"], hook["admissionReviewVersions"]) == ("None", ["v1"])
        assert "caBundle" not in hook["clientConfig"], "an upgrade leaves what the scheduler wrote"
        (true,) = of_kind_named(f"treadle-identity-true-{kind}", "ValidatingAdmissionPolicy", *ON, *more)
        assert true["spec"]["matchConstraints"]["resourceRules"] == hook["rules"]
        assert true["spec"]["matchConditions"] == hook["matchConditions"][:2]
        assert true["spec"]["failurePolicy"] == "Fail"
        (binding,) = of_kind_named(f"treadle-identity-true-{kind}", "ValidatingAdmissionPolicyBinding", *ON, *more)
        assert binding["spec"] == {"policyName": true["metadata"]["name"], "validationActions": ["Deny"]}


def test_nothing_of_the_clusters_own_or_of_treadles_own_waits_for_it():
    for hook in hooks().values():
        (left_out,) = hook["namespaceSelector"]["matchExpressions"]
        assert (left_out["key"], left_out["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
        assert left_out["values"] == ["kube-system", "treadle-system"]
    assert deployment(*ON)["template"]["spec"]["schedulerName"] == "default-scheduler"


def test_it_stamps_instead_of_the_policies_where_it_is_asked_for_and_never_beside_them():
    kept = {("ValidatingAdmissionPolicy", f"treadle-identity-{end}") for end in ("kept", "bindings")}
    true = {("ValidatingAdmissionPolicy", f"treadle-identity-true-{kind}") for kind in POLICY_OF}
    for served in ((), POLICIES):
        assert named(*ON, *served) == {("MutatingWebhookConfiguration", "treadle-identity")} | kept | true
        assert source(*ON, *served) == ["stamps"]
    assert named() == set()
    assert source() == ["namespace"]
    assert "MutatingWebhookConfiguration" not in {kind for kind, _ in named(*POLICIES)}
    for other in ("namespace", "claims"):
        answer = template(*ON, f"--set=identity.source={other}")
        assert answer.returncode != 0
        assert (
            f"identity.webhook.enabled has the scheduler write stamps, which identity.source {other} does not go by"
            in answer.stderr
        )


def test_it_shares_the_port_of_the_other_webhook_and_each_configuration_is_kept_by_name():
    both = "--set=opportunistic.webhook.enabled=true"
    called = hooks()["objects"]["clientConfig"]["service"]
    assert called == {"name": "treadle-webhook", "namespace": "treadle-system", "path": "/stamp-identity", "port": 443}
    for arguments, names in ((ON, ["treadle-identity"]), ((*ON, both), ["treadle-opportunistic", "treadle-identity"])):
        (service,) = of_kind_named("treadle-webhook", "Service", *arguments)
        assert service["spec"]["ports"] == [{"name": "webhook", "port": 443, "targetPort": "webhook", "protocol": "TCP"}]
        (role,) = of_kind_named("treadle-webhook", "ClusterRole", *arguments)
        (rule,) = role["rules"]
        assert (rule["resources"], rule["resourceNames"], rule["verbs"]) == (
            ["mutatingwebhookconfigurations"],
            names,
            ["get", "patch"],
        )
        (policy,) = of_kind_named("treadle", "NetworkPolicy", *arguments)
        assert {"port": "webhook", "protocol": "TCP"} in policy["spec"]["ingress"][1]["ports"]
        (container,) = deployment(*arguments)["template"]["spec"]["containers"]
        assert {"name": "webhook", "containerPort": 9443, "protocol": "TCP"} in container["ports"]
        said = dict(one.split("=") for one in container["args"] if one.startswith("--webhook"))
        assert said["--webhook-listen"] == "0.0.0.0:9443"
        assert said["--webhook-host"] == "treadle-webhook.treadle-system.svc"
        assert said["--webhook-stamps"] == "treadle-identity"
        assert said.get("--webhook-name") == (names[0] if len(names) > 1 else None)
    assert of_kind_named("treadle-webhook", "Service") == []


def test_a_copy_that_goes_answers_until_the_api_server_has_heard_of_it():
    (container,) = deployment(*ON)["template"]["spec"]["containers"]
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    (container,) = deployment()["template"]["spec"]["containers"]
    assert "lifecycle" not in container
    assert template(*ON, "--set=terminationGracePeriodSeconds=10").returncode == 0
    answer = template(*ON, "--set=terminationGracePeriodSeconds=9")
    assert "terminationGracePeriodSeconds 9 is too short, at least 10 are needed" in answer.stderr
    assert template("--set=terminationGracePeriodSeconds=9").returncode == 0


def test_how_long_the_api_server_waits_is_a_value():
    assert {hook["timeoutSeconds"] for hook in hooks().values()} == {5}
    assert {hook["timeoutSeconds"] for hook in hooks("--set=identity.webhook.timeoutSeconds=2").values()} == {2}
    assert "/identity/webhook/timeoutSeconds" in template("--set=identity.webhook.timeoutSeconds=31").stderr


def notes(*arguments):
    answer = helm("install", "treadle", str(CHART), "--namespace=treadle-system", "--dry-run=client", *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.partition("NOTES:")[2]


def test_the_notes_name_the_value_where_nobody_stamps_and_what_waits_where_the_webhook_does():
    assert "the user of each is its namespace" in notes()
    assert "With identity.webhook.enabled the scheduler stamps instead." in notes()
    said = notes(*ON)
    assert "the user of each is its namespace" not in said
    assert "While no copy runs the API server refuses new pods for it" in said
    assert "outside of kube-system and treadle-system" in said
