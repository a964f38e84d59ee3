"""What kubelets tell: counters become rates, the times are theirs, and one that fails is missing by itself."""

from __future__ import annotations

import time

import pytest

from treadle.core.views.opportunistic import Wanted
from treadle.kube.errors import Unreachable
from treadle.kube.transport import Response
from treadle.usage.kubelets import Kubelets
from treadle.usage.source import NodeUse, PodUse
from usage.api import Api

BOTH = Wanted(("a", "b"))


def path(node: str) -> str:
    return f"/api/v1/nodes/{node}/proxy/metrics/resource"


def exposition(cpu: float, at: float, memory: int = 1 << 30, more: str = "") -> Response:
    text = f"""# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{{container="c",namespace="default",pod="p"}} 4.7 1395066363000
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total {cpu} {int(at * 1000)}
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes {memory:.10e} {int(at * 1000)}
{more}
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
"""
    return Response(200, text.encode())


def of_pod(cpu: float, at: float, pod: str = "p", memory: int = 1 << 20) -> str:
    labels = f'{{namespace="default",pod="{pod}"}}'
    return f"""pod_cpu_usage_seconds_total{labels} {cpu} {int(at * 1000)}
pod_memory_working_set_bytes{labels} {memory} {int(at * 1000)}"""


def asking(longest: float = 60.0) -> tuple[Api, Kubelets]:
    api = Api()
    return api, Kubelets(api, longest)  # type: ignore[arg-type]


async def test_two_readings_of_a_counter_make_a_rate_over_the_time_between_them() -> None:
    api, kubelets = asking()
    api.answers[path("a")] = exposition(100, 1000.0)
    for _ in range(2):
        assert (await kubelets.look(Wanted(("a",)))).nodes == [], "the same reading again says nothing"
    api.answers[path("a")] = exposition(115, 1010.0)
    found = await kubelets.look(Wanted(("a",)))
    assert found.nodes == [NodeUse("a", (("cpu", 1500), ("memory", 1 << 30)), 1010.0, 10.0)]
    assert (found.trouble, found.partly, found.pods) == ("", "", [])


@pytest.mark.parametrize(("cpu", "at"), [(50, 1010.0), (115, 1100.0), (115, 990.0), (115, 1000.0)])
async def test_a_counter_that_went_back_or_is_late_or_was_not_read_for_long_makes_no_rate(cpu: float, at: float) -> None:
    api, kubelets = asking()
    api.answers[path("a")] = exposition(100, 1000.0)
    await kubelets.look(Wanted(("a",)))
    api.answers[path("a")] = exposition(cpu, at)
    assert (await kubelets.look(Wanted(("a",)))).nodes == []


async def test_after_a_clock_that_was_ahead_is_set_right_a_counter_begins_anew() -> None:
    api, kubelets = asking()
    ahead = time.time() + 3600.0
    found = []
    for cpu, at in ((100, ahead), (110, time.time() - 20.0), (120, time.time() - 10.0)):
        api.answers[path("a")] = exposition(cpu, round(at, 3))
        found.append([one.usage[0] for one in (await kubelets.look(Wanted(("a",)))).nodes])
    assert found == [[], [], [("cpu", pytest.approx(1000, abs=2))]]


async def test_a_time_that_is_no_number_is_passed_over_and_fails_no_other_node() -> None:
    api, kubelets = asking()
    for cpu, at in ((100, 1000.0), (115, 1010.0)):
        api.answers[path("a")] = Response(200, b"node_cpu_usage_seconds_total 5 NaN\nnode_memory_working_set_bytes 7 NaN\n")
        api.answers[path("b")] = exposition(cpu, at)
        found = await kubelets.look(Wanted(("a", "b")))
    assert [one.node for one in found.nodes] == ["b"]


async def test_a_rate_that_cannot_be_is_not_told_and_fails_nobody() -> None:
    api, kubelets = asking()
    for step, (cpu, stamp) in enumerate((("0", "0"), ("1e18", "1e-310"))):
        api.answers[path("a")] = Response(200, f"node_cpu_usage_seconds_total {cpu} {stamp}\n".encode())
        api.answers[path("b")] = exposition(100 + step, 1000.0 + step)
        found = await kubelets.look(BOTH)
    assert [one.node for one in found.nodes] == ["b"]


async def test_pods_are_read_only_where_they_are_wanted() -> None:
    api, kubelets = asking()
    wanted = Wanted(("a",), {("default", "p"): "uid-p"})
    for step in range(2):
        more = f"{of_pod(10 + step, 1000.0 + 10 * step)}\n{of_pod(7, 1000.0 + step, 'other')}"
        api.answers[path("a")] = exposition(100, 1000.0 + step, more=more)
        found = await kubelets.look(wanted)
    assert found.pods == [PodUse("uid-p", (("cpu", 100), ("memory", 1 << 20)), 1010.0, 10.0)]


async def test_one_that_fails_is_unknown_by_itself_and_is_named() -> None:
    api, kubelets = asking()
    api.answers[path("b")] = Response(403, b'{"message": "nodes \\"b\\" is forbidden"}')
    for step in range(2):
        api.answers[path("a")] = exposition(100 + step, 1000.0 + step)
        found = await kubelets.look(BOTH)
    assert [one.node for one in found.nodes] == ["a"]
    assert found.trouble == ""
    words = '1 of 2 kubelets do not tell what is used: b: the right to get nodes/proxy is missing: 403 nodes "b" is forbidden'
    assert found.partly == words


async def test_where_all_fail_that_is_the_trouble() -> None:
    api, kubelets = asking()
    api.answers[path("a")] = Unreachable("no route")
    api.answers[path("b")] = Response(200, b"node_cpu_usage_seconds_total much\n")
    found = await kubelets.look(BOTH)
    assert found.trouble.startswith("2 of 2 kubelets do not tell what is used: a: no route; b: what it answers cannot be read: ")


@pytest.mark.parametrize("value", ["NaN", "-1", "+Inf", "1e300"])
async def test_what_is_no_amount_is_passed_over(value: str) -> None:
    api, kubelets = asking()
    for step in range(2):
        text = f"node_cpu_usage_seconds_total {100 + step} {1000 + step}000\nnode_memory_working_set_bytes {value} {1000 + step}000\n"
        api.answers[path("a")] = Response(200, text.encode())
        found = await kubelets.look(Wanted(("a",)))
    assert found.nodes == [NodeUse("a", (("cpu", 1000),), 1001.0, 1.0)]


async def test_no_more_than_a_few_are_asked_at_once() -> None:
    api, kubelets = asking()
    names = tuple(f"n{number}" for number in range(100))
    found = await kubelets.look(Wanted(names))
    assert len(api.asked) == 100
    assert found.trouble.endswith("; and 97 more")
