"""Each hard rule about nodes, as kube-scheduler and the kubelet read it."""

import numpy as np
import pytest

from core.builders import a_node
from treadle.core.kernel.nodes.rules import affinity, declared_features, host_ports, static_refusal, taints, unschedulable
from treadle.core.kernel.nodes.rules.resources import fits, shortages
from treadle.core.model import Constraints, HostPort, Requirement, Taint, Toleration

GPU = Taint("gpu", "a100", "NoSchedule")
DRAIN = Taint("drain", "", "NoExecute")
SOFT = Taint("slow", "", "PreferNoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        (Toleration("gpu", "Equal", "a100", "NoSchedule"), GPU, True),
        (Toleration("gpu", "Equal", "a100"), GPU, True),
        (Toleration("gpu", "Equal", "h100"), GPU, False),
        (Toleration("gpu", "Exists"), GPU, True),
        (Toleration("gpu", "Exists", effect="NoExecute"), GPU, False),
        (Toleration("", "Exists"), GPU, True),
        (Toleration("", "Equal", "a100"), GPU, False),
        (Toleration("other", "Exists"), GPU, False),
        (Toleration("n", "Gt", "5"), Taint("n", "7", "NoSchedule"), True),
        (Toleration("n", "Lt", "5"), Taint("n", "7", "NoSchedule"), False),
        (Toleration("n", "Gt", "five"), Taint("n", "7", "NoSchedule"), False),
        (Toleration("n", "Lt", "9"), Taint("n", "7", "NoSchedule"), True),
        (Toleration("n", "Gt", "7"), Taint("n", "7", "NoSchedule"), False),
        (Toleration("n", "Lt", "7"), Taint("n", "7", "NoSchedule"), False),
        (Toleration("n", "Gt", "-5"), Taint("n", "-3", "NoSchedule"), True),
        (Toleration("n", "Gt", "5", "NoExecute"), Taint("n", "7", "NoSchedule"), False),
        (Toleration("other", "Gt", "5"), Taint("n", "7", "NoSchedule"), False),
        (Toleration("n", "Gt", "5"), Taint("n", "007", "NoSchedule"), False),
        (Toleration("n", "Gt", "5"), Taint("n", "1_000", "NoSchedule"), False),
        (Toleration("n", "Gt", "0"), Taint("n", "9223372036854775808", "NoSchedule"), False),
        (Toleration("n", "Gt", "0"), Taint("n", "", "NoSchedule"), False),
        (Toleration("n", "Unheard"), Taint("n", "7", "NoSchedule"), False),
    ],
)
def test_a_toleration_covers_a_taint(toleration: Toleration, taint: Taint, expected: bool) -> None:
    assert taints.tolerates(toleration, taint) is expected


def test_no_schedule_and_no_execute_keep_pods_away_and_prefer_no_schedule_does_not() -> None:
    assert taints.refuses(a_node("n", taints=(GPU,)), Constraints()) == "node(s) had untolerated taint(s)"
    assert taints.refuses(a_node("n", taints=(DRAIN,)), Constraints())
    assert not taints.refuses(a_node("n", taints=(SOFT,)), Constraints())


