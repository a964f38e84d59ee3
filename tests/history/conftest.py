from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql

from history.postgres import postgres
from treadle.history.store import Store, metadata


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/below/history.db"
        return
    found = request.getfixturevalue("server")
    yield found
    engine = sql.create_engine(found.replace("postgresql://", "postgresql+pg8000://"))
    metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    found = Store(url)
    yield found
    found.close()
