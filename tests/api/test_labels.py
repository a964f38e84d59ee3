"""Labels and annotations of Treadle and of other tools, in the order in which they are understood."""

import json

import pytest

from treadle.api.labels import application_of, queue_of, role_of, user_of

# In the order of precedence: (where, key).
QUEUE_SOURCES = [
    ("label", "treadle.dev/queue"),
    ("annotation", "treadle.dev/queue"),
    ("label", "yunikorn.apache.org/queue"),
    ("annotation", "yunikorn.apache.org/queue"),
    ("label", "queue"),
    ("label", "kueue.x-k8s.io/queue-name"),
    ("annotation", "scheduling.volcano.sh/queue-name"),
    ("label", "volcano.sh/queue-name"),
    ("label", "kai.scheduler/queue"),
]
APPLICATION_SOURCES = [
    ("label", "treadle.dev/application", "v"),
    ("annotation", "treadle.dev/application", "v"),
    ("label", "yunikorn.apache.org/app-id", "v"),
    ("annotation", "yunikorn.apache.org/app-id", "v"),
    ("label", "applicationId", "v"),
    ("label", "spark-app-selector", "v"),
    ("label", "training.kubeflow.org/job-name", "trainingjob/v"),
    ("label", "jobset.sigs.k8s.io/jobset-name", "jobset/v"),
    ("label", "ray.io/cluster", "raycluster/v"),
    ("label", "workflows.argoproj.io/workflow", "workflow/v"),
    ("label", "batch.kubernetes.io/job-name", "job/v"),
    ("label", "job-name", "job/v"),
]


def split(sources):
    labels = {key: f"{where}:{key}" for where, key, *_ in sources if where == "label"}
    annotations = {key: f"{where}:{key}" for where, key, *_ in sources if where == "annotation"}
    return labels, annotations


@pytest.mark.parametrize("position", range(len(QUEUE_SOURCES)))
def test_a_queue_is_taken_from_the_first_source_that_names_one(position):
    labels, annotations = split(QUEUE_SOURCES[position:])
    where, key = QUEUE_SOURCES[position]
    assert queue_of(labels, annotations) == f"{where}:{key}"


@pytest.mark.parametrize(("labels", "annotations"), [(None, None), ({}, {}), ({"app": "x"}, None), ({"queue": ""}, None)])
def test_a_pod_without_a_queue_names_none(labels, annotations):
    assert queue_of(labels, annotations) is None


def test_an_empty_queue_label_does_not_hide_the_next_source():
    assert queue_of({"treadle.dev/queue": "", "queue": "root.a"}, None) == "root.a"


@pytest.mark.parametrize("position", range(len(APPLICATION_SOURCES)))
def test_an_application_is_taken_from_the_first_source_that_names_one(position):
    labels, annotations = split(APPLICATION_SOURCES[position:])
    where, key, expected = APPLICATION_SOURCES[position]
    assert application_of(labels, annotations, ("Job", "j"), "p") == expected.replace("v", f"{where}:{key}")


def test_an_application_without_labels_is_its_controlling_owner():
    assert application_of(None, None, ("ReplicaSet", "web-5d"), "web-5d-x") == "replicaset/web-5d"
    assert application_of({"app": "web"}, None, ("ReplicaSet", "web-5d"), "web-5d-x") == "replicaset/web-5d"


def test_a_job_is_one_application_whether_told_by_its_label_or_by_the_owner():
    assert application_of({"batch.kubernetes.io/job-name": "pi"}, None, None, "pi-1") == application_of(
        None, None, ("Job", "pi"), "pi-1"
    )


@pytest.mark.parametrize("kind", ["flink-native-kubernetes", "flink-standalone-kubernetes"])
def test_the_managers_of_a_flink_cluster_are_one_application_though_they_have_different_owners(kind):
    labels = {"app": "clicks", "type": kind}
    managers = [
        application_of({**labels, "component": "jobmanager"}, None, ("ReplicaSet", "clicks-5d"), "clicks-5d-x"),
        application_of({**labels, "component": "taskmanager"}, None, ("Deployment", "clicks"), "clicks-taskmanager-1-1"),
    ]
    assert managers == ["flink/clicks"] * 2


@pytest.mark.parametrize("labels", [{"type": "flink-native-kubernetes"}, {"app": "clicks", "type": "web"}, {"app": "clicks"}])
def test_an_app_is_a_flink_cluster_only_if_its_type_says_so(labels):
    assert application_of(labels, None, ("ReplicaSet", "clicks-5d"), "x") == "replicaset/clicks-5d"


