"""The kernel's own files, where this machine has cgroup v2: the files are read as the kernel writes them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.agent.cgroups import Group, pressures
from treadle.agent.sampler import Sampler

MOUNTS = [fields[1] for line in Path("/proc/mounts").read_text().splitlines() if (fields := line.split())[2] == "cgroup2"]


@pytest.fixture
def mount() -> Path:
    if not MOUNTS:
        pytest.skip("no cgroup v2 is mounted here")
    return Path(MOUNTS[0])


@pytest.fixture
def pods(mount: Path) -> Iterator[Path]:
    """A cgroup of all pods with one pod in it, made by the kernel."""
    root = mount / f"treadle-test-{os.getpid()}-kubepods"
    inner = root / "burstable" / "pod1f0c-aa"
    try:
        inner.mkdir(parents=True)
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            pytest.skip(f"no right to make a cgroup here: {error}")
        raise
    yield root
    for path in (inner, inner.parent, root):
        if path.exists():
            path.rmdir()


def test_what_the_kernel_says_of_its_cgroups_is_read(pods: Path) -> None:
    group = Group(str(pods))
    assert group.cpu() >= 0
    used = group.working_set()
    assert used is None or used >= 0
    assert all(some >= 0 for some, *_ in pressures(group.waits()).values())
    group.close()


def test_a_cgroup_that_the_kernel_removes_is_left_out_and_the_root_is_missed(mount: Path, pods: Path) -> None:
    sampler = Sampler(str(mount), pods.name)
    sample = sampler.take(0.0, 1.0)
    assert sample is not None, sampler.problem
    assert list(sample.pods) == ["1f0c-aa"]
    (pods / "burstable" / "pod1f0c-aa").rmdir()
    sample = sampler.take(0.0, 2.0)
    assert sample is not None
    assert sample.pods == {}
    (pods / "burstable").rmdir()
    pods.rmdir()
    assert sampler.take(0.0, 3.0) is None
    assert pods.name in sampler.problem
