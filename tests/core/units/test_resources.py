"""Quantities are read as Kubernetes reads them, rounded up to the unit that we count in."""

from decimal import ROUND_CEILING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity as official

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import ResourceTypes, amount, extend, format_amount, in_words, parse_quantity


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "2", 2000),
        ("cpu", "500m", 500),
        ("cpu", "0.1", 100),
        ("cpu", "1n", 1),
        ("cpu", 3, 3000),
        ("memory", "1Gi", 1 << 30),
        ("memory", "1.5Gi", 3 << 29),
        ("memory", "1G", 10**9),
        ("memory", "100m", 1),
        ("memory", "1e3", 1000),
        ("memory", "1E", 10**18),
        ("memory", ".5Ki", 512),
        ("nvidia.com/gpu", "8", 8),
        ("cpu", "-1", -1000),
    ],
)
def test_a_quantity_is_an_integer_in_the_unit_of_its_resource(resource: str, text: str, expected: int) -> None:
    assert amount(resource, text) == expected


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "1 Gi", "1gi", "--1", "1e", "0x10", "1e999", "9" * 80, "٣"])
def test_what_is_not_a_quantity_is_refused_with_the_value_and_what_is_allowed(text: str) -> None:
    with pytest.raises(InvalidSpec) as error:
        parse_quantity(text)
    assert repr(text[:64]) in str(error.value)


def test_an_amount_that_no_counter_holds_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="out of range"):
        amount("memory", "8Ei")


SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e2", "e-2"]


@given(st.integers(0, 10**6), st.integers(0, 999), st.sampled_from(SUFFIXES))
def test_it_agrees_with_the_official_client(whole: int, fraction: int, suffix: str) -> None:
    text = f"{whole}.{fraction:03d}{suffix}"
    assert parse_quantity(text) == int((official(text) * 1000).to_integral_value(ROUND_CEILING))


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 10**15))
def test_what_is_shown_reads_back_as_the_same(resource: str, value: int) -> None:
    assert amount(resource, format_amount(resource, value)) == value


def test_a_new_resource_type_gets_the_next_position_and_vectors_grow() -> None:
    types = ResourceTypes()
    assert types.demand([("nvidia.com/gpu", 2), ("cpu", 5), ("memory", 0)]) == ((1, 5), (3, 2))
    assert extend([1, 2, 3], len(types)) == [1, 2, 3, 0]
    assert types.quantities([1 << 30, 1500, 0, 2]) == {"memory": "1Gi", "cpu": "1500m", "nvidia.com/gpu": "2"}


def test_where_there_are_many_types_vectors_are_longer_than_their_number_and_seldom_lengthened() -> None:
    types, widths = ResourceTypes(), set()
    for number in range(1000):
        types.position(f"example.com/{number}")
        vector = types.vector({"cpu": 5}, 7)
        assert len(vector) == types.width >= len(types)
        assert vector[1] == 5
        assert vector.count(7) == types.width - 1
        widths.add(types.width)
    assert types.width < 1.6 * len(types)
    assert len([width for width in widths if width > ResourceTypes.EXACT]) < 12


@pytest.mark.parametrize(
    ("resource", "value", "words"),
    [
        ("memory", 0, "0"),
        ("memory", 1, "1"),
        ("memory", 1023, "1023"),
        ("memory", 154618820, "~147.5Mi"),
        ("memory", -268435455, "~-256.0Mi"),
        ("memory", 268435456, "256Mi"),
        ("memory", 512 << 10, "512Ki"),
        ("memory", (512 << 10) + 1, "~512.0Ki"),
        ("memory", 5000 << 20, "5000Mi"),
        ("hugepages-2Mi", 3 << 20, "3Mi"),
        ("cpu", 1999, "1999m"),
        ("example.com/gpu", 154618820, "154618820"),
    ],
)
def test_what_people_read_has_no_long_rows_of_digits_for_bytes(resource: str, value: int, words: str) -> None:
    assert in_words(resource, value) == words


def test_what_is_out_of_range_is_told_in_the_unit_in_which_it_is_written() -> None:
    with pytest.raises(InvalidSpec, match=r"cpu: '9007199254740993' is out of range: at most 4611686018427387$"):
        amount("cpu", "9007199254740993")
    assert amount("cpu", "4611686018427387") == 4611686018427387000
