"""Warnings about requests: one line for many."""

from __future__ import annotations

import logging

import pytest

from treadle.web.warnings import EVERY, Seldom


def test_warnings_that_come_soon_after_one_are_counted_and_not_written(caplog: pytest.LogCaptureFixture) -> None:
    at = [100.0]
    warn = Seldom(logging.getLogger("doors"), lambda: at[0])
    for number in range(50):
        warn(f"refused {number}")
    at[0] += EVERY
    warn("refused again")
    at[0] += EVERY
    warn("and again")
    assert caplog.messages == ["refused 0", "refused again (and 49 more such warnings before)", "and again"]
