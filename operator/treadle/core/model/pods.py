"""Pods, ours and foreign."""

from dataclasses import dataclass, field

from treadle.core.model.constraints import NO_CONSTRAINTS, Constraints

CRITICAL = 2_000_000_000
"""Pods of this priority and above are the system's own (system-cluster-critical) and are never asked to go."""


@dataclass(slots=True)
class PodSpec:
    """A pod, ours or foreign; not to be changed, though a frozen class would not cost a third of what it takes to read one.

    ``demand`` is the named amounts by Kubernetes' accounting, the pod slot included.

    ``queue`` is what the pod asked for, empty if it did not say. ``application`` is ``namespace/name`` and unique.
    ``problem`` says why the pod cannot be understood at all (an absurd quantity, say): it waits with that reason.
    """

    uid: str
    namespace: str
    name: str
    scheduler: str = ""
    node: str = ""
    expected: str = ""
    """The node on which another scheduler is about to put the pod, as far as it says so: a pod of another scheduler counts there already."""
    demand: tuple[tuple[str, int], ...] = ()
    opportunistic: tuple[tuple[str, int], ...] = ()
    """What a pod that says it is opportunistic will use of memory and cpu, by name, zeros included; empty: it is guaranteed.

    One that requests anything beside its slot is guaranteed whatever it says.
    """
    says_type: bool = False
    """Whether it says what its execution type is."""
    if_opportunistic: tuple[tuple[str, int], ...] = ()
    """What a pod that says nothing of its execution type and requests nothing will use; it is opportunistic if its application is."""
    unclear_if_opportunistic: str = ""
    """Why such a pod cannot be opportunistic, so that it waits where its application is; empty: it can."""
    if_guaranteed: tuple[tuple[str, int], ...] = ()
    """What a pod that stays opportunistic on its node and says nothing of its execution type is to request where its application is guaranteed; empty: it does not say."""
    promotes: tuple[tuple[str, int], ...] = ()
    """What an opportunistic pod on a node asks to request from now on, of memory and cpu by name, since it is to be guaranteed; empty: it asks for nothing."""
    promotes_itself: bool = False
    """Whether it is still opportunistic by its label, and asks for that only while nobody else waits for the room."""
    demotes: bool = False
    """Whether a guaranteed pod on a node asks to request nothing from now on."""
    stays: bool = False
    """Whether it is on a node, opportunistic, and not by its own word any more: it was bound as one and requests nothing."""
    unheeded: str = ""
    """What is not acted on of what a pod on a node says of its execution type; empty: nothing."""
    constraints: Constraints = NO_CONSTRAINTS
    labels: tuple[tuple[str, str], ...] = ()
    """As they came, for the rules of other pods."""
    tags: tuple[str, ...] = ()
    """Allocation tags, for placement constraints."""
    application_tags: tuple[str, ...] = ()
    """The tags of its application, by which placement constraints may name it."""
    gang: str = ""
    """The gang of its application that it belongs to."""
    gang_minimums: tuple[tuple[str, int], ...] = ()
    """How many pods of which gangs of its application start together, as far as the pod says so."""
    gang_topology: tuple[str, bool] | None = None
    """The label of nodes of which its gang is to have one value, as far as the pod says so, and whether that is required."""
    gang_source: str = ""
    """The system whose PodGroup object says more of its gang, which has the name of that object; empty: none does."""
    leads: bool = False
    """Whether other pods of its job are made only when it is on a node."""
    priority: int = 0
    application: str = ""
    queue: str = ""
    role: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    unknown: str = ""
    """Labels and annotations of ours that mean nothing here, with what was probably meant; empty for none."""
    claimed: str = ""
    """The user whom the pod claims to be of, and is not taken to be; empty if it claims nobody else."""
    partition: str = ""
    """The partition of nodes that the pod asks for, empty if it did not say."""
    profile: str = ""
    """The resource profile that the pod names, empty if it names none."""
    held_in: str = ""
    """The queue that the pod was bound in, as written with its bind."""
    images: tuple[str, ...] = ()
    """The images of its containers, each once for each container."""
    created: float = 0.0
    duration: float = 0.0
    """The seconds that it says it will run; 0: it does not say."""
    longest: float = 0.0
    """The seconds after which it is ended at the latest (``activeDeadlineSeconds``); 0: no such bound."""
    unread_duration: str = ""
    """What it says of its run time that cannot be understood, and what is allowed; empty: nothing."""
    finished: bool = False
    failed: bool = False
    """Whether it has finished without success."""
    deleting: bool = False
    gated: bool = False
    problem: str = ""
    reported: tuple[str, str] = ("", "")
    """The (reason, message) of a PodScheduled=False condition that the API already holds."""
    version: str = field(default="", compare=False)
    """The resourceVersion at which the pod was read: a bind holds only while the pod has it.

    It says nothing about what the pod is.
    """
    started: float = field(default=0.0, compare=False)
    """When its kubelet took it, in seconds since 1970; 0: that is not known. It says nothing about what the pod is."""


def version_of(pod: PodSpec) -> int:
    """Return a pod's resourceVersion as the integer that it may be compared as, 0 where it is none."""
    return int(pod.version) if pod.version.isdecimal() else 0
