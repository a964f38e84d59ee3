"""What an object of ours may say, and how it is told what is wrong with it."""

import pytest

from treadle.api.acted import not_acted_on
from treadle.api.objects import InvalidObject, parse


def queue(name="root.a", **spec):
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def application(**spec):
    return {"kind": "Application", "metadata": {"name": "etl", "namespace": "ns"}, "spec": spec}


def scheduler(**spec):
    return {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}


def reservation(**changes):
    request = {"demand": {"cpu": "4"}, "count": 20, "concurrency": 10, "duration": "1h"}
    spec = {
        "queue": "root.prod",
        "arrival": "2026-12-01T01:00:00Z",
        "deadline": "2026-12-01T05:00:00Z",
        "expression": {"interpreter": "All", "requests": [{**request, **changes.pop("request", {})}]},
    }
    return {"kind": "Reservation", "metadata": {"name": "nightly", "namespace": "ns"}, "spec": {**spec, **changes}}


def problems(obj):
    with pytest.raises(InvalidObject) as caught:
        parse(obj["kind"], obj)
    return caught.value.problems


def test_an_empty_queue_gets_the_defaults():
    spec = parse("Queue", queue()).spec
    assert (spec.state, spec.fair.weight, spec.fair.scheduling_policy) == ("Running", "1", "drf")
    assert (spec.fair.min_resources, spec.fair.max_resources, spec.max_running_applications) == (None, None, None)


def test_a_queue_knows_its_path_and_its_parent():
    assert parse("Queue", queue("root.dev.eng")).parent == "root.dev"
    assert parse("Queue", queue("root")).parent is None


def test_integers_count_as_quantities_and_weights():
    fair = parse("Queue", queue(fair={"weight": 40, "minResources": {"cpu": 10}, "maxResources": {"cpu": "12"}})).spec.fair
    assert (fair.weight, fair.min_resources) == ("40", {"cpu": "10"})


def test_a_scheduler_serves_its_own_name_and_its_aliases_once_each():
    assert parse("Scheduler", scheduler(aliases=["yunikorn", "treadle"])).names == ("treadle", "yunikorn")


DEEP = "root." + ".".join("abcdefgh")

