"""A way in from outside, where it is asked for."""

from chart.rendering import of_kind, rendered, template

ON = "--set=ingress.enabled=true,ingress.host=treadle.example"


def test_there_is_none_unless_it_is_asked_for_by_a_name():
    assert "Ingress" not in {one["kind"] for one in rendered()}
    answer = template("--set=ingress.enabled=true")
    assert answer.returncode != 0
    assert "ingress.host is the name by which clients come, and it is empty" in answer.stderr


def test_it_leads_to_the_port_of_the_service_for_the_rest_alone_and_always_by_tls():
    (found,) = of_kind("Ingress", ON)
    (service,) = of_kind("Service")
    (rule,) = found["spec"]["rules"]
    assert rule["host"] == "treadle.example"
    assert [one["path"] for one in rule["http"]["paths"]] == ["/ws/v1/cluster/reservation", "/resourceestimator", "/openapi/v3"]
    for path in rule["http"]["paths"]:
        assert path["backend"]["service"] == {
            "name": service["metadata"]["name"],
            "port": {"name": service["spec"]["ports"][0]["name"]},
        }
    assert found["spec"]["tls"] == [{"hosts": ["treadle.example"]}]
    assert "ingressClassName" not in found["spec"]


def test_class_certificate_and_annotations_are_the_controllers_business():
    key = r"nginx\.ingress\.kubernetes\.io/backend-protocol"
    settings = f"--set=ingress.className=nginx,ingress.tlsSecret=front,ingress.annotations.{key}=HTTPS,tls.enabled=false"
    (found,) = of_kind("Ingress", ON, settings)
    assert found["spec"]["ingressClassName"] == "nginx"
    assert found["spec"]["tls"][0]["secretName"] == "front"
    assert found["metadata"]["annotations"] == {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
    assert found["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] == {"name": "http"}
