"""Which queue was probably meant by a path that is none."""

from __future__ import annotations

import pytest

from treadle.core.kernel.tree.near import meant

PATHS = ["root", "root.prod", "root.dev", "root.team", "root.team.etl", "root.team.nightly", "root.other", "root.other.nightly"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("root.prd", "root.prod"),
        ("root.PROD", "root.prod"),
        ("root.etl", "root.team.etl"),
        ("root.team.elt", "root.team.etl"),
        ("root.nightly", ""),
        ("root.user-queue", ""),
        ("root.prod.team", "root.team"),
        ("root", ""),
    ],
)
def test_it_is_the_one_of_like_spelling_or_the_only_one_of_that_name(asked: str, found: str) -> None:
    assert meant(asked, PATHS) == found
