"""Named tuples, and what is for type checkers only, without ``typing``: that module would take half a mebibyte of the agent's memory."""

from collections import namedtuple

__all__ = ["TYPE_CHECKING", "NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Made(type):
        """Makes a named tuple of a class that says its fields as those of ``typing.NamedTuple`` do."""

        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, space)
            fields = super().__new__(cls, name, (), dict(space)).__annotations__
            defaults = [space[one] for one in fields if one in space]
            made = namedtuple(name, fields, defaults=defaults, module=space["__module__"])  # noqa: PYI024 - of typing nothing is imported
            made.__doc__ = space.get("__doc__")
            return made

    class NamedTuple(metaclass=_Made):
        """What named tuples are derived from."""
