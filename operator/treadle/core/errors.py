"""Errors of the core, by blame: what a user wrote, or what we got wrong."""


class CoreError(Exception):
    """The base of everything that the core raises."""


class InvalidSpec(CoreError):
    """A user's object says something that cannot be acted on; the message names the field, the value and what is allowed."""


class InvariantBroken(CoreError):
    """The state contradicts itself: a defect of ours. Carries the story, so that the report says how it came about."""

    def __init__(self, problems: list[str], story: list[str]) -> None:
        """Keep every ``problem`` found and the newest lines of the ``story``."""
        self.problems = problems
        self.story = story
        super().__init__("; ".join(problems) + ("\n" + "\n".join(story) if story else ""))
