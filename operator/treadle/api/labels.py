"""What a pod's labels and annotations say of its queue, application, role and user.

Pods reach Treadle from Spark, Flink, Ray, Argo, JobSet, YuniKorn, Kueue, Volcano and KAI as well, each with names of its own;
they are understood in a fixed order, our own names first (the order is YuniKorn's where YuniKorn has one: ``utils.go`` of its
k8shim). The functions are pure, take plain dictionaries or None, and are called for every pod event, so they do a handful of
look-ups and nothing else. An empty value counts as absent.
"""

import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from treadle.api.profiles import PREFIX
from treadle.api.quantities import seconds
from treadle.core.errors import InvalidSpec
from treadle.core.model import Limit

GROUP: Final = "treadle.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
SCHEDULER_NAME: Final = "treadle"

QUEUE: Final = f"{GROUP}/queue"
MADE_FROM_HISTORY: Final = f"{GROUP}/made-from-history"
"""An annotation of Reservations that Treadle made: a mark of the spec as it was made, so that an edit of somebody is seen."""
MADE_REASONS: Final = f"{GROUP}/made-from"
"""What it was made from, in sentences."""
APPLICATION: Final = f"{GROUP}/application"
HEADROOM: Final = f"{GROUP}/headroom"
"""An annotation of nodes: what of a node is left to other schedulers."""
OVER_ALLOCATION: Final = f"{GROUP}/over-allocation"
PRESSURE: Final = f"{GROUP}/pressure"
"""An annotation of nodes: how far opportunistic pods may use this node, in place of what the Scheduler says."""
ROLE: Final = f"{GROUP}/role"
EXECUTION_TYPE: Final = f"{GROUP}/execution-type"
ALLOCATION_TAGS: Final = f"{GROUP}/allocation-tags"
APPLICATION_TAGS: Final = f"{GROUP}/application-tags"
PLACEMENT_CONSTRAINTS: Final = f"{GROUP}/placement-constraints"
LOCALITY_NODES: Final = f"{GROUP}/locality-nodes"
LOCALITY_RACKS: Final = f"{GROUP}/locality-racks"
RELAX_LOCALITY: Final = f"{GROUP}/relax-locality"
USER: Final = f"{GROUP}/user"
GROUPS: Final = f"{GROUP}/groups"
RESOURCE_PROFILE: Final = f"{GROUP}/resource-profile"
"""A label or annotation of pods: the resource profile whose amounts they ask for."""
PARTITION: Final = f"{GROUP}/partition"
ALLOCATED_QUEUE: Final = f"{GROUP}/allocated-queue"
ALLOCATED_APPLICATION: Final = f"{GROUP}/allocated-application"
"""Written by us with a bind: the queue, and the application, that the pod is counted in."""
EXPECTED_DURATION: Final = f"{GROUP}/expected-duration"
"""An annotation of pods: how long the pod is expected to run, as in 10m."""
DRY_RUN: Final = f"{GROUP}/dry-run"
"""An annotation of a Reservation, "true": it is decided whether it would be accepted, and nothing is promised."""
RESERVATION_NAME: Final = f"{GROUP}/reservation-name"
"""An annotation of a Reservation: the name that a client of YARN's REST gave it, which need not be unique."""
BOUND_AS: Final = f"{GROUP}/bound-as"
"""Written by us with the bind: ``opportunistic`` where the pod is, so that it stays so until it requests something; ``guaranteed`` where it says that it is
opportunistic and requests something. While the latter is there the label asks for no demotion."""

YUNIKORN_QUEUE: Final = "yunikorn.apache.org/queue"
YUNIKORN_APPLICATION: Final = "yunikorn.apache.org/app-id"
YUNIKORN_USER: Final = "yunikorn.apache.org/user.info"
YUNIKORN_ONE_POD_SUFFIX: Final = "-uniqueautogen"
PLAIN_QUEUE: Final = "queue"
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
VOLCANO_QUEUE_SHORT: Final = "volcano.sh/queue-name"
KAI_QUEUE: Final = "kai.scheduler/queue"

