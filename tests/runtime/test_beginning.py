"""When a service begins to decide: after everything that was listed is handled, and a predecessor's binds have landed."""

from __future__ import annotations

from core.builders import a_pod, replaced
from treadle.core.events import NodeSeen, PodSeen
from treadle.core.model import NodeSpec
from treadle.kube.auth import Access
from treadle.runtime.service import Options, Service

NODE = NodeSeen(NodeSpec("n", {"cpu": 4000, "memory": 1 << 34, "pods": 110}))


def listed(settle: float) -> Service:
    """A service that has listed everything and is not running."""
    service = Service(Access("http://127.0.0.1:1"), Options(listen="", settle=settle))
    service._listed = True
    for reflector in service.sources.all.values():
        reflector.synced.set()
    return service


async def test_nothing_is_decided_while_a_part_of_the_first_list_is_not_handled() -> None:
    service = listed(settle=0.0)
    service.engine.put(NODE)
    assert not service._may_plan()

    service.engine._take()
    assert service._may_plan()


async def test_nothing_is_decided_until_it_has_been_quiet_for_a_while() -> None:
    assert not listed(settle=1000.0)._may_plan()


async def test_a_pod_bound_by_a_predecessor_after_the_list_prolongs_the_quiet() -> None:
    service = listed(settle=0.0)
    for event in (NODE, PodSeen(a_pod("p")), PodSeen(replaced(a_pod("p"), node="n"))):
        service.engine.put(event)
    service.engine._take()

    assert service.core.state.adopted_at > float("-inf")