BAD = [
    ("a queue outside the root", queue("prod"), ['metadata.name: a queue is named by its path: "root" or "root.…", not "prod"']),
    (
        "a queue that only begins like the root",
        queue("rooted"),
        ['metadata.name: a queue is named by its path: "root" or "root.…", not "rooted"'],
    ),
    (
        "an empty part of a path",
        queue("root..x"),
        ['metadata.name: a queue is named by its path: "root" or "root.…", not "root..x"'],
    ),
    (
        "a path too long",
        queue("root." + "x" * 60),
        ["metadata.name: a queue path may have at most 63 characters (pods name it in a label)"],
    ),
    (
        "a weight as a maximum of a template",
        queue(capacity={"autoCreation": {"leafTemplate": {"maximum": "2w"}}}),
        [
            (
                "spec.capacity.autoCreation.leafTemplate.maximum: '2w': must be a percentage (\"60%\") or quantities "
                '("[cpu=10,memory=40Gi]"); a weight is not a maximum'
            )
        ],
    ),
    (
        "a weight inside a maximum",
        queue(capacity={"maximum": "[memory=16Gi,cpu=80w]"}),
        [
            (
                "spec.capacity.maximum: '[memory=16Gi,cpu=80w]': must be a percentage (\"60%\") or quantities "
                '("[cpu=10,memory=40Gi]"); a weight is not a maximum'
            )
        ],
    ),
    (
        "a percentage over 100 inside quantities",
        queue(capacity={"guaranteed": "[memory=101%]"}),
        ["spec.capacity.guaranteed: '[memory=101%]': a percentage must not be over 100%"],
    ),
    (
        "a weight over what is allowed",
        queue(capacity={"guaranteed": "10000.5w"}),
        ["spec.capacity.guaranteed: '10000.5w': a weight must not be over 10000"],
    ),
    (
        "quantities without memory",
        queue(capacity={"guaranteed": "[cpu=1]"}),
        ["spec.capacity.guaranteed: '[cpu=1]': quantities must name memory"],
    ),
    (
        "more cpu than can be counted",
        queue(capacity={"guaranteed": "[memory=1Gi,cpu=1E]"}),
        [
            (
                "spec.capacity.guaranteed: '[memory=1Gi,cpu=1E]': is over what can be counted: at most 4611686018427387903, "
                "of cpu 4611686018427387903m"
            )
        ],
    ),
    (
        "a user who may submit twice",
        queue(submitAcl={"users": ["ann", "ann"]}),
        ["spec.submitAcl.users: ['ann', 'ann']: 'ann' is in it more than once"],
    ),
    ("a path too deep", queue(DEEP), ["metadata.name: a queue path may have at most 8 levels"]),
    ("a stopped root", queue("root", state="Stopped"), ["spec.state: the root queue cannot be stopped"]),
    ("a negative weight", queue(fair={"weight": "-1"}), ["spec.fair.weight: '-1': must not be negative"]),
    (
        "a weight with an exponent",
        queue(fair={"weight": "1e3"}),
        ["spec.fair.weight: '1e3': must be a decimal number such as 1 or 2.5, with at most six digits after the point"],
    ),
    ("a number with a point", queue(fair={"weight": 1.5}), ["spec.fair.weight: 1.5: a number with a point must stand in quotes"]),
    (
        "an unknown policy",
        queue(fair={"schedulingPolicy": "lottery"}),
        [
            "spec.fair.schedulingPolicy: 'lottery': must be fifo, fair, drf, or the name of an installed policy, which has a dot, such as acme.smallest"
        ],
    ),
    (
        "a percentage over 100",
        queue(fair={"maxResources": {"cpu": "120%"}}),
        ["spec.fair.maxResources.cpu: '120%': a percentage must not be over 100%"],
    ),
    (
        "a bad quantity",
        queue(fair={"maxResources": {"cpu": "ten"}}),
        ["spec.fair.maxResources.cpu: 'ten': must be a quantity such as 500m, 4 or 16Gi, or a percentage such as 60%"],
    ),
    (
        "a negative percentage",
        queue(fair={"maxResources": {"cpu": "-5%"}}),
        ["spec.fair.maxResources.cpu: '-5%': must not be negative"],
    ),
    (
        "more than can be counted",
        queue(fair={"maxResources": {"cpu": "1e30"}}),
        [
            "spec.fair.maxResources: {'cpu': '1e30'}: cpu '1e30' is over what can be counted: at most 4611686018427387903, of cpu 4611686018427387903m"
        ],
    ),
    (
        "a resource name that is none",
        queue(fair={"maxResources": {"c p u": "1"}}),
        ["spec.fair.maxResources: {'c p u': '1'}: 'c p u' is not a resource name such as cpu, memory or nvidia.com/gpu"],
    ),
    (
        "a guarantee over 100",
        queue(capacity={"guaranteed": "120%"}),
        ["spec.capacity.guaranteed: '120%': a percentage must not be over 100%"],
    ),
    (
        "a guarantee that is none of three",
        queue(capacity={"guaranteed": "half"}),
        [
            'spec.capacity.guaranteed: \'half\': must be a percentage ("60%"), a weight ("3w") or quantities ("[cpu=10,memory=40Gi]")'
        ],
    ),
    (
        "text for a count",
        queue(maxRunningApplications="3"),
        ["spec.maxRunningApplications: '3': Input should be a valid integer"],
    ),
    (
        "a queue that is no path",
        application(queue="prod"),
        ['spec.queue: \'prod\': must be a queue\'s path: "root" or "root.…" in lower case'],
    ),
    (
        "a gang of nobody",
        application(gangs=[{"name": "w", "minMember": 0}]),
        ["spec.gangs.0.minMember: 0: Input should be greater than or equal to 1"],
    ),
    (
        "two gangs of one name",
        application(gangs=[{"name": "w", "minMember": 1}, {"name": "w", "minMember": 2}]),
        ["spec.gangs: gangs has w more than once"],
    ),
    ("a percentage as a demand", application(gangs=[{"name": "w", "minMember": 1, "demand": {"cpu": "5%"}}]), None),
    (
        "a count that leaves half a gang",
        reservation(request={"count": 15}),
        ["spec.expression.requests.0.count: count must be a multiple of concurrency"],
    ),
    (
        "a smallest gang that is larger than the gang",
        reservation(request={"minimumConcurrency": 99}),
        ["spec.expression.requests.0.minimumConcurrency: minimumConcurrency must not be over concurrency"],
    ),
    (
        "an arrival after the deadline",
        reservation(arrival="2026-12-02T00:00:00Z"),
        ["spec.arrival: arrival must be before deadline"],
    ),
    (
        "a time without its zone",
        reservation(arrival="2026-12-01T01:00:00"),
        ["spec.arrival: '2026-12-01T01:00:00': must be a time with its zone, such as 2026-12-01T01:00:00Z"],
    ),
    ("an unknown discipline", scheduler(discipline="Lottery"), ["spec.discipline: 'Lottery' is not one of 'Fair' or 'Capacity'"]),
    (
        "a mapping rule for all groups",
        scheduler(capacity={"mappingRules": [{"type": "group", "matches": "*", "policy": "primaryGroup"}]}),
        ["spec.capacity.mappingRules.0.matches: '*' cannot stand for groups; name one"],
    ),
    (
        "a custom placement that is missing",
        scheduler(capacity={"mappingRules": [{"type": "user", "matches": "*", "policy": "custom"}]}),
        ["spec.capacity.mappingRules.0.customPlacement: is required with the policy custom"],
    ),
    (
        "an unknown variable in a placement",
        scheduler(
            capacity={"mappingRules": [{"type": "user", "matches": "*", "policy": "custom", "customPlacement": "root.%usr"}]}
        ),
        [
            (
                "spec.capacity.mappingRules.0.customPlacement: 'root.%usr': must be a queue's path or name, in which parts may be "
                "%application, %default, %primary_group, %secondary_group, %specified, %user"
            )
        ],
    ),
    (
        "a malformed old mapping",
        scheduler(capacity={"queueMappings": "u:ann"}),
        ["spec.capacity.queueMappings: 'u:ann': must be a list, parted by commas, of u:USER:QUEUE and g:GROUP:QUEUE"],
    ),
    (
        "both forms of rules",
        scheduler(capacity={"queueMappings": "u:ann:eng", "mappingRules": []}),
        ["spec.capacity.queueMappings: mappingRules and queueMappings cannot both be set: they are two forms of one list"],
    ),
    (
        "an unknown policy of a rule",
        scheduler(capacity={"mappingRules": [{"type": "user", "matches": "*", "policy": "lottery"}]}),
        None,
    ),
    ("a capacity of a template in words", queue(capacity={"autoCreation": {"template": {"guaranteed": "half"}}}), None),
    (
        "a lifetime in days",
        application(lifetime="1d"),
        ["spec.lifetime: '1d': must be a duration such as 30s, 15m, 1h30m or 500ms"],
    ),
    (
        "an expected duration in days",
        application(expectedDuration="1d"),
        ["spec.expectedDuration: '1d': must be a duration such as 30s, 15m, 1h30m or 500ms"],
    ),
    ("nothing at all", {"kind": "Reservation", "metadata": {"name": "r"}}, ["spec: is required"]),
    ("no name", {"kind": "Queue", "metadata": {}}, ["metadata.name: is required"]),
]