@pytest.mark.parametrize(
    ("operator", "kind"),
    [("mpi-operator", "mpijob"), ("mpijob-controller", "mpijob"), ("pytorchjob-controller", "pytorchjob"), ("", "trainingjob")],
)
def test_a_training_job_is_one_application_its_launcher_included_which_a_job_made(operator, kind):
    labels = {"training.kubeflow.org/job-name": "pi", "training.kubeflow.org/operator-name": operator}
    launcher = {**labels, "batch.kubernetes.io/job-name": "pi-launcher", "job-name": "pi-launcher"}
    assert application_of(labels, None, ("MPIJob", "pi"), "pi-worker-0") == f"{kind}/pi"
    assert application_of(launcher, None, ("Job", "pi-launcher"), "pi-launcher-x") == f"{kind}/pi"


def test_a_bare_pod_is_an_application_of_its_own():
    assert application_of(None, None, None, "hello") == "pod/hello"
    assert application_of({"app": "x"}, {"note": "y"}, None, "hello") == "pod/hello"


def test_an_id_that_yunikorn_generated_for_each_pod_stands_for_that_pod_alone():
    labels = {"yunikorn.apache.org/app-id": "etl-uniqueautogen"}
    assert application_of(labels, None, ("Job", "j"), "j-1") == "pod/j-1"


@pytest.mark.parametrize(
    ("labels", "annotations", "role"),
    [
        (None, None, ""),
        ({"app": "x"}, None, ""),
        ({"treadle.dev/role": "master"}, None, "master"),
        (None, {"treadle.dev/role": "master"}, "master"),
        ({"treadle.dev/role": "worker", "spark-role": "driver"}, None, "worker"),
        ({"treadle.dev/role": "boss"}, None, ""),
        ({"spark-role": "driver"}, None, "master"),
        ({"spark-role": "executor"}, None, "worker"),
        ({"component": "jobmanager"}, None, "master"),
        ({"component": "taskmanager"}, None, "worker"),
        ({"component": "kube-proxy"}, None, ""),
        ({"ray.io/node-type": "head"}, None, "master"),
        ({"ray.io/node-type": "worker"}, None, "worker"),
        ({"training.kubeflow.org/job-role": "launcher"}, None, "master"),
        ({"training.kubeflow.org/job-role": "worker"}, None, "worker"),
        ({"training.kubeflow.org/job-role": "master", "training.kubeflow.org/replica-type": "worker"}, None, "master"),
        ({"training.kubeflow.org/replica-type": "chief"}, None, "master"),
        ({"training.kubeflow.org/replica-type": "ps"}, None, "worker"),
        ({"training.kubeflow.org/replica-type": "xyz"}, None, ""),
        ({"jobset.sigs.k8s.io/jobset-name": "train"}, None, ""),
    ],
)
def test_the_pod_that_yarn_calls_the_application_master_is_told_from_its_workers(labels, annotations, role):
    assert role_of(labels, annotations) == role


@pytest.mark.parametrize(
    ("replicated", "job", "pod", "role"),
    [
        ("leader", "0", "0", "master"),
        ("leader", "0", "1", "worker"),
        ("leader", "1", "0", "worker"),
        ("workers", "0", "0", "worker"),
    ],
)
def test_the_coordinator_of_a_jobset_is_its_master(replicated, job, pod, role):
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "train",
        "jobset.sigs.k8s.io/replicatedjob-name": replicated,
        "jobset.sigs.k8s.io/job-index": job,
        "jobset.sigs.k8s.io/coordinator": "train-leader-0-0.train",
    }
    index = {"batch.kubernetes.io/job-completion-index": pod}
    assert role_of({**labels, **index}, None) == role
    assert role_of(labels, index) == role


YUNIKORN = "yunikorn.apache.org/user.info"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, ("ns", ())),
        ({}, ("ns", ())),
        ({"treadle.dev/user": "ann"}, ("ann", ())),
        ({"treadle.dev/user": "ann", "treadle.dev/groups": "dev, etl,,"}, ("ann", ("dev", "etl"))),
        ({"treadle.dev/groups": "dev"}, ("ns", ())),
        ({YUNIKORN: json.dumps({"user": "bob", "groups": ["a", "b"]})}, ("bob", ("a", "b"))),
        ({YUNIKORN: json.dumps({"user": "bob"})}, ("bob", ())),
        ({YUNIKORN: json.dumps({"user": "bob", "groups": ["a", 1]})}, ("bob", ("a",))),
        ({YUNIKORN: "{"}, ("ns", ())),
        ({YUNIKORN: "[" * 100_000}, ("ns", ())),
        ({YUNIKORN: '{"user": 7}'}, ("ns", ())),
        ({"treadle.dev/user": "ann", YUNIKORN: json.dumps({"user": "bob"})}, ("ann", ())),
    ],
)
def test_a_user_is_read_from_the_stamp_of_an_admission_policy_or_is_the_namespace(annotations, expected):
    assert user_of(annotations, "ns") == expected
