"""Files of YuniKorn, Kueue and Volcano, in the shapes that public ones have, with the fair shares of leaves, in cores of 100, that result."""

from __future__ import annotations

from typing import Any

YUNIKORN = {
    "a queue beside another, without amounts": (
        """
        partitions:
          - name: default
            queues:
              - name: root
                submitacl: "*"
                queues: [{name: a}, {name: b}]
        """,
        {"root.a": 50, "root.b": 50},
    ),
    "a guarantee over the equal share": (
        """
        partitions:
          - name: default
            queues:
              - name: root
                submitacl: "*"
                queues:
                  - {name: a, resources: {guaranteed: {vcore: 80}}}
                  - {name: b}
        """,
        {"root.a": 80, "root.b": 20},
    ),
    "a maximum under it": (
        """
        partitions:
          - name: default
            queues:
              - name: root
                submitacl: "*"
                queues:
                  - {name: a, resources: {max: {vcore: 10, memory: 80G}}}
                  - {name: b}
        """,
        {"root.a": 10, "root.b": 90},
    ),
    "milli cores and units": (
        """
        partitions:
          - name: default
            queues:
              - name: root
                submitacl: '*'
                queues:
                  - {name: a, resources: {guaranteed: {vcore: 70000m, memory: 10Gi}, max: {vcore: "70"}}}
                  - {name: b, resources: {max: {vcore: 100, nvidia.com/gpu: 4}}}
        """,
        {"root.a": 70, "root.b": 30},
    ),
    "levels, and names in capitals": (
        """
        partitions:
          - name: default
            queues:
              - name: root
                submitacl: "*"
                queues:
                  - name: Prod
                    queues: [{name: Batch_1}, {name: web}]
                  - {name: dev}
        """,
        {"root.prod.batch-1": 25, "root.prod.web": 25, "root.dev": 50},
    ),
    "without a root of its own": (
        """
        partitions:
          - name: default
            queues: [{name: a, submitacl: "*"}, {name: b, submitacl: "*"}]
        """,
        {"root.a": 50, "root.b": 50},
    ),
    "in a ConfigMap": (
        """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: yunikorn-configs}
        data:
          service.schedulingInterval: 1s
          queues.yaml: |
            partitions:
              - name: default
                queues:
                  - name: root
                    submitacl: "*"
                    queues: [{name: a}]
        """,
        {"root.a": 100},
    ),
    "in values of the chart": (
        """
        image: {tag: latest}
        yunikornDefaults:
          queues.yaml: |
            partitions:
              - name: default
                nodesortpolicy: {type: binpacking}
                queues:
                  - name: root
                    submitacl: "*"
                    queues: [{name: a}, {name: b, properties: {application.sort.policy: fair}}]
        """,
        {"root.a": 50, "root.b": 50},
    ),
    "limits of users, applications and templates": (
        """
        partitions:
          - name: default
            limits: [{limit: all, users: ["*"], maxapplications: 7}, {users: [ann], maxapplications: 9}]
            queues:
              - name: root
                submitacl: "*"
                queues:
                  - {name: a, maxapplications: 3, limits: [{groups: [ops], maxresources: {vcore: 1}}]}
                  - {name: made, parent: true, childtemplate: {maxapplications: 2, resources: {max: {vcore: 5}, guaranteed: {vcore: 1}}}}
        """,
        {"root.a": 100},
    ),
    "properties": (
        """
        partitions:
          - name: default
            preemption: {enabled: true}
            queues:
              - name: root
                submitacl: "*"
                properties: {application.sort.policy: fifo}
                queues:
                  - {name: a, properties: {preemption.delay: 5m30s, preemption.policy: disabled, application.sort.priority: enabled}}
                  - {name: b, properties: {priority.offset: "100", priority.policy: fence, application.sort.policy: stateaware, colour: red}}
        """,
        {"root.a": 50, "root.b": 50},
    ),
}  # fmt: skip


def quotas(**cpu: Any) -> str:
    said = ", ".join(f"{key}: {value}" for key, value in cpu.items())
    return f"[{{coveredResources: [cpu], flavors: [{{name: default, resources: [{{name: cpu, {said}}}]}}]}}]"


FLAVORS = """
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: spot}, spec: {nodeLabels: {pool: spot}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors:
        - {name: spot, resources: [{name: cpu, nominalQuota: 500m}]}
        - {name: other, resources: [{name: cpu, nominalQuota: 4}]}
"""
LIST = """
apiVersion: v1
kind: List
items:
  - {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: a}, spec: {namespaceSelector: {}}}
"""