PLAIN_APPLICATION: Final = "applicationId"
SPARK_APPLICATION: Final = "spark-app-selector"
SPARK_ROLE: Final = "spark-role"
FLINK_COMPONENT: Final = "component"
FLINK_TYPE: Final = "type"
FLINK_TYPES: Final = frozenset({"flink-native-kubernetes", "flink-standalone-kubernetes"})
"""What the label ``type`` is on the pods of a Flink cluster, whose id is the label ``app``."""
RAY_NODE_TYPE: Final = "ray.io/node-type"
KUBEFLOW_JOB: Final = "training.kubeflow.org/job-name"
KUBEFLOW_OPERATOR: Final = "training.kubeflow.org/operator-name"
KUBEFLOW_ROLE: Final = "training.kubeflow.org/job-role"
KUBEFLOW_REPLICA: Final = "training.kubeflow.org/replica-type"
JOBSET: Final = "jobset.sigs.k8s.io/jobset-name"
JOBSET_COORDINATOR: Final = "jobset.sigs.k8s.io/coordinator"
"""The address of the coordinator, on every pod of a JobSet that has one: ``JOBSET-REPLICATEDJOB-JOB-POD.SUBDOMAIN``."""
JOBSET_PLACE: Final = (JOBSET, "jobset.sigs.k8s.io/replicatedjob-name", "jobset.sigs.k8s.io/job-index")
JOBSET_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
JOBSET_BY_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
"""Nodes are labelled beforehand, so JobSet's webhook holds no pods back."""
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"

# Labels that carry the name of the object which made the pod, with the word that goes before the name.
_MAKERS: Final = (
    (JOBSET, "jobset/"),
    ("ray.io/cluster", "raycluster/"),
    ("workflows.argoproj.io/workflow", "workflow/"),
    ("batch.kubernetes.io/job-name", "job/"),
    ("job-name", "job/"),
)

LONGEST_DURATION: Final = 32
"""Characters of a duration."""
MOST_DURATION: Final = 315_360_000.0
"""The seconds of ten years: the longest run time that is told."""
MOST_HEADROOM: Final = 1000
"""Characters of what a node may say that it leaves to others."""
Strings: TypeAlias = Mapping[str, str] | None
Role: TypeAlias = Literal["master", "worker", ""]

_SPARK_ROLES: Final[dict[str, Role]] = {"driver": "master", "executor": "worker"}
_FLINK_ROLES: Final[dict[str, Role]] = {"jobmanager": "master", "taskmanager": "worker"}
_RAY_ROLES: Final[dict[str, Role]] = {"head": "master", "worker": "worker"}
_KUBEFLOW_ROLES: Final[dict[str, Role]] = {
    "master": "master",
    "launcher": "master",
    "chief": "master",
    "worker": "worker",
    "ps": "worker",
    "evaluator": "worker",
}
_KUBEFLOW_KINDS: Final = {"mpi-operator": "mpijob"}
"""Operators that are not called ``KIND-controller``, with the kind of object that they serve."""
_NONE: Final[Mapping[str, str]] = {}


def queue_of(labels: Strings, annotations: Strings) -> str | None:
    """The queue that a pod names, as written there (a path, or another tool's short name), or None if it names none."""
    labels = labels or _NONE
    annotations = annotations or _NONE
    return (
        labels.get(QUEUE)
        or annotations.get(QUEUE)
        or labels.get(YUNIKORN_QUEUE)
        or annotations.get(YUNIKORN_QUEUE)
        or labels.get(PLAIN_QUEUE)
        or labels.get(KUEUE_QUEUE)
        or annotations.get(VOLCANO_QUEUE)
        or labels.get(VOLCANO_QUEUE)
        or labels.get(VOLCANO_QUEUE_SHORT)
        or annotations.get(VOLCANO_QUEUE_SHORT)
        or labels.get(KAI_QUEUE)
        or None
    )


def application_of(labels: Strings, annotations: Strings, owner: tuple[str, str] | None, pod_name: str, group: str = "") -> str:
    """The application a pod belongs to, unique within its namespace.

    ``owner`` is the kind and name of the controlling owner, ``group`` the pod group of another system that the pod is in. A name that somebody chose is returned as it is; one that is
    taken from the object behind the pod is ``kind/name`` with a lower-case kind; a pod with nothing is ``pod/NAME``.
    YuniKorn's generated ids that end in ``-uniqueautogen`` mean one application for each pod.
    """
    if labels or annotations:
        labels = labels or _NONE
        annotations = annotations or _NONE
        chosen = (
            labels.get(APPLICATION)
            or annotations.get(APPLICATION)
            or labels.get(YUNIKORN_APPLICATION)
            or annotations.get(YUNIKORN_APPLICATION)
            or labels.get(PLAIN_APPLICATION)
            or labels.get(SPARK_APPLICATION)
        )
        if chosen:
            return f"pod/{pod_name}" if chosen.endswith(YUNIKORN_ONE_POD_SUFFIX) else chosen
        if group:
            return f"podgroup/{group}"
        if made := _made(labels):
            return made
    if group:
        return f"podgroup/{group}"
    if owner is not None:
        return f"{owner[0].lower()}/{owner[1]}"
    return f"pod/{pod_name}"