def test_a_cordoned_node_takes_only_who_tolerates_it() -> None:
    cordoned = a_node("n", unschedulable=True)
    assert unschedulable.refuses(cordoned, Constraints()) == "node(s) were unschedulable"
    tolerant = Constraints(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule"),))
    assert not unschedulable.refuses(cordoned, tolerant)


def test_a_pod_goes_only_to_nodes_that_declare_all_that_it_needs() -> None:
    wanted = Constraints(features=("Restarts", "Users"))
    assert declared_features.refuses(a_node("n"), wanted) == "node(s) didn't match Pod's required features"
    assert declared_features.refuses(a_node("n", features=("Restarts",)), wanted)
    assert not declared_features.refuses(a_node("n", features=("More", "Restarts", "Users")), wanted)
    assert not declared_features.refuses(a_node("n"), Constraints())


LABELS = {"zone": "a", "cores": "16", "thousand": "1_000", "plus": "+20"}


@pytest.mark.parametrize(
    ("what", "terms", "admitted"),
    [
        ("In", ((Requirement("zone", "In", ("a", "b")),),), True),
        ("In without the label", ((Requirement("disk", "In", ("ssd",)),),), False),
        ("NotIn", ((Requirement("zone", "NotIn", ("a",)),),), False),
        ("NotIn without the label", ((Requirement("disk", "NotIn", ("hdd",)),),), True),
        ("Exists", ((Requirement("zone", "Exists"),),), True),
        ("DoesNotExist", ((Requirement("zone", "DoesNotExist"),),), False),
        ("Gt", ((Requirement("cores", "Gt", ("8",)),),), True),
        ("Lt", ((Requirement("cores", "Lt", ("8",)),),), False),
        ("Gt of a number with an underscore", ((Requirement("thousand", "Gt", ("8",)),),), False),
        ("Gt of a number with a plus", ((Requirement("plus", "Gt", ("8",)),),), True),
        ("Gt of what is no number", ((Requirement("zone", "Gt", ("8",)),),), False),
        ("all expressions of a term", ((Requirement("zone", "Exists"), Requirement("disk", "Exists")),), False),
        ("any term", ((Requirement("disk", "Exists"),), (Requirement("zone", "Exists"),)), True),
        ("an empty term admits nothing", ((),), False),
        ("no term admits nothing", (), False),
        ("the node's name", ((Requirement("metadata.name", "In", ("n",), field=True),),), True),
        ("another node's name", ((Requirement("metadata.name", "In", ("m",), field=True),),), False),
        ("an unknown operator", ((Requirement("zone", "Like", ("a",)),),), False),
    ],
)
def test_required_node_affinity(what: str, terms: tuple[tuple[Requirement, ...], ...], admitted: bool) -> None:
    refused = affinity.refuses(a_node("n", labels=LABELS), Constraints(affinity=terms))
    assert (not refused) is admitted, what


def test_the_selector_and_the_affinity_must_both_hold() -> None:
    wanted = Constraints(selector=(("zone", "b"),), affinity=((Requirement("zone", "Exists"),),))
    assert affinity.refuses(a_node("n", labels=LABELS), wanted)
    assert not affinity.refuses(a_node("n", labels=LABELS), Constraints(selector=(("zone", "a"),)))


@pytest.mark.parametrize(
    ("wanted", "taken", "expected"),
    [
        (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        (("0.0.0.0", "UDP", 80), ("0.0.0.0", "TCP", 80), False),
        (("0.0.0.0", "TCP", 81), ("0.0.0.0", "TCP", 80), False),
    ],
)
def test_host_ports_clash(wanted: tuple[str, str, int], taken: tuple[str, str, int], expected: bool) -> None:
    assert host_ports.clash(HostPort(*wanted), HostPort(*taken)) is expected
    assert host_ports.free([HostPort(*wanted)], [HostPort(*taken)]) is not expected


def test_only_what_is_demanded_has_to_fit() -> None:
    assert fits([-5, 100, 3], ((1, 100), (2, 1)))
    assert not fits([-5, 100, 3], ((1, 101),))
    free = np.array([[0, 1], [100, 4], [0, 1]], dtype=np.int64)
    found = shortages(free, ((0, 1), (1, 5), (2, 1)), ["memory", "cpu", "pods"])
    assert {reason: short.tolist() for reason, short in found.items()} == {
        "Insufficient memory": [True, False],
        "Insufficient cpu": [False, True],
        "Too many pods": [True, False],
    }


def test_the_first_refusal_is_told_in_the_order_of_kube_scheduler() -> None:
    node = a_node("n", unschedulable=True, taints=(GPU,))
    assert static_refusal(node, Constraints(selector=(("zone", "x"),))) == "node(s) were unschedulable"
