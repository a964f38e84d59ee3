"""A real node for tests, where the machine can have one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.control_plane import ControlPlaneMissingError, build_binaries
from node_tier import build as recipe
from node_tier.binaries import NoNodeError, NoServicesError, build, build_services, look_whether_possible, required
from node_tier.real_node import RealNode
from node_tier.release import Release
from node_tier.service_node import ServiceNode
from node_tier.whole_node import WholeNode


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"real_node", "release", "image"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.node)


@pytest.fixture(scope="session")
def node_binaries() -> None:
    """Skips where there can be no node, and says why; fails instead where the environment says that it is required."""
    try:
        look_whether_possible()
        build_binaries()
        build()
    except (NoNodeError, ControlPlaneMissingError) as missing:
        if required():
            pytest.fail(f"TREADLE_NODE_TESTS=required, but: {missing}", pytrace=False)
        pytest.skip(f"node tier skipped: {missing}")


@pytest.fixture
def real_node(node_binaries: None) -> Iterator[Callable[..., RealNode]]:  # noqa: ARG001
    """A factory of one node: a call starts it (arguments are laid over the kubelet's settings), and it ends after the test."""
    started: list[RealNode] = []

    def start(**settings: Any) -> RealNode:
        started.append(RealNode(**settings))
        return started[-1].__enter__()

    yield start
    for node in reversed(started):
        node.__exit__()


@pytest.fixture(scope="session")
def image(node_binaries: None) -> recipe.Image:  # noqa: ARG001
    """The image of this checkout."""
    return recipe.treadle()


@pytest.fixture(scope="module")
def release(image: recipe.Image) -> Iterator[Release]:
    """The chart, installed on a node of the module's own with nothing but the image's name for values; all copies are ready."""
    with WholeNode() as node:
        assert node.has_image(image.archive)
        made = Release(node)
        made.install()
        yield made


@pytest.fixture(scope="session")
def service_binaries(node_binaries: None) -> None:  # noqa: ARG001
    """As ``node_binaries``, with what services need as well; a kernel without nf_tables, as the guest's, has a node but no services."""
    try:
        build_services()
    except NoServicesError as missing:
        pytest.skip(f"tests of services skipped: {missing}")
    except NoNodeError as missing:
        if required():
            pytest.fail(f"TREADLE_NODE_TESTS=required, but: {missing}", pytrace=False)
        pytest.skip(f"node tier skipped: {missing}")


@pytest.fixture(scope="module")
def service_release(image: recipe.Image, service_binaries: None) -> Iterator[Release]:  # noqa: ARG001
    """As ``release``, on a node whose pods reach services by address and by name."""
    with ServiceNode() as node:
        assert node.has_image(image.archive)
        made = Release(node)
        made.install()
        yield made
