"""Who may talk to the chart's pods, and to whom they may."""

import json

from chart.rendering import deployment, of_kind, of_kind_named


def policy(name, *arguments):
    (found,) = of_kind_named(name, "NetworkPolicy", *arguments)
    return found["spec"]


CLOSED = "--set=networkPolicy.restrictEgress=true"


def test_who_tells_what_nodes_use_can_be_reached_where_the_network_is_closed():
    scheduler = policy("treadle", CLOSED, "--set=agent.enabled=true,networkPolicy.usagePorts={9090}")
    assert [one["port"] for one in scheduler["egress"][-1]["ports"]] == [9101, 9090]
    assert len(policy("treadle", CLOSED)["egress"]) == 2


def test_nobody_is_kept_from_reaching_the_api_server_unless_that_is_asked_for():
    scheduler = policy("treadle")
    assert scheduler["policyTypes"] == ["Ingress"]
    assert "egress" not in scheduler
    closed = policy("treadle", CLOSED, "--set=networkPolicy.apiServerPorts={16443}")
    assert closed["policyTypes"] == ["Ingress", "Egress"]
    assert closed["egress"][1] == {"ports": [{"port": 16443, "protocol": "TCP"}]}
    assert of_kind("NetworkPolicy", "--set=networkPolicy.enabled=false,agent.enabled=true") == []


def test_an_agent_is_asked_by_the_scheduler_and_asks_the_api_server_only_where_it_may_act():
    agent = policy("treadle-agent", CLOSED, "--set=agent.enabled=true")
    assert agent["ingress"] == [{"ports": [{"port": "agent", "protocol": "TCP"}]}]
    assert (agent["policyTypes"], "egress" in agent) == (["Ingress", "Egress"], False)
    alone = "--set=agent.enabled=true,agent.alone.enabled=true,agent.alone.cpuPercent=85"
    assert policy("treadle-agent", CLOSED, alone)["egress"] == policy("treadle", CLOSED)["egress"]
    assert "egress" not in policy("treadle-agent", alone)
    assert policy("treadle-agent", alone)["policyTypes"] == ["Ingress"]


def test_clients_may_be_named_and_probes_and_the_webhook_stay_open_to_nodes():
    whom = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    named = (
        "--set=agent.enabled=true,opportunistic.webhook.enabled=true",
        "--set-json=networkPolicy.clients=" + json.dumps([whom]),
    )
    served, nodes = policy("treadle", *named)["ingress"]
    assert served == {"ports": [{"port": "https", "protocol": "TCP"}], "from": [whom]}
    assert nodes == {"ports": [{"port": "probes", "protocol": "TCP"}, {"port": "webhook", "protocol": "TCP"}]}
    (agent,) = policy("treadle-agent", *named)["ingress"]
    scheduler = {"podSelector": deployment()["selector"]}
    assert agent["from"] == [scheduler, whom]


def test_the_pod_of_helm_test_talks_to_nobody():
    (pod,) = of_kind("Pod")
    closed = policy("treadle-test")
    assert closed["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert (closed["policyTypes"], closed.keys() & {"ingress", "egress"}) == (["Ingress", "Egress"], set())


def test_probes_and_the_service_are_all_that_is_let_in():
    (service,) = of_kind("Service")
    let_in = [one["port"] for rule in policy("treadle")["ingress"] for one in rule["ports"]]
    assert let_in == ["https", "probes"]
    assert [one["targetPort"] for one in service["spec"]["ports"]] == ["https"]


def test_copies_reach_each_other_where_one_passes_on_what_the_other_answers():
    whom = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    named = (CLOSED, "--set-json=networkPolicy.clients=" + json.dumps([whom]))
    copies = {"podSelector": deployment()["selector"]}
    for served in ("rest.enabled", "page.enabled"):
        scheduler = policy("treadle", *named, f"--set={served}=true")
        assert scheduler["ingress"][0]["from"] == [copies, whom]
        assert scheduler["egress"][-1] == {"ports": [{"port": "https", "protocol": "TCP"}], "to": [copies]}
    alone = "--set=page.enabled=true,replicaCount=1,leaderElection.enabled=false"
    assert policy("treadle", *named, alone)["ingress"][0]["from"] == [whom]
    assert len(policy("treadle", *named, alone)["egress"]) == 2
