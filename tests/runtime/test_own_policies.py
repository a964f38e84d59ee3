"""A policy that an administrator installed and that raises in the running process harms its own queue and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from kube.access import served, until
from runtime.services import add_nodes, add_queue, condition, get, treadle
from treadle.core.rules.policies import POLICIES, policy_named
from treadle.policies import Cluster, Compare, Policy


class Unfair(Policy):
    """A policy whose shares raise once it is ``broken``: what it is told to."""

    name = "acme.unfair"
    children = frozenset({"drf"})
    broken: BaseException | None = None

    def compare(self, cluster: Cluster) -> Compare:
        return policy_named("drf").compare(cluster)

    def shares(self, *told: Any) -> list[list[int]]:
        if self.broken is not None:
            raise self.broken
        return super().shares(*told)


@pytest.mark.parametrize("error", [ZeroDivisionError("the shares of acme"), SystemExit("the shares of acme")], ids=repr)
async def test_a_policy_whose_shares_raise_costs_the_queue_that_names_it_its_order_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    policy = Unfair()
    monkeypatch.setitem(POLICIES, policy.name, policy)
    async with served(bookmark_seconds=0.05) as api:
        add_nodes(api)
        for name in ("root", "root.own.a", "root.own.b", "root.other"):
            add_queue(api, name)
        add_queue(api, "root.own", fair={"schedulingPolicy": policy.name})

        def ready(name: str) -> dict[str, Any]:
            return condition(api.get("queues", name), "Ready")

        async with treadle(api, listen="127.0.0.1:0") as service:
            await until(lambda: ready("root.other").get("status") == "True")
            policy.broken = error
            assert (await get(service, "/metrics"))[0] == 200
            await until(lambda: ready("root.own").get("reason") == "InternalError")
            assert f"{type(error).__name__}: the shares of acme" in ready("root.own")["message"]
            assert ready("root.own.a")["status"] == ready("root.own.b")["status"] == "True"
            add_queue(api, "root.later")
            service._list_now.set()
            await until(lambda: ready("root.later").get("status") == "True")
            assert (await get(service, "/metrics"))[0] == 200
            assert (await get(service, "/healthz"))[0] == 200
            assert service.engine.care.errors["shares"] > 0
            policy.broken = None
            api.patch("queues", "root.own", {"spec": {"fair": {"weight": "3"}}})
            service._list_now.set()
            await until(lambda: ready("root.own").get("status") == "True")
