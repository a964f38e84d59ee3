"""One node: guaranteed containers first, nobody overtakes, and no more opportunistic ones go than a guaranteed one needs."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from treadle.core.rules.opportunistic.node_queues import Container, Move, Moved, NodeQueue, QueueSettings
from treadle.core.units.amounts import fits


def node(most: int = 10, *, memory: int = 2048, cores: int = 8, by_room: bool = False, pause: bool = False) -> NodeQueue:
    return NodeQueue([memory, cores], QueueSettings(most, by_room, pause))


def opportunistic(name: str, memory: int = 512, cores: int = 1) -> Container:
    return Container(name, [memory, cores])


def guaranteed(name: str, memory: int = 512, cores: int = 1) -> Container:
    return Container(name, [memory, cores], guaranteed=True)


def fill(queue: NodeQueue, *containers: Container) -> list[Moved]:
    return [moved for one in containers for moved in queue.arrive(one)]


def of(moves: list[Moved], wanted: Move) -> list[str]:
    return [name for move, name in moves if move is wanted]


def test_containers_start_while_they_fit() -> None:
    queue = node()
    fill(queue, guaranteed("g1", 1024), opportunistic("o1", 1024), opportunistic("o2", 1))
    assert (list(queue.running), list(queue.opportunistic)) == (["g1", "o1"], ["o2"])


def test_a_smaller_one_does_not_overtake_the_head_of_its_queue() -> None:
    queue = node()
    fill(queue, guaranteed("g1", 1500), opportunistic("o1", 1024), opportunistic("o2", 1))
    assert list(queue.opportunistic) == ["o1", "o2"]


def test_no_opportunistic_one_starts_while_a_guaranteed_one_waits() -> None:
    queue = node()
    fill(queue, guaranteed("g1", 1500), guaranteed("g2", 1500), opportunistic("o1", 1))
    assert list(queue.opportunistic) == ["o1"]


def test_a_guaranteed_one_displaces_as_many_of_the_newest_as_it_needs() -> None:
    queue = node()
    fill(queue, *(opportunistic(f"o{at}", 600) for at in range(3)))
    assert of(queue.arrive(guaranteed("g1", 1024)), Move.DISPLACE) == ["o2", "o1"]


def test_of_four_that_run_two_guaranteed_ones_displace_exactly_two() -> None:
    queue = node()
    fill(queue, *(opportunistic(f"o{at}", 512) for at in range(4)))
    moves = fill(queue, guaranteed("g1", 500), guaranteed("g2", 500))
    assert of(moves, Move.DISPLACE) == ["o3", "o2"]


def test_what_is_already_going_is_enough_for_the_next_one() -> None:
    queue = node()
    fill(queue, opportunistic("o1", 2048))
    assert of(fill(queue, guaranteed("g1", 512), guaranteed("g2", 512)), Move.DISPLACE) == ["o1"]


def test_a_displaced_one_keeps_its_room_until_it_has_ended() -> None:
    queue = node()
    fill(queue, opportunistic("o1", 2048), guaranteed("g1", 512))
    assert (list(queue.running), list(queue.guaranteed)) == (["o1"], ["g1"])
    assert queue.end("o1") == [(Move.START, "g1")]


def test_a_paused_one_waits_behind_others_and_goes_on() -> None:
    queue = node(pause=True)
    first = opportunistic("o1", 2048)
    fill(queue, first, opportunistic("o2", 512))
    assert of(queue.arrive(guaranteed("g1", 1536)), Move.PAUSE) == ["o1"]
    assert queue.pause(first) == [(Move.START, "g1"), (Move.START, "o2")]
    assert list(queue.opportunistic) == ["o1"]
    queue.end("o2")
    assert queue.end("g1") == [(Move.RESUME, "o1")]


def test_guaranteed_ones_displace_nobody_guaranteed() -> None:
    queue = node()
    fill(queue, guaranteed("g1", 2048))
    assert queue.arrive(guaranteed("g2", 512)) == []


def test_a_full_queue_refuses() -> None:
    queue = node(1)
    fill(queue, opportunistic("o1", 2048), opportunistic("o2"))
    assert queue.arrive(opportunistic("o3")) == [(Move.REFUSE, "o3")]


def test_without_a_queue_an_idle_node_refuses_and_guaranteed_ones_start_by_force() -> None:
    queue = node(0)
    assert queue.arrive(opportunistic("o1")) == [(Move.REFUSE, "o1")]
    assert fill(queue, guaranteed("g1", 2048), guaranteed("g2", 2048)) == [(Move.START, "g1"), (Move.START, "g2")]


def test_by_room_one_is_taken_if_it_fits_beside_all_that_runs_and_waits() -> None:
    queue = node(0, by_room=True)
    moves = fill(queue, opportunistic("o1", 1024), opportunistic("o2", 1024), opportunistic("o3", 1))
    assert moves == [(Move.START, "o1"), (Move.START, "o2"), (Move.REFUSE, "o3")]


def test_a_shorter_limit_lets_the_last_ones_go() -> None:
    queue = node()
    fill(queue, guaranteed("g1", 2048), *(opportunistic(f"o{at}") for at in range(6)))
    assert of(queue.shorten(2), Move.SHED) == ["o2", "o3", "o4", "o5"]
    assert queue.shorten(-1) == queue.shorten(2) == []


def test_paused_ones_are_not_shed() -> None:
    queue = node(pause=True)
    first = opportunistic("o1", 2048)
    fill(queue, first, opportunistic("o2"), guaranteed("g1", 2048))
    queue.pause(first)
    assert of(queue.shorten(0), Move.SHED) == ["o2"]
    assert list(queue.opportunistic) == ["o1"]


def test_one_that_waits_and_is_promoted_displaces_one_that_runs() -> None:
    queue = node()
    fill(queue, opportunistic("o1", 2048), opportunistic("o2", 2048))
    assert of(queue.promote("o2"), Move.DISPLACE) == ["o1"]
    assert queue.end("o1") == [(Move.START, "o2")]


def test_one_that_runs_and_is_promoted_is_not_displaced() -> None:
    queue = node()
    fill(queue, opportunistic("o1", 2048))
    queue.promote("o1")
    assert queue.arrive(guaranteed("g1", 512)) == []


def test_a_demoted_one_that_waits_goes_on_waiting_beyond_the_limit() -> None:
    queue = node(1)
    fill(queue, guaranteed("g1", 2048), guaranteed("g2", 1024), opportunistic("o1"))
    queue.demote("g2")
    assert list(queue.opportunistic) == ["o1", "g2"]


def test_another_size_is_counted_and_wakes_nobody() -> None:
    queue = node()
    fill(queue, opportunistic("o1", 1024), opportunistic("o2", 2048))
    queue.resize("o1", [256, 1])
    assert (queue.used, list(queue.opportunistic)) == ([256, 1], ["o2"])


def test_nothing_starts_until_all_is_recovered() -> None:
    queue = node()
    queue.recover(opportunistic("o1", 1024), runs=False)
    queue.recover(guaranteed("g1", 1024), runs=True)
    assert queue.used == [1024, 1]
    assert queue.recovered() == [(Move.START, "o1")]


AMOUNTS = st.lists(st.integers(1, 1200), min_size=1, max_size=8)


@given(AMOUNTS, st.integers(1, 2048))
def test_the_last_one_displaced_was_needed(running: list[int], wanted: int) -> None:
    queue = node(cores=100)
    fill(queue, *(opportunistic(f"o{at}", memory) for at, memory in enumerate(running)))
    started = list(queue.running.values())
    assume(not queue.fits([wanted, 1]))
    gone = of(queue.arrive(guaranteed("g", wanted)), Move.DISPLACE)
    assert gone == [one.name for one in reversed(started)][: len(gone)], "the newest first"
    free = 2048 - queue.used[0]
    freed = [queue.running[name].demand[0] for name in gone]
    assert free + sum(freed) >= wanted > free + sum(freed[:-1])


class Node(RuleBasedStateMachine):
    """Containers come, end, pause, change their kind and their size in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = node(3, memory=10, cores=10, pause=True)
        self.all: dict[str, Container] = {}

    @rule(memory=st.integers(1, 12), is_guaranteed=st.booleans())
    def arrive(self, memory: int, is_guaranteed: bool) -> None:
        one = Container(f"c{len(self.all)}", [memory, 1], is_guaranteed)
        self.all[one.name] = one
        self.queue.arrive(one)

    @precondition(lambda self: self.all)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.queue.end(data.draw(st.sampled_from(sorted(self.all))))

    @precondition(lambda self: self.queue.going)
    @rule(data=st.data())
    def pause(self, data: st.DataObject) -> None:
        self.queue.pause(self.all[data.draw(st.sampled_from(sorted(self.queue.going)))])

    @precondition(lambda self: self.all)
    @rule(data=st.data(), up=st.booleans())
    def change(self, data: st.DataObject, up: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.all)))
        if up:
            self.queue.promote(name)
        else:
            self.queue.demote(name)

    @rule(most=st.integers(-1, 4))
    def shorten(self, most: int) -> None:
        self.queue.shorten(most)

    @invariant()
    def what_is_used_is_the_sum_of_what_runs_and_fits(self) -> None:
        total = [sum(column) for column in zip(*(one.demand for one in self.queue.running.values()), strict=True)] or [0, 0]
        assert self.queue.used == total
        assert fits(self.queue.used, self.queue.size)

    @invariant()
    def nobody_is_in_two_places(self) -> None:
        places = [*self.queue.running, *self.queue.guaranteed, *self.queue.opportunistic]
        assert len(places) == len(set(places))
        assert self.queue.going.keys() <= self.queue.running.keys()


TestNode = Node.TestCase
