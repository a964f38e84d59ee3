"""Gangs: what is said of how many pods start together, and where."""

from dataclasses import dataclass
from typing import Literal

KUBERNETES, VOLCANO, PLUGINS = "Kubernetes", "Volcano", "scheduler-plugins"
"""The systems whose PodGroup objects say how many pods start together."""
SOURCES = (KUBERNETES, VOLCANO, PLUGINS)


@dataclass(frozen=True, slots=True)
class GangSpec:
    """What is said of a gang: ``minimum`` of its pods start together.

    ``topology`` is a label of nodes: all pods go to nodes with one value of it (empty: to any). Without ``required`` to nodes with
    several values where one has no room.
    """

    name: str
    minimum: int
    topology: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class PodGroupSpec:
    """A PodGroup object of another system; ``id`` is ``namespace/name``.

    ``minimum`` is None where its pods are placed one by one. ``unheeded`` names the fields that are set and not acted on, ``queue`` the
    queue of those of its pods' applications that name none themselves.
    """

    source: str
    id: str
    minimum: int | None
    topology: str = ""
    required: bool = True
    unheeded: tuple[str, ...] = ()
    queue: str = ""


RequestPhase = Literal["pending", "provisioned", "failed", "refused", ""]
"""How a request for nodes is doing: ``failed`` is asked for again later, ``refused`` could not be made; empty: there is none."""


@dataclass(frozen=True, slots=True)
class Provisioning:
    """What is asked of an autoscaler for gangs that wait for nodes: the class of its ProvisioningRequests, and their parameters.

    Without a class nothing is asked; the class ``none`` says so for one application.
    """

    class_name: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


NO_PROVISIONING = Provisioning()


@dataclass(frozen=True, slots=True)
class GangSettings:
    """The settings for gangs, in seconds; 0: not at all."""

    hold_timeout: float = 600.0
    """How long nodes are kept for a gang that finds no room."""
    partial_timeout: float = 600.0
    """How long what is left of a gang keeps its room while pods of it that it needs find none."""
    provisioning: Provisioning = NO_PROVISIONING
    """What is asked for gangs of applications that do not say otherwise."""