def _made(labels: Mapping[str, str]) -> str:
    """Return the object that made a pod, as the labels of its system name it; empty if none does.

    The pods of a Flink cluster, and of an MPIJob, have different owners, so that only their labels say what belongs together.
    """
    if name := labels.get(KUBEFLOW_JOB):
        operator = labels.get(KUBEFLOW_OPERATOR, "")
        kind = _KUBEFLOW_KINDS.get(operator) or operator.removesuffix("-controller") or "trainingjob"
        return f"{kind}/{name}"
    for label, prefix in _MAKERS:
        if name := labels.get(label):
            return prefix + name
    if labels.get(FLINK_TYPE) in FLINK_TYPES and (name := labels.get("app")):
        return f"flink/{name}"
    return ""


def partition_of(labels: Strings, annotations: Strings) -> str:
    """The partition of nodes that a pod asks for (YARN's node label expression), empty if it names none."""
    return (labels.get(PARTITION, "") if labels else "") or (annotations.get(PARTITION, "") if annotations else "")


def profile_of(labels: Strings, annotations: Strings) -> str:
    """The resource profile that a pod names, empty if it names none."""
    return (labels.get(RESOURCE_PROFILE, "") if labels else "") or (annotations.get(RESOURCE_PROFILE, "") if annotations else "")


def duration_of(annotations: Strings) -> float:
    """The seconds that a pod says it will run, 0 if it does not say. Raises ``ValueError`` with the annotation, the value and what is allowed."""
    text = annotations.get(EXPECTED_DURATION) if annotations else None
    if not text:
        return 0.0
    why = "must be more than 0 and at most 10 years"
    try:
        found = seconds(text[: LONGEST_DURATION + 1])
    except ValueError as error:
        found, why = 0.0, str(error)
    if not 0 < found <= MOST_DURATION:
        raise ValueError(f"metadata.annotations[{EXPECTED_DURATION}]: {text[:64]!r} {why}")
    return found


def role_of(labels: Strings, annotations: Strings) -> Role:
    """``master`` for the pod that YARN calls the application master (a driver, a job manager, a head, a launcher), ``worker`` for its others."""
    own = (labels or _NONE).get(ROLE) or (annotations or _NONE).get(ROLE)
    if own:
        return "master" if own == "master" else "worker" if own == "worker" else ""
    if not labels:
        return ""
    return (
        _SPARK_ROLES.get(labels.get(SPARK_ROLE, ""))
        or _FLINK_ROLES.get(labels.get(FLINK_COMPONENT, ""))
        or _RAY_ROLES.get(labels.get(RAY_NODE_TYPE, ""))
        or _KUBEFLOW_ROLES.get(labels.get(KUBEFLOW_ROLE, ""))
        or _KUBEFLOW_ROLES.get(labels.get(KUBEFLOW_REPLICA, ""))
        or _jobset_role(labels, annotations)
    )


def _jobset_role(labels: Mapping[str, str], annotations: Strings) -> Role:
    """The role in a JobSet, which has a master only if it names a coordinator."""
    coordinator = labels.get(JOBSET_COORDINATOR)
    if not coordinator:
        return ""
    index = labels.get(COMPLETION_INDEX) or (annotations or _NONE).get(COMPLETION_INDEX, "")
    own = "-".join([*(labels.get(key, "") for key in JOBSET_PLACE), index])
    return "master" if coordinator.partition(".")[0] == own else "worker"


def leads(annotations: Strings) -> bool:
    """Whether other pods are made only when this one is on a node: JobSet's webhook lets those of a job that has a topology domain to itself follow its first one."""
    return (
        annotations is not None
        and JOBSET_EXCLUSIVE in annotations
        and JOBSET_BY_SELECTOR not in annotations
        and annotations.get(COMPLETION_INDEX) == "0"
    )


