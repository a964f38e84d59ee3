"""Random orders of rules, queues, users and time: every application is in a leaf in force or says why not, and nothing made is left over."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.builders import Scenario, a_pod
from examples import examples
from treadle.core.events import PodSeen
from treadle.core.model import AccessList, PlacementRule

PATHS = st.sampled_from(["root", "root.a", "root.a.b", "root.a.c", "root.ann", "root.a.ann"])
ASKED = st.sampled_from(["", "root.a", "a.b", "a.c.d", "ann", "root.x.y"])
USERS = st.sampled_from(["ann", "bob"])
NAMES = st.integers(0, 7).map("p{}".format)
ACLS = st.sampled_from([None, AccessList(frozenset({"ann"})), AccessList()])
CREATE, NO_CREATE, REJECT = PlacementRule("specified"), PlacementRule("specified", create=False), PlacementRule("reject")
NESTED = PlacementRule("nestedUserQueue", parent=PlacementRule("default", queue="root.a"))
LISTS = st.sampled_from([None, (CREATE, REJECT), (NO_CREATE, PlacementRule("user")), (NO_CREATE, NESTED), (NESTED,)])


class Placement(RuleBasedStateMachine):
    """A core with its invariants checked at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.scenario = Scenario()
        self.alive: set[str] = set()

    @initialize()
    def begin(self) -> None:
        self.scenario.nodes(2, cpu=3)

    @rule(rules=LISTS)
    def govern(self, rules: tuple[PlacementRule, ...] | None) -> None:
        self.scenario.scheduler(rules=rules)

    @rule(path=PATHS, policy=st.sampled_from(["drf", "fair", "fifo"]), holds=st.booleans(), running=st.booleans(), acl=ACLS)
    def define(self, path: str, policy: str, holds: bool, running: bool, acl: AccessList | None) -> None:
        self.scenario.queue(path, policy=policy, holds_queues=holds, running=running, submit=acl, administer=acl)

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        self.scenario.without_queue(path)

    @rule(name=NAMES, asked=ASKED, user=USERS, application=st.sampled_from("xyz"))
    def submit(self, name: str, asked: str, user: str, application: str) -> None:
        if name not in self.alive:
            self.alive.add(name)
            self.scenario.pod(name, asked, application, user=user)

    @rule(name=NAMES, user=USERS, held=st.sampled_from(["root.a", "root.a.b", "root.ann", "root.z.z"]))
    def find_bound(self, name: str, user: str, held: str) -> None:
        if name not in self.alive:
            self.alive.add(name)
            self.scenario.tell(PodSeen(a_pod(name, user=user, application="x", node="node-0", held_in=held)))

    @rule(name=NAMES)
    def end(self, name: str) -> None:
        self.alive.discard(name)
        self.scenario.gone(name)

    @rule(application=st.sampled_from("xyz"), asked=ASKED)
    def ask(self, application: str, asked: str) -> None:
        self.scenario.application(application, asked)

    @rule(confirm=st.booleans())
    def plan(self, confirm: bool) -> None:
        binds = self.scenario.plan()
        if confirm:
            self.scenario.confirm(binds)

    @rule(seconds=st.sampled_from([1.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.scenario.wait(seconds)

    @invariant()
    def every_application_is_in_a_leaf_or_says_why_not(self) -> None:
        state = self.scenario.core.state
        if state.tree.unsettled:
            return
        for application in state.applications.values():
            if application.queue is None:
                assert application.wait is not None
            else:
                assert state.tree.queues[application.queue.path] is application.queue
                assert not application.queue.children

    def teardown(self) -> None:
        self.scenario.plan()
        self.scenario.gone(*self.alive).wait(10)
        self.scenario.plan()
        queues = self.scenario.core.state.tree.queues.values()
        assert not [queue.path for queue in queues if queue.dynamic and all(one.dynamic for one in queue.walk())]


TestPlacement = Placement.TestCase
TestPlacement.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
