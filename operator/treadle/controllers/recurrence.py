"""When a Reservation comes again: a period, or the times of a cron expression in a time zone, which become the times at which each of a core's periods has a beginning.

A promise is for ever and is kept as one period of UTC. A time of a zone whose clock is changed is at several times of UTC, so the period has it at each of them: whatever the
clock says on a day, that day's time is among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from treadle.api.quantities import DURATION, seconds
from treadle.core.errors import InvalidSpec

UTC_ZONE = "UTC"
OF_A_MACHINE = frozenset({"local", "localtime"})
"""Names that the time zone database of some machines has for the zone of the machine, which is another one elsewhere."""
MINUTE, DAY, WEEK = 60_000, 86_400_000, 604_800_000
SHORTEST = 10 * MINUTE
"""What begins more often is not planned at all, so it is not looked at for a shorter period."""
_PERIODS = [length * MINUTE for length in range(10, 1441) if 1440 % length == 0]
YEARS = 50
"""For how long the offsets of a zone are asked: what rules of today say of later years is said of these as well."""
_LAST_YEAR, _SAMPLE = 9000, timedelta(days=3)
_MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
_MACROS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0"}
_ALLOWED = "allowed are a period such as 24h, and a cron expression of minutes, hours and days of the week such as '0 3 * * 1-5'"


@dataclass(frozen=True, slots=True)
class Recurrence:
    """After which ``period`` it comes again, 0: never. ``starts`` are the times within a period that began with 1970 at which it begins, empty where it begins at its arrival.

    ``apart`` is the least time between two of them by one clock, 0 where nothing is said of them. All are in ms.
    """

    period: int = 0
    starts: tuple[int, ...] = ()
    apart: int = 0


def recurring(text: str, zone: str, since: int) -> Recurrence:
    """Return what a recurrence says, whose times are those of a time zone from ``since`` (ms since 1970) on; empty is never. Raises ``InvalidSpec``."""
    if not text:
        return Recurrence()
    if re.fullmatch(DURATION, text) is not None:
        return Recurrence(round(seconds(text) * 1000))
    times, offsets = _times(text), _offsets(zone, _year(since))
    gaps = [after - time for time, after in zip(times, (*times[1:], times[0] + WEEK), strict=True)]
    starts = {(_first(time) - offset) % WEEK for time in times for offset in offsets}
    period = WEEK
    if min(gaps) >= SHORTEST:
        period = next((each for each in _PERIODS if {(at + each) % WEEK for at in starts} == starts), WEEK)
    return Recurrence(period, tuple(sorted({at % period for at in starts})), min(gaps))


def _first(time: int) -> int:
    """Return a time within a week that began on a Monday as one since 1970."""
    return round(_MONDAY.timestamp() * 1000) + time


@lru_cache(maxsize=1024)
def _times(text: str) -> tuple[int, ...]:
    """Return the times of a cron expression in ms since a week began on Monday, in order, as a clock shows them. Raises ``InvalidSpec``."""
    said = f"spec.recurrence: {text!r}"
    fields = _MACROS.get(text, text).split()
    if text.startswith(("TZ=", "CRON_TZ=")):
        raise InvalidSpec(f"{said} names a time zone, which spec.timeZone is for; {_ALLOWED}")
    if len(fields) != 5:
        raise InvalidSpec(f"{said} is neither a period nor a cron expression of five fields; {_ALLOWED}")
    for name, field in (("day of the month", fields[2]), ("month", fields[3])):
        if field != "*":
            raise InvalidSpec(
                f"{said} says {field} for the {name}, which must be *: months have unlike lengths, and what is promised comes again each day or week"
            )
    try:
        found = CronSim(" ".join(fields), _MONDAY)
    except CronSimError as error:
        raise InvalidSpec(f"{said} is no cron expression: {str(error)[:1].lower()}{str(error)[1:]}; {_ALLOWED}") from error
    days = set[int]()
    for day in found.weekdays:
        if isinstance(day, tuple):
            raise InvalidSpec(
                f"{said} says {fields[4]} for the day of the week, which is another one in each month; what is promised comes again each day or week"
            )
        days.add((day - 1) % 7)
    return tuple(
        day * DAY + (hour * 60 + minute) * MINUTE
        for day in sorted(days)
        for hour in sorted(found.hours)
        for minute in sorted(found.minutes)
    )


def _year(since: int) -> int:
    """Return the year of a time, or one near it of which zones can be asked."""
    return min(max(1970 + since // (366 * DAY), 1970), _LAST_YEAR)


def zone_of(name: str, field: str) -> ZoneInfo:
    """Return a time zone by its name. Raises ``InvalidSpec``, which names the field, for one that there is not, or that is the machine's own."""
    try:
        return ZoneInfo("" if name.lower() in OF_A_MACHINE else name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidSpec(
            f"{field}: {name!r} is no time zone; allowed are names of the time zone database such as Europe/Berlin"
        ) from error


@lru_cache(maxsize=1024)
def _offsets(name: str, year: int) -> tuple[int, ...]:
    """Return by how many ms a zone is ahead of UTC at any time of a year and the ``YEARS`` after it. Raises ``InvalidSpec``."""
    zone = zone_of(name, "spec.timeZone")
    try:
        time, found = datetime(year, 1, 1, tzinfo=UTC), set[timedelta]()
        while time.year < year + YEARS:
            found.add(zone.utcoffset(time.astimezone(zone)) or timedelta())
            time += _SAMPLE
    except (ValueError, OSError) as error:
        raise InvalidSpec(
            f"spec.timeZone: {name!r} is no time zone; allowed are names of the time zone database such as Europe/Berlin"
        ) from error
    return tuple(sorted(round(each.total_seconds() * 1000) for each in found))
