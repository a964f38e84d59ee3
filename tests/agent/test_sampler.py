"""Samples over a pretended cgroup hierarchy of either driver, through all that comes and goes."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from agent.cgroup_tree import Tree
from treadle.agent import cgroups
from treadle.agent.cgroups import Group, pod_uid, pressures
from treadle.agent.sampler import PRESSURE_EVERY, Sample, Sampler

ONE, TWO, THREE = "1f0c-aa", "2f0c-bb", "3f0c-cc"
MIB = 1 << 20


@pytest.fixture(params=["systemd", "cgroupfs"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "cgroup", systemd=request.param == "systemd")
    made.all()
    return made


def taken(sampler: Sampler, clock: float) -> Sample:
    sample = sampler.take(1000.0 + clock, clock)
    assert sample is not None, sampler.problem
    return sample


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_pods_of_every_class_are_found_by_their_uid(tree: Tree) -> None:
    for uid, quality in ((ONE, ""), (TWO, "burstable"), (THREE, "besteffort")):
        tree.pod(uid, quality, cpu=7, memory=5 * MIB, cache=2 * MIB)
    sample = taken(Sampler(str(tree.mount)), 1.0)
    assert sample.pods.keys() == {ONE, TWO, THREE}
    assert {(usage.cpu_total, usage.memory) for usage in sample.pods.values()} == {(7, 3 * MIB)}


def test_cpu_is_the_rate_since_the_last_sample_and_unknown_in_the_first(tree: Tree) -> None:
    sampler = Sampler(str(tree.mount))
    tree.all(cpu=1_000_000)
    tree.pod(ONE, "burstable", cpu=500_000)
    first = taken(sampler, 10.0)
    assert (first.seconds, first.all.cpu, first.pods[ONE].cpu) == (0.0, None, None)
    tree.all(cpu=4_000_000)
    tree.pod(ONE, "burstable", cpu=1_250_000)
    second = taken(sampler, 12.0)
    assert (second.at, second.seconds, second.all.cpu, second.pods[ONE].cpu) == (1012.0, 2.0, 1500, 375)


def test_memory_is_the_working_set_and_never_below_nothing(tree: Tree) -> None:
    tree.all(memory=10 * MIB, cache=4 * MIB)
    tree.pod(ONE, memory=MIB, cache=2 * MIB)
    sample = taken(Sampler(str(tree.mount)), 1.0)
    assert (sample.all.memory, sample.pods[ONE].memory) == (6 * MIB, 0)


def test_pressure_is_told_for_each_resource_that_the_kernel_has(tree: Tree) -> None:
    tree.pod(ONE, io_pressure=None, cpu_pressure="some avg10=3.00 avg60=0.00 avg300=0.00 total=42\n")
    sample = taken(Sampler(str(tree.mount)), 1.0)
    assert pressures(sample.all.waits)["io"] == (1.25, 0.25, 2_500_000, 500_000)
    assert pressures(sample.pods[ONE].waits) == {"cpu": (3.0, 0.0, 42, 0), "memory": (1.25, 0.25, 2_500_000, 500_000)}


def test_the_pressure_of_all_pods_is_of_now_and_that_of_each_follows_within_five_samples(tree: Tree) -> None:
    def total(number: int) -> str:
        return f"some avg10=0.00 avg60=0.00 avg300=0.00 total={number}\n"

    names = [f"{number}-x" for number in range(7)]
    sampler = Sampler(str(tree.mount))
    seen: dict[str, set[int]] = {uid: set() for uid in names}
    for number in range(2 * PRESSURE_EVERY):
        tree.all(io_pressure=total(number))
        for uid in names:
            tree.pod(uid, "burstable", io_pressure=total(number))
        sample = taken(sampler, number + 1.0)
        assert pressures(sample.all.waits)["io"][2] == number
        for uid in names:
            read = pressures(sample.pods[uid].waits)["io"][2]
            assert number - read < PRESSURE_EVERY
            seen[uid].add(read)
    assert all(len(reads) <= 3 for reads in seen.values()), "each is looked at when it comes, and then every fifth time"


def test_without_a_memory_controller_memory_is_unknown_and_not_zero(tree: Tree) -> None:
    tree.pod(ONE, memory_current=None, memory_stat=None)
    assert taken(Sampler(str(tree.mount)), 1.0).pods[ONE].memory is None


def test_a_pod_that_goes_leaves_no_file_open_and_one_that_comes_is_seen(tree: Tree) -> None:
    sampler = Sampler(str(tree.mount))
    path = tree.pod(ONE, "burstable")
    taken(sampler, 1.0)
    before = open_files()
    tree.remove(path)
    tree.pod(TWO, "burstable", cpu=5)
    sample = taken(sampler, 2.0)
    assert list(sample.pods) == [TWO]
    assert sample.pods[TWO].cpu is None
    assert open_files() == before
    sampler.close()
    assert open_files() == before - 12


def test_a_pod_whose_cgroup_is_made_anew_starts_anew(tree: Tree) -> None:
    sampler = Sampler(str(tree.mount))
    path = tree.pod(ONE, cpu=9_000_000)
    taken(sampler, 1.0)
    path.rename(tree.mount / "gone")  # keeps the inode in use, so that the new one is another
    tree.pod(ONE, cpu=1_000)
    sample = taken(sampler, 2.0)
    assert (sample.pods[ONE].cpu, sample.pods[ONE].cpu_total) == (None, 1_000)
    tree.pod(ONE, cpu=101_000)
    assert taken(sampler, 3.0).pods[ONE].cpu == 100


def test_a_counter_that_went_back_gives_no_rate(tree: Tree) -> None:
    sampler = Sampler(str(tree.mount))
    tree.pod(ONE, cpu=9_000_000)
    taken(sampler, 1.0)
    tree.pod(ONE, cpu=10)
    assert taken(sampler, 2.0).pods[ONE].cpu is None


def test_a_cgroup_that_vanishes_between_listing_and_opening_is_left_out(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(str(tree.mount))
    tree.pod(ONE)
    tree.pod(TWO)
    opened = cgroups.os.open

    def vanishing(path: str, *rest: int) -> int:
        if "1f0c" in path:
            raise FileNotFoundError(2, "gone", path)
        return opened(path, *rest)

    monkeypatch.setattr(cgroups.os, "open", vanishing)
    assert list(taken(sampler, 1.0).pods) == [TWO]


def test_a_cgroup_that_vanishes_while_it_is_read_is_left_out_and_closed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(str(tree.mount))
    tree.pod(ONE, "besteffort")
    tree.pod(TWO, "besteffort")
    taken(sampler, 1.0)
    before = open_files()
    real = Group.working_set

    def working_set(self: Group) -> int | None:
        if self is sampler._pods.get(ONE):
            monkeypatch.setattr(cgroups.os, "pread", no_device)
        try:
            return real(self)
        finally:
            monkeypatch.setattr(cgroups.os, "pread", pread)

    pread = os.pread

    def no_device(*_: int) -> bytes:
        raise OSError(19, "No such device")

    monkeypatch.setattr(Group, "working_set", working_set)
    assert list(taken(sampler, 2.0).pods) == [TWO]
    assert open_files() == before - 6


def test_a_kernel_without_pressure_says_nothing_of_it(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    pread = os.pread

    def without(file: int, most: int, at: int) -> bytes:
        if Path(f"/proc/self/fd/{file}").readlink().suffix == ".pressure":
            raise OSError(95, "Operation not supported")
        return pread(file, most, at)

    monkeypatch.setattr(cgroups.os, "pread", without)
    tree.pod(ONE, memory=MIB)
    sample = taken(Sampler(str(tree.mount)), 1.0)
    assert pressures(sample.all.waits) == {}
    assert sample.pods[ONE].memory == MIB


def test_the_cgroup_of_all_pods_may_come_late_go_and_come_back(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "cgroup")
    sampler = Sampler(str(tree.mount))
    assert sampler.take(0.0, 1.0) is None
    assert (
        sampler.problem
        == f"{tree.mount} has no cgroup of pods: looked for kubepods.slice, kubepods, kubelet.slice/kubelet-kubepods.slice, kubelet/kubepods"
    )
    tree.all(cpu=5_000)
    tree.pod(ONE)
    before = open_files()
    taken(sampler, 2.0)
    tree.root.rename(tree.mount / "gone")
    assert sampler.take(0.0, 3.0) is None
    assert "kubepods.slice" in sampler.problem
    assert open_files() == before, "nothing of it stays open"
    tree.all(cpu=1_000)
    sample = taken(sampler, 4.0)
    assert (sample.all.cpu, sample.pods, sampler.problem) == (None, {}, "")


def test_version_1_of_cgroups_is_said_to_be_no_hierarchy(tmp_path: Path) -> None:
    sampler = Sampler(str(tmp_path))
    assert sampler.take(0.0, 1.0) is None
    assert sampler.problem == f"{tmp_path} is not a cgroup v2 hierarchy: it has no cgroup.controllers"
    for name in ("cpuacct", "memory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    assert sampler.take(0.0, 0.0) is None
    assert sampler.problem.endswith("; it has cpuacct and memory of cgroup v1, which the agent does not read")


def test_a_kubelet_in_a_container_and_a_root_of_ones_own_are_found(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    Tree.write(tmp_path / "kubelet.slice/kubelet-kubepods.slice", 0, 0, 0)
    inner = tmp_path / "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice"
    Tree.write(inner / "kubelet-kubepods-burstable-pod1f0c_aa.slice", 3, 0, 0)
    assert list(taken(Sampler(str(tree.mount)), 1.0).pods) == [ONE]
    Tree.write(tmp_path / "mine/kubepods", 0, 0, 0)
    Tree.write(tmp_path / "mine/kubepods/pod2f0c-bb", 0, 0, 0)
    assert list(taken(Sampler(str(tree.mount), "mine/kubepods"), 1.0).pods) == [TWO]


def test_too_many_open_files_are_said_and_not_taken_for_pods_that_went(tree: Tree) -> None:
    for number in range(40):
        tree.pod(f"{number}-x")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    sampler = Sampler(str(tree.mount))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files() + 100, hard))
    try:
        assert sampler.take(0.0, 1.0) is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sampler.problem.endswith("cannot be read: Too many open files")
    assert len(taken(sampler, 2.0).pods) == 40


@pytest.mark.parametrize(
    ("name", "uid"),
    [
        ("kubepods-burstable-pod1f0c_aa.slice", ONE),
        ("kubepods-pod1f0c_aa.slice", ONE),
        ("pod1f0c-aa", ONE),
        ("kubepods-burstable.slice", ""),
        ("burstable", ""),
        ("system-pod1.slice", ""),
        ("cri-containerd-1.scope", ""),
    ],
)
def test_the_name_of_a_cgroup_says_whether_it_is_a_pods(name: str, uid: str) -> None:
    assert pod_uid(name) == uid
