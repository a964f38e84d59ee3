"""YARN's REST of the scheduler's configuration (``RMWebServices``, YARN-5734): what the objects say as properties of the CapacityScheduler, and changes of these."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiohttp import web

from treadle.changes.yarn import configuration, steps_of
from treadle.changes.yarn_update import Inapplicable, Malformed, Update, from_json, from_xml
from treadle.rest import forms
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.rest.changing import Changing, check_unchanged, etag_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.changes.execution import Read
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door

BASE = "/ws/v1/cluster/scheduler-conf"
XML = "application/xml"
DONE = "Configuration change successfully applied."
_ONLY_CAPACITY = "is only supported by the discipline Capacity, which is not that of the Scheduler"


def routes(door: Door, changing: Changing) -> list[web.RouteDef]:
    """Return the routes."""
    served = Configuration(changing)
    return [
        web.get(BASE, door(served.get), allow_head=False),
        web.put(BASE, door(served.put, XML)),
        web.post(f"{BASE}/validate", door(served.validate, XML)),
        web.get(f"{BASE}/version", door(served.version), allow_head=False),
    ]


class Configuration:
    """Answers the requests. Use ``routes``."""

    def __init__(self, changing: Changing) -> None:
        """Keep who makes changes."""
        self._changing = changing

    async def get(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002 - his token says what he may see
        """Return the properties."""
        only(request)
        async with self._changing.of(request) as (_, found):
            _check_discipline(found, "Retrieving the scheduler configuration")
            return answer(_shown(configuration(found)), headers={"ETag": etag_of(found)})

    async def version(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002
        """Return the number of the last change."""
        only(request)
        async with self._changing.of(request):
            return answer({"versionID": (await self._changing.logs.read()).version})

    async def put(self, request: web.Request, user: User) -> web.Response:
        """Make a change, all of it or nothing."""
        only(request)
        update = await _update(request)
        async with self._changing.beginning(request) as (client, found, logged):
            steps, notes, _ = await self._planned(request, found, update)
            executor = await self._changing.judge(client, found, steps)
            if steps:
                await self._changing.make(executor, user, steps, "", logged)
        return web.Response(text="\n".join([DONE, *notes]))

    async def validate(self, request: web.Request, user: User) -> web.Response:  # noqa: ARG002
        """Say what the properties would be; nothing is changed."""
        only(request)
        update = await _update(request)
        async with self._changing.of(request) as (client, found):
            steps, _, properties = await self._planned(request, found, update)
            await self._changing.judge(client, found, steps)
            return answer(_shown(properties))

    async def _planned(self, request: web.Request, found: Read, update: Update) -> Any:
        check_unchanged(request, found)
        _check_discipline(found, "Configuration change")
        try:
            return await asyncio.to_thread(steps_of, found, update, self._changing.scheduler)
        except Inapplicable as error:
            raise Refused(400, str(error)) from None


async def _update(request: web.Request) -> Update:
    """Read the body. Raises ``Refused``."""
    body = await request.read()
    try:
        if request.content_type == XML:
            return await asyncio.to_thread(from_xml, body)
        return from_json(forms.decoded(body))
    except Malformed as error:
        raise Refused(400, str(error)) from None


def _check_discipline(found: Read, what: str) -> None:
    if ((found.scheduler or {}).get("spec") or {}).get("discipline") != "Capacity":
        raise Refused(400, f"{what} {_ONLY_CAPACITY}")


def _shown(properties: Mapping[str, str]) -> dict[str, Any]:
    return {"property": [{"name": name, "value": value} for name, value in sorted(properties.items())]}
