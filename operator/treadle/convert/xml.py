"""XML with line numbers, and without entities: a configuration file needs none, and those that multiply are an attack."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from treadle.convert.errors import AllocationError

MOST_LEVELS: Final = 100
"""Elements within one another; those of queues are fewer than a queue's path has levels."""


@dataclass(slots=True)
class Element:
    """An element: its text is what stands directly in it, trimmed by whoever reads it."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def child(self, *tags: str) -> "Element | None":
        """Return the last child with one of these tags: Hadoop reads elements in order and overwrites."""
        return next((one for one in reversed(self.children) if one.tag in tags), None)


def is_xml(text: bytes) -> bool:
    """Whether a file can only be meant for XML: its first letter but for a byte order mark and blanks is ``<``."""
    for mark, encoding in ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be")):
        if text.startswith(mark):
            text = text.removeprefix(mark).decode(encoding, "ignore").encode()
            break
    return text.lstrip().startswith(b"<")


def parse(text: str | bytes) -> Element:
    """Return the document element. Raises ``AllocationError`` for what is not well-formed."""
    parser = expat.ParserCreate()
    parser.buffer_text = True  # else each line comes by itself, and a long text takes the square of its length
    root: list[Element] = []
    stack: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (stack[-1].children if stack else root).append(element)
        stack.append(element)
        if len(stack) > MOST_LEVELS:
            raise AllocationError(
                parser.CurrentLineNumber, f"elements are nested deeper than {MOST_LEVELS} levels", "SAXParseException"
            )

    def characters(data: str) -> None:
        if stack:
            stack[-1].text += data

    def entity(*_: object) -> None:
        raise AllocationError(parser.CurrentLineNumber, "entity declarations are not read", "SAXParseException")

    def unknown(name: str, _: object) -> None:
        raise AllocationError(parser.CurrentLineNumber, f"entity {name} is not declared", "SAXParseException")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = entity
    parser.SkippedEntityHandler = unknown
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise AllocationError(error.lineno, expat.errors.messages[error.code], "SAXParseException") from None
    except (LookupError, ValueError) as error:  # an encoding that is none, or none that expat can be told of
        raise AllocationError(1, str(error), "SAXParseException") from None
    return root[0]
