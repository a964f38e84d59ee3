"""Quantities, percentages and decimals: what is allowed and how two are compared."""

import pytest

from treadle.api import quantities


@pytest.mark.parametrize("text", ["0", "4", "500m", "1.5", "16Gi", "1e3", "1E", "5.", ".5", "+2", "1n", "100M"])
def test_kubernetes_quantities_are_accepted(text):
    quantities.check_amount(text)


@pytest.mark.parametrize("text", ["", " 1", "1\n", "x", "1 Gi", "1gi", "1.2.3", "0x10", "१", "1K", "--1", "1e", "NaN", "inf"])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="must be a quantity such as"):
        quantities.check_amount(text)


@pytest.mark.parametrize("text", ["-1m", "-0", "-0Ki"])
def test_a_negative_quantity_is_refused(text):
    with pytest.raises(ValueError, match="must not be negative"):
        quantities.check_amount(text)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1h30m", 5400), ("500ms", 0.5), ("1m500ms", 60.5), ("0s", 0)])
def test_durations_are_counted_in_seconds(text, seconds):
    assert quantities.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "1.5s", "-1s", "1d"])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="must be a duration such as 30s"):
        quantities.seconds(text)
