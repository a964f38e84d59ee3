"""The answers of the ResourceManager's web services as XML, for clients that ask for it: the same fields by the rules by which Hadoop's (JAXB) make either.

A list is its element again and again, the type of a scheduler or of a leaf an attribute ``xsi:type``, and what an object is called its root.
"""

from __future__ import annotations

import asyncio
import re
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, cast
from xml.etree import ElementTree as ET

import msgspec

from treadle.rest.answers import JSON, XML, Refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from aiohttp import web

XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
TYPED: Final = frozenset({"fairScheduler", "capacityScheduler", "fairSchedulerLeafQueueInfo", "capacitySchedulerLeafQueueInfo"})
"""The values of ``type`` that name a class, and so are attributes."""
HEAD: Final = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
SMALL: Final = 4096
"""Bytes of JSON that are written in less than a few milliseconds."""
MOST_WAITING: Final = 8
"""Larger answers that are held until they are written."""
_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What has no place in XML 1.0, however it is escaped."""


def wanted(accept: str) -> str:
    """Return in which of both forms a request wants its answer, by its ``Accept``, empty for neither; JSON where it wants either as much (RFC 9110, 12.5.1)."""
    likes = {JSON: 0.0, XML: 0.0}
    exact = dict.fromkeys(likes, -1)
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = next((_weight(one[2:]) for one in parameters if one.startswith("q=")), 1.0)
        for form in likes:
            kind = (form, "application/*", "*/*").index(media) if media in (form, "application/*", "*/*") else 3
            if kind < 3 and 3 - kind > exact[form]:
                likes[form], exact[form] = weight, 3 - kind
    best = max(likes, key=lambda form: likes[form])
    return best if likes[best] > 0 else ""


def _weight(text: str) -> float:
    return float(text) if re.fullmatch(r"[01](\.[0-9]{0,3})?", text) else 0.0


class Writer:
    """Writes large answers one after the other and beside the loop: a large tree takes a while, in which the scheduler goes on."""

    def __init__(self) -> None:
        """Write nothing yet."""
        self._one, self._waiting = asyncio.Lock(), 0

    async def write(self, body: bytes, root: str) -> bytes:
        """Return an answer in JSON as XML. Raises ``Refused`` where too many wait."""
        if len(body) <= SMALL:
            return written(body, root)
        if self._waiting >= MOST_WAITING:
            raise Refused(503, f"{MOST_WAITING} answers wait to be written as XML, and no more at once", wait=5)
        self._waiting += 1
        try:
            async with self._one:
                return await asyncio.to_thread(written, body, root)
        finally:
            self._waiting -= 1


def either(
    handler: Callable[[web.Request], Awaitable[web.Response]], writer: Writer, root: str = ""
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler whose answer is in the form that is wanted. ``root`` names an answer that has no name of its own in JSON."""

    @wraps(handler)
    async def answered(request: web.Request) -> web.Response:
        answer = await handler(request)
        answer.headers["Vary"] = "Accept"
        if (
            answer.content_type != JSON
            or not isinstance(answer.body, bytes)
            or wanted(request.headers.get("Accept", "*/*")) != XML
        ):
            return answer
        try:
            answer.body = await writer.write(answer.body, root)
        except Refused as refused:
            answer = refused.answer(request.path)
            answer.headers["Vary"] = "Accept"
            answer.body = written(cast("bytes", answer.body))
        answer.content_type = XML
        return answer

    return answered


def written(body: bytes, root: str = "") -> bytes:
    """Return an answer in JSON as XML."""
    said: Mapping[str, Any] = msgspec.json.decode(body)
    name, value = next(iter(said.items()))
    if not isinstance(value, dict):
        name, value = root or "response", said
    made = ET.Element(name)
    _fill(made, value)
    text: bytes = ET.tostring(made, encoding="utf-8", xml_declaration=False)
    return HEAD + text


def _fill(element: ET.Element, value: Any) -> None:
    if isinstance(value, dict):
        for name, one in value.items():
            if name == "type" and one in TYPED:
                if one.endswith("Scheduler"):
                    element.set("xmlns:xsi", XSI)
                element.set("xsi:type", one)
                continue
            for item in one if isinstance(one, list) else (one,):
                if item is not None:
                    _fill(ET.SubElement(element, name), item)
    elif isinstance(value, bool):
        element.text = "true" if value else "false"
    else:
        element.text = _NO_XML.sub("\ufffd", str(value)) or None
