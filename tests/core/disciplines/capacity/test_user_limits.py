"""A user at the limit of a leaf is looked at again as soon as the limit has grown, within the pass, as YARN does with every heartbeat."""

from __future__ import annotations

from collections import Counter

from core.builders import by_queue
from core.clusters import Cluster
from treadle.controllers.capacity import capacity as read
from treadle.core.events import PodGone
from treadle.core.model import CAPACITY
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare


def leaf(path: str, guaranteed: str, **fields: object) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions={"": PartitionShare(read("guaranteed", guaranteed))}, **fields)  # type: ignore[arg-type]


def a_cluster(cpu: int, **queues: CapacityQueueSpec) -> Cluster:
    cluster = Cluster()
    cluster.scheduler(discipline=CAPACITY).node("only", cpu=cpu, memory=4 * cpu, pods=10_000)
    for name, block in queues.items():
        cluster.queue(f"root.{name}", capacity=block)
    return cluster


def test_two_users_of_half_a_leaf_each_are_served_in_one_pass() -> None:
    cluster = a_cluster(1_000, a=leaf("root.a", "1w", user_limit=50.0, user_limit_factor=-1.0))
    for user in ("ann", "bob"):
        for number in range(500):
            cluster.pod(f"{user}-{number}", "root.a", user, user=user)
    assert len(cluster.plan()) == 1_000


def test_a_queue_with_several_users_gets_its_guarantee_before_another_one_borrows() -> None:
    cluster = a_cluster(
        40,
        small=leaf("root.small", "10%", user_limit_factor=-1.0),
        large=leaf("root.large", "90%", user_limit=25.0, user_limit_factor=-1.0),
    )
    for number in range(40):
        cluster.pod(f"small-{number}", "root.small", "small", user="eve")
        for user in ("ann", "bob", "cid"):
            cluster.pod(f"{user}-{number}", "root.large", user, user=user)
    assert by_queue(cluster.plan()) == {"root.small": 4, "root.large": 36}


def test_users_with_many_applications_stay_within_a_pod_of_each_other() -> None:
    cluster = a_cluster(60, a=leaf("root.a", "1w", user_limit=10.0, user_limit_factor=-1.0))
    owners = {}
    for user in ("ann", "bob", "cid"):
        for number in range(10):
            for each in range(4):
                name = f"{user}-{number}-{each}"
                owners[name] = user
                cluster.pod(name, "root.a", f"{user}-{number}", user=user, created=float(number))
    held = Counter(owners[bind.uid] for bind in cluster.plan())
    assert sum(held.values()) == 60
    assert max(held.values()) - min(held.values()) <= 2


def test_a_user_whose_next_pod_fits_nowhere_does_not_hold_up_the_other_pods_of_the_user() -> None:
    cluster = a_cluster(20, a=leaf("root.a", "1w", user_limit=50.0, user_limit_factor=-1.0))
    for number in range(12):
        cluster.pod(f"ann-{number}", "root.a", "ann", user="ann", created=1.0)
    cluster.pod("bob-large", "root.a", "bob-first", cpu=30, user="bob", created=2.0)
    for number in range(12):
        cluster.pod(f"bob-{number}", "root.a", "bob-second", user="bob", created=3.0)
    held = Counter(bind.uid.partition("-")[0] for bind in cluster.plan())
    assert held == {"ann": 11, "bob": 9}  # who is at the limit, not above it, gets one more pod


def test_users_who_came_and_went_leave_nothing_behind() -> None:
    cluster = a_cluster(1_000, a=leaf("root.a", "1w", user_limit_factor=-1.0))
    cluster.pod("stays", "root.a", "stays", user="ann")
    cluster.plan()
    for number in range(200):  # nobody's limit is ever asked for: all are below what each may have in any case
        cluster.pod(f"p{number}", "root.a", f"app-{number}", user=f"user-{number}")
        assert len(cluster.plan()) == 1
        cluster.core.handle(PodGone(f"p{number}"), cluster.now)
    cluster.plan()
    application = next(iter(cluster.core.state.applications.values()))
    assert application.quota is not None
    users = application.quota.leaf.users
    assert list(users.users) == ["ann"]
    assert {user.name for touched in users.touched.values() for user in touched} <= {"ann"}
