"""Ids of YARN's clients and names of objects."""

from __future__ import annotations

import pytest

from treadle.rest.answers import Refused
from treadle.rest.ids import Ids, id_of, name_of


def test_fresh_ids_have_the_time_of_the_start_and_a_counter() -> None:
    ids = Ids(1449259268893)
    assert [ids.fresh(), ids.fresh()] == ["reservation_1449259268893_0001", "reservation_1449259268893_0002"]


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("reservation_1449259268893_0001", "reservation-1449259268893-0001"),
        ("reservation_1449259268893_12345", "reservation-1449259268893-12345"),
        ("reservation_1_7", "reservation-1-0007"),
        ("nightly", "nightly"),
    ],
)
def test_an_id_is_a_name_without_underscores(identity: str, name: str) -> None:
    assert name_of(identity, plain=True) == name
    assert name_of(id_of(name), plain=True) == name


@pytest.mark.parametrize(
    "identity", ["reservation_1", "reservation_x_1", "Nightly", "a_b", "", "x" * 64, "a/b", "reservation_٣_0001"]
)
def test_what_is_neither_an_id_nor_a_name_is_not_found(identity: str) -> None:
    with pytest.raises(Refused, match="is invalid") as told:
        name_of(identity, plain=True)
    assert told.value.status == 404
    with pytest.raises(Refused):
        name_of("nightly", plain=False)
