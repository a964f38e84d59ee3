"""Hadoop's properties as they are looked up."""

from __future__ import annotations

import time

from treadle.convert.capacity_file import Properties


def test_names_below_a_prefix_come_in_the_order_of_the_properties() -> None:
    found = Properties({"a.z": "1", "b.x": "2", "a.b": "3", "a": "4", "a.c.d": "5", "ab.c": "6"})
    assert list(found.names("a.")) == ["z", "b", "c.d"]
    assert list(found.names("")) == ["a.z", "b.x", "a.b", "a", "a.c.d", "ab.c"]
    assert list(found.names("c")) == []


def test_to_look_below_each_of_many_queues_does_not_take_the_square_of_them() -> None:
    found = Properties({f"q{number}.capacity": "0" for number in range(10_000)})
    began = time.process_time()
    assert all(list(found.names(f"q{number}.")) == ["capacity"] for number in range(10_000))
    assert time.process_time() - began < 4
