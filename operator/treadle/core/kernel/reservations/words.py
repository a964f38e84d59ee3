"""Times of plans in words. Times are in ms since the epoch and told in UTC, as RFC 3339 writes them."""

from __future__ import annotations

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
_FIRST_DAY = 719_468
"""Days from the first of March of the year 0 to 1970."""
_ERA = 146_097
"""Days of 400 years."""


def moment(time: int) -> str:
    """Return a time such as ``2026-12-01T01:00:00Z``, with thousandths of a second where there are any."""
    day, rest = divmod(time, DAY)
    hour, rest = divmod(rest, HOUR)
    minute, rest = divmod(rest, MINUTE)
    second, thousandths = divmod(rest, SECOND)
    fraction = f".{thousandths:03}" if thousandths else ""
    return f"{_date(day)}T{hour:02}:{minute:02}:{second:02}{fraction}Z"


def _date(day: int) -> str:
    """Return the day of the Gregorian calendar that is so many days after 1970 began; years are counted from March on, so that the odd day is the last."""
    era, of_era = divmod(day + _FIRST_DAY, _ERA)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return f"{year + 400 * era + (month <= 2):04}-{month:02}-{of_month:02}"


def duration(time: int) -> str:
    """Return a length of time such as ``1h30m``; ``0s`` for none."""
    found, rest = "", time
    for unit, size in (("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)):
        count, rest = divmod(rest, size)
        found += f"{count}{unit}" if count else ""
    return found or "0s"
