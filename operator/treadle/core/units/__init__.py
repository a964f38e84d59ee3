"""Amounts and orders that know no queue: resources, arithmetic, comparison."""
