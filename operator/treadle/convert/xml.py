"""XML with line numbers, and without entities: a configuration file needs none, and those that multiply are an attack."""

from dataclasses import dataclass, field
from xml.parsers import expat

from treadle.convert.errors import AllocationError


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


def parse(text: str | bytes) -> Element:
    """Return the document element. Raises ``AllocationError`` for what is not well-formed."""
    parser = expat.ParserCreate()
    root: list[Element] = []
    stack: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (stack[-1].children if stack else root).append(element)
        stack.append(element)

    def characters(data: str) -> None:
        if stack:
            stack[-1].text += data

    def entity(*_: object) -> None:
        raise AllocationError(parser.CurrentLineNumber, "entity declarations are not read", "SAXParseException")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise AllocationError(error.lineno, expat.errors.messages[error.code], "SAXParseException") from None
    return root[0]
