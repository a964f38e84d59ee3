"""How the ports of a scheduler are opened."""

from __future__ import annotations

import pytest

from treadle.runtime.doors import Doors


@pytest.mark.parametrize(("host", "clear"), [("0.0.0.0", True), ("127.0.0.1", False), ("[::1]", False), ("localhost", False)])
async def test_a_port_that_others_reach_in_the_clear_is_warned_of(
    host: str, clear: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Doors()

    async def nowhere(*_: object) -> str:
        return ""

    monkeypatch.setattr(opened, "_open", nowhere)
    await opened.open(f"{host}:0", [], None)
    assert ("is served without TLS" in caplog.text) is clear
