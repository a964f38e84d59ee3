"""How amounts, times and access lists of Hadoop are written in our objects."""

from collections.abc import Iterable


def decimal(value: float) -> str:
    """Write a number with at most six digits after the point."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def seconds(value: float) -> str:
    """Write a time that is given in seconds."""
    return f"{int(value)}s" if value == int(value) else f"{round(value * 1000)}ms"


def milliseconds(value: int) -> str:
    """Write a time that is given in milliseconds."""
    return f"{value}ms" if value % 1000 else f"{value // 1000}s"


def quantity(name: str, value: float) -> str:
    """Write an amount of YARN: memory is in MiB, everything else is counted."""
    return f"{int(value)}Mi" if name == "memory" else str(int(value))


def acl(text: str) -> dict[str, list[str]]:
    """Read ``users groups``: two lists with commas, one blank between them; a star is everybody (``AccessControlList``)."""
    if "*" in text and text.strip() == "*":
        return {"users": ["*"]}
    lists = [unique(part.strip() for part in half.split(",")) for half in text.split(" ", 1)]
    return {key: names for key, names in zip(("users", "groups"), lists, strict=False) if names}


def unique(names: Iterable[str]) -> list[str]:
    """Return names without blanks and repetitions, in their order."""
    return list(dict.fromkeys(name for name in names if name))
