"""The hard rules and the wishes of a pod about its node."""

from dataclasses import dataclass

from treadle.core.model.devices import DeviceNeeds, PodClaims
from treadle.core.model.placement_constraints import PlacementConstraint
from treadle.core.model.pod_rules import PodRules, PodTerm, WeightedTerm
from treadle.core.model.selectors import Requirement
from treadle.core.model.volumes import PodVolumes, VolumeNeeds


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration. An empty key with Exists tolerates everything, an empty effect means every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod wants; ``ip`` 0.0.0.0 means every address."""

    ip: str
    protocol: str
    port: int


RACK_LABEL = "topology.kubernetes.io/zone"
"""The label of a node that names its rack."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a pod would like to be: on nodes by name or by weighted terms, else in racks (the label ``RACK_LABEL``), those of such nodes included.

    ``relax``: anywhere else will do in the end. Without it, only the named nodes and racks will.
    """

    nodes: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    terms: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()
    relax: bool = True


@dataclass(frozen=True, slots=True)
class Constraints:
    """The hard rules of a pod about its node. Pods with equal constraints share one evaluation.

    ``affinity`` is None without required node affinity; otherwise the terms are alternatives and an empty term admits nothing.
    ``unsupported`` names the fields that we do not act on: a pod with any is refused, never bound against its wish.
    ``wish`` is what the pod prefers; it is a hard rule only where it does not ``relax``.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()
    wish: Wish | None = None
    partition: tuple[str, str] | None = None
    """The label of nodes that names partitions, and the partition that is asked for; None where partitions do not matter."""
    pods: PodRules | None = None
    """What the pod demands of the pods around it."""
    avoided_by: tuple[PodTerm, ...] = ()
    """The terms of other pods' anti-affinity that are about this pod; put here by the core."""
    liked_by: tuple[WeightedTerm, ...] = ()
    """The preferences of other pods that are about this pod; put here by the core."""
    images: tuple[str, ...] = ()
    """The images of its containers, where it matters which nodes have them; put here by the core."""
    placement: tuple[str, tuple[PlacementConstraint, ...]] | None = None
    """The placement constraints of the pod's application, after its id; put here by the core."""
    volumes: PodVolumes | None = None
    """What the pod says of its volumes."""
    storage: VolumeNeeds | None = None
    """What its volumes come to; put here by the core, in place of ``volumes``."""
    claims: PodClaims | None = None
    """What the pod says of its claims for devices."""
    devices: DeviceNeeds | None = None
    """What these come to; put here by the core, in place of ``claims``."""
    gang: tuple[str, str] | None = None
    """The application and the gang in it with whose pods the pod starts together; put here by the core."""
    features: tuple[str, ...] = ()
    """What the node must declare that it can do, by what the pod is like."""
    held_off: tuple[str, ...] = ()
    """Nodes whose kubelets refused such pods a moment ago; put here by the core."""
    together: tuple[str, bool] | None = None
    """The label of nodes of which all of its gang are to have one value, and whether that is required; put here by the core."""
    batch: tuple[str, str, tuple[str, ...]] | None = None
    """The application with whose other pods that wait it is placed together, in the order of which iterator, and its allocation tags; put here by the core."""
    problem: str = ""
    """Why the pod cannot be understood; it goes nowhere then, and stands for itself."""


NO_CONSTRAINTS = Constraints()
