"""Control planes for tests: one shared by the session, and fresh ones for tests that break things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.control_plane import ControlPlane, ControlPlaneMissingError, build_binaries, cluster_tests_required

FIXTURES = {"control_plane", "fresh_control_plane", "control_plane_binaries"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def control_plane_binaries() -> None:
    """Skips where there is no way to have a control plane; fails instead where the environment says that it is required."""
    try:
        build_binaries()
    except ControlPlaneMissingError as missing:
        if cluster_tests_required():
            pytest.fail(f"TREADLE_CLUSTER_TESTS=required, but: {missing}", pytrace=False)
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def control_plane(control_plane_binaries: None) -> Iterator[ControlPlane]:  # noqa: ARG001
    """One etcd and API server for the session: use names and namespaces of your own, and never stop it."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
def fresh_control_plane(control_plane_binaries: None) -> Iterator[Callable[..., ControlPlane]]:  # noqa: ARG001
    """A factory: each call starts a control plane of its own (arguments as for ControlPlane), stopped after the test."""
    planes: list[ControlPlane] = []

    def start(**options: Any) -> ControlPlane:
        planes.append(ControlPlane(**options))
        return planes[-1].start()

    yield start
    for plane in planes:
        plane.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:  # noqa: ARG001
    report = yield
    plane = getattr(item, "funcargs", {}).get("control_plane")
    if report.failed and isinstance(plane, ControlPlane):
        report.sections += [(f"end of the log of {name}", text) for name, text in plane.logs()]
    return report