def cluster_queue(name: str, *fields: str, version: str = "v1beta2", **cpu: Any) -> str:
    said = ["namespaceSelector: {}", *([f"resourceGroups: {quotas(**cpu)}"] if cpu else []), *fields]
    return f"---\n{{apiVersion: kueue.x-k8s.io/{version}, kind: ClusterQueue, metadata: {{name: {name}}}, spec: {{{', '.join(said)}}}}}\n"


def cohort(name: str, *fields: str, version: str = "v1beta2") -> str:
    return f"---\n{{apiVersion: kueue.x-k8s.io/{version}, kind: Cohort, metadata: {{name: {name}}}, spec: {{{', '.join(fields)}}}}}\n"


KUEUE = {
    "a queue by itself has its quota and no more": (cluster_queue("a", nominalQuota=9), {"root.a": 9}),
    "in a cohort it borrows what others leave": (
        cluster_queue("a", "cohortName: all", nominalQuota=60) + cluster_queue("b", "cohortName: all", nominalQuota=20),
        {"root.all.a": 60, "root.all.b": 20},
    ),
    "borrowing has a limit": (
        cluster_queue("a", "cohortName: all", nominalQuota=10, borrowingLimit=5) + cluster_queue("b", "cohortName: all", nominalQuota=30),
        {"root.all.a": 10, "root.all.b": 30},
    ),
    "the words of v1beta1": (
        cluster_queue("a", "cohort: all", version="v1beta1", nominalQuota=40)
        + cohort("all", "parent: org", version="v1beta1") + cohort("org", version="v1beta1"),
        {"root.org.all.a": 40},
    ),
    "weights decide of what is borrowed": (
        cluster_queue("a", "cohortName: all", "fairSharing: {weight: 3}", nominalQuota=0)
        + cluster_queue("b", "cohortName: all", "fairSharing: {weight: 1}", nominalQuota=0)
        + cluster_queue("idle", "cohortName: all", "stopPolicy: Hold", nominalQuota=80),
        {"root.all.a": 60, "root.all.b": 20, "root.all.idle": 0},
    ),
    "flavors are summed": (
        FLAVORS,
        {"root.a": 4.5},
    ),
    "a list": (
        LIST,
        {"root.a": 100},
    ),
    "two cohorts": (
        cluster_queue("a", "cohortName: one", nominalQuota=30) + cluster_queue("b", "cohortName: two", nominalQuota=50)
        + cluster_queue("c", "cohortName: two", nominalQuota=10),
        {"root.one.a": 30, "root.two.b": 50, "root.two.c": 10},
    ),
    "names with dots": (cluster_queue("team.a", nominalQuota=5), {"root.team-a": 5}),
    "who waits is in order": (cluster_queue("a", "queueingStrategy: StrictFIFO", nominalQuota=5), {"root.a": 5}),
}  # fmt: skip


def volcano(name: str, *fields: str, state: str = "Open") -> str:
    head = "apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue"
    return f"---\n{{{head}, metadata: {{name: {name}}}, spec: {{{', '.join(fields)}}}, status: {{state: {state}}}}}\n"


VOLCANO = {
    "weights": (volcano("a", "weight: 3") + volcano("b", "weight: 1"), {"root.a": 75, "root.b": 25}),
    "a capability": (volcano("a", "weight: 1", "capability: {cpu: 10}") + volcano("b"), {"root.a": 10, "root.b": 90}),
    "deserved amounts": (volcano("a", "deserved: {cpu: 80}") + volcano("b", "deserved: {cpu: 20}"), {"root.a": 80, "root.b": 20}),
    "a guarantee": (volcano("a", "guarantee: {resource: {cpu: 70, memory: 4Gi}}") + volcano("b"), {"root.a": 70, "root.b": 30}),
    "levels": (
        volcano("root") + volcano("org", "parent: root") + volcano("team", "parent: org") + volcano("b"),
        {"root.org.team": 50, "root.b": 50},
    ),
    "the default queue": (volcano("default", "weight: 1", "reclaimable: false"), {"root.default": 100}),
    "a closed one": (volcano("a", state="Closed") + volcano("b"), {"root.a": 0, "root.b": 100}),
    "in order": (volcano("a", "dequeueStrategy: fifo", "priority: 5"), {"root.a": 100}),
}

FILES = {
    f"{system}: {name}": case
    for system, cases in (("YuniKorn", YUNIKORN), ("Kueue", KUEUE), ("Volcano", VOLCANO))
    for name, case in cases.items()
}
"""All of them by their names: the text, and the shares."""
