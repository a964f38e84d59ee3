"""The story tells what happened in the order in which it happened, and forgets the oldest of it."""

from treadle.core.effects import Bind
from treadle.core.kernel.journal import Story


def binds(cause: int, *names: str) -> list[Bind]:
    return [Bind(f"uid-{name}", "ns", name, f"node-of-{name}", "ns/app", "root.default", cause) for name in names]


def test_placements_stand_among_the_other_steps_by_what_caused_them() -> None:
    story = Story()
    story.add((1, 0.1, "root.a", "waits", "QueueMaximum"))
    story.placed(0.2, binds(1, "p", "q"))
    story.add((2, 0.3, "uid-p", "gone", ""))
    assert [(step.cause, step.subject, step.what) for step in story.steps] == [
        (1, "root.a", "waits"),
        (1, "uid-p", "assumed"),
        (1, "uid-q", "assumed"),
        (2, "uid-p", "gone"),
    ]
    assert [(step.what, step.detail) for step in story.of("uid-p")] == [("assumed", "node-of-p"), ("gone", "")]
    assert story.newest(2) == ["#1 at 0.200 uid-q: assumed node-of-q", "#2 at 0.300 uid-p: gone"]


def test_the_oldest_placements_are_forgotten_first() -> None:
    story = Story(3)
    story.placed(0.1, binds(1, "a", "b"))
    story.placed(0.2, binds(2, "c", "d"))
    assert [step.subject for step in story.steps] == ["uid-b", "uid-c", "uid-d"]
    story.placed(0.3, binds(3, "e", "f", "g", "h"))
    assert [step.subject for step in story.steps] == ["uid-f", "uid-g", "uid-h"]


def test_many_placements_do_not_push_out_what_else_happened() -> None:
    story = Story(3)
    story.add((1, 0.1, "root.a", "waits", "QueueMaximum"))
    for cause in range(2, 9):
        story.placed(0.2, binds(cause, "a", "b"))
    assert story.steps[0].subject == "root.a"
    assert len(story.steps) == 4