def headroom_of(text: str) -> tuple[tuple[str, Limit], ...]:
    """Return what a node leaves to others, from ``cpu=2,memory=4Gi``; a percentage is one of what is allocatable. Raises ``ValueError``."""
    found: dict[str, Limit] = {}
    for part in text.split(","):
        name, sign, value = (one.strip() for one in part.partition("="))
        if not (name and sign and value) or len(text) > MOST_HEADROOM:
            raise ValueError(f"{text[:60]!r} is not a list, parted by commas, of TYPE=AMOUNT, as in cpu=2,memory=4Gi or cpu=10%")
        if name in found:
            raise ValueError(f"{text[:60]!r} names {name[:40]} twice")
        if name.startswith(PREFIX):
            raise ValueError(f"{name[:40]}: a node names no profiles; allowed are resources, as in cpu=2,memory=4Gi or cpu=10%")
        try:
            found[name] = Limit.parse(name, value)
        except (ValueError, InvalidSpec) as error:
            raise ValueError(f"{name[:40]}: {error}") from error
        if found[name].value < 0 or not 0 <= (found[name].percent or 0.0) <= 100:
            raise ValueError(f"{name[:40]}: {value[:40]!r} is not an amount of 0 or more, or a percentage from 0% to 100%")
    return tuple(sorted(found.items()))


def tags_of(annotations: Strings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The allocation tags of a pod, and the tags of its application, by which placement constraints mean them; parted by commas."""
    if not annotations or not (ALLOCATION_TAGS in annotations or APPLICATION_TAGS in annotations):
        return (), ()
    tags, of_application = (annotations.get(key, "") for key in (ALLOCATION_TAGS, APPLICATION_TAGS))
    return tuple(sorted(set(parts(tags)))), tuple(sorted(set(parts(of_application))))


def locality_of(annotations: Strings) -> tuple[tuple[str, ...], tuple[str, ...], bool] | None:
    """The nodes and the racks that a pod would like to be on, and whether others will do (YARN's relaxLocality); None if it does not say.

    Raises ``ValueError`` for a value that makes no sense, with the annotation, the value and what is allowed.
    """
    if not annotations or not (LOCALITY_NODES in annotations or LOCALITY_RACKS in annotations or RELAX_LOCALITY in annotations):
        return None
    nodes, racks = parts(annotations.get(LOCALITY_NODES, "")), parts(annotations.get(LOCALITY_RACKS, ""))
    relax = annotations.get(RELAX_LOCALITY, "true")
    if relax not in {"true", "false"}:
        raise ValueError(f'metadata.annotations[{RELAX_LOCALITY}]: {relax[:64]!r} is not "true" or "false"')
    if relax == "false" and not nodes and not racks:
        raise ValueError(
            f'metadata.annotations[{RELAX_LOCALITY}]: "false" names no place; {LOCALITY_NODES} or {LOCALITY_RACKS} has to'
        )
    return (nodes, racks, relax == "true") if nodes or racks else None


def parts(text: str) -> tuple[str, ...]:
    """The parts of a list that is parted by commas, in their order."""
    return tuple(stripped for part in text.split(",") if (stripped := part.strip()))


def user_of(annotations: Strings, namespace: str) -> tuple[str, tuple[str, ...]]:
    """The user a pod was submitted by and the user's groups, in their order; without a record the namespace stands for the user.

    Ours are ``treadle.dev/user`` and ``treadle.dev/groups`` (parted by commas); YuniKorn's is one JSON document. A document
    that does not parse counts as absent.
    """
    if not annotations:
        return namespace, ()
    if user := annotations.get(USER):
        return user, groups_of(annotations)
    if document := annotations.get(YUNIKORN_USER):
        return yunikorn_user(document) or (namespace, ())
    return namespace, ()


def groups_of(annotations: Strings) -> tuple[str, ...]:
    """The groups of our own annotation, in their order."""
    return parts((annotations or _NONE).get(GROUPS, ""))


def yunikorn_user(document: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the user and the groups of YuniKorn's document, None where it cannot be read."""
    try:
        info = json.loads(document)
    except (ValueError, RecursionError):
        return None
    if not isinstance(info, dict) or not isinstance(info.get("user"), str) or not info["user"]:
        return None
    groups = info.get("groups")
    return info["user"], tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else ()