@pytest.mark.parametrize(("obj", "expected"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_mistake_is_told_with_field_value_and_what_is_allowed(obj, expected):
    said = problems(obj)
    assert said
    if expected is not None:
        assert said == expected


def test_an_unknown_field_is_told_with_the_one_that_was_meant():
    assert problems(queue(fair={"weigt": "1"}))[0].startswith(
        "spec.fair.weigt: unknown field, did you mean weight? Allowed: allowPreemptionFrom, "
    )


def test_an_unknown_field_inside_a_list_is_told_too():
    said = problems(application(gangs=[{"name": "w", "minMember": 1, "size": 3}]))
    assert said == ["spec.gangs.0.size: unknown field. Allowed: demand, minMember, name, topologyKey, topologyMode"]


def test_an_unknown_field_of_a_block_is_told_with_what_the_block_allows():
    assert problems(scheduler(opportunistic={"x": 1})) == [
        "spec.opportunistic.x: unknown field. Allowed: maximumPercent, nodeQueues, nodes, prediction, preemption, pressure, thresholds, usage"
    ]


def test_every_mistake_of_an_object_is_told_at_once():
    said = problems(queue("prod", fair={"weight": "x", "schedulingPolicy": "Y", "maxResources": {"cpu": "120%"}}))
    assert len(said) == 3  # the name is looked at when the rest can be read


def test_an_absurd_object_is_told_in_bounded_words():
    obj = queue(fair={"maxResources": {f"r{i}": "x" * 100_000 for i in range(1000)}})
    with pytest.raises(InvalidObject) as caught:
        parse("Queue", obj)
    assert len(str(caught.value)) < 8000


def test_a_kind_that_is_not_ours_is_refused():
    with pytest.raises(InvalidObject, match="'Pod' is not one of Scheduler, Queue, Application, Reservation"):
        parse("Pod", {"metadata": {"name": "x"}})


def test_a_status_of_another_version_does_not_spoil_the_object():
    obj = {**queue(), "status": {"state": "Hibernating", "further": 1}}
    assert parse("Queue", obj).status is None
    obj = {**queue(), "status": {"state": "Running", "further": 1}}
    assert parse("Queue", obj).status.state == "Running"


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (queue(fair={"weight": "2", "minResources": {"cpu": 1}, "maxResources": {"cpu": 2}, "schedulingPolicy": "fifo"}), []),
        (queue(state="Stopped", maxRunningApplications=3), []),
        (queue(opportunistic={"limits": {"cpu": "50%", "memory": "1Gi"}}), []),
        (queue(fair={"maxAMShare": "0.5", "maxContainerAllocation": {"cpu": 1}, "allowPreemptionFrom": False}), []),
        (
            queue(capacity={"guaranteed": "60%", "partitions": {"gpu": {}}}),
            [],
        ),
        (queue(capacity={}), []),
        (scheduler(aliases=["yunikorn"], discipline="Fair", nodes={"scoring": "Spread"}), []),
        (
            scheduler(
                discipline="Capacity",
                fair={"sizeBasedWeight": True, "localityThresholdNode": "0.5"},
                capacity={"nodeLocalityDelay": 3},
            ),
            ["spec.fair.localityThresholdNode"],
        ),
        (application(queue="root.a", priority=3), []),
        (application(gangs=[{"name": "a", "minMember": 2, "topologyKey": "zone"}]), []),
        (
            application(gangs=[{"name": name, "minMember": 2, "demand": {"cpu": 4}} for name in ("a", "b")]),
            ["spec.gangs.demand"],
        ),
        (application(user="ann", placementConstraints=["notin,node,hbase"], reservation="r"), []),
        (reservation(), []),
        (reservation(recurrence="24h", priority=1), []),
        (reservation(recurrence="0 1 * * *", timeZone="UTC"), []),
        (reservation(recurrence="24h", timeZone="UTC"), ["spec.timeZone"]),
        (queue(reservations={"agent": "Greedy", "window": "1h"}), []),
    ],
)
def test_fields_that_are_set_but_not_acted_on_are_listed(obj, fields):
    assert not_acted_on(parse(obj["kind"], obj)) == fields
