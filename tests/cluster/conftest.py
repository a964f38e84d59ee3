"""Control planes for tests: one shared by the session, and fresh ones for tests that break things."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aiohttp
import pytest

from cluster.api_server import Server
from cluster.control_plane import (
    ControlPlane,
    ControlPlaneMissingError,
    build_binaries,
    cluster_tests_required,
    ssl_context,
)
from cluster.treadle_process import Cluster
from treadle.fakeapi import FakeApi

NAMESPACES = (f"behaviour-{number}" for number in itertools.count())
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


@pytest.fixture
def fresh_cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Callable[..., Cluster]:
    """A factory of clusters that nobody else uses, with our kinds and some nodes (arguments as for ``ControlPlane.create_nodes``)."""

    def start(nodes: int, *size: str) -> Cluster:
        plane = fresh_control_plane()
        plane.apply_crds()
        plane.create_nodes(nodes, *size)
        return Cluster(plane)

    return start


@pytest.fixture(scope="session")
def plane(control_plane: ControlPlane) -> ControlPlane:
    control_plane.apply_crds()
    return control_plane


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.cluster)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """A namespace of the embedded API server, and one of a real API server: every test runs against both."""
    namespace = next(NAMESPACES)
    if request.param == "real":
        plane: ControlPlane = request.getfixturevalue("plane")
        plane.create_namespace(namespace)
        headers, connector = {"Authorization": f"Bearer {plane.token}"}, aiohttp.TCPConnector(ssl=ssl_context(plane.ca))
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            yield Server(session, plane.url, namespace)
        for _ in range(5):  # aborted transports close their sockets in the next turns of the loop
            await asyncio.sleep(0)
        return
    api = FakeApi(bookmark_seconds=0.05)
    api.create("namespaces", {"metadata": {"name": namespace}})
    url = await api.start()
    async with aiohttp.ClientSession() as session:
        yield Server(session, url, namespace)
    await api.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:  # noqa: ARG001
    report = yield
    plane = getattr(item, "funcargs", {}).get("control_plane")
    if report.failed and isinstance(plane, ControlPlane):
        report.sections += [(f"end of the log of {name}", text) for name, text in plane.logs()]
    return report
