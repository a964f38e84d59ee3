"""Conditions keep the time of the last change and stay within what the schema takes."""

from treadle.api import conditions
from treadle.api.queue import QueueStatus

EARLY, LATE = "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"


def test_a_condition_that_stays_keeps_its_time_and_takes_the_new_words():
    before = conditions.merge_condition([], conditions.condition("Ready", True, "InForce", "a", 1), EARLY)
    after = conditions.merge_condition(before, conditions.condition("Ready", True, "InForce", "b", 2), LATE)
    assert after == [
        {
            "type": "Ready",
            "status": "True",
            "reason": "InForce",
            "message": "b",
            "observedGeneration": 2,
            "lastTransitionTime": EARLY,
        }
    ]


def test_a_condition_that_changes_takes_the_present_time_and_its_place():
    first = conditions.merge_condition([], conditions.condition("Ready", True, "InForce"), EARLY)
    both = conditions.merge_condition(first, conditions.condition("NotActedOn", False, "AllActedOn"), EARLY)
    after = conditions.merge_condition(both, conditions.condition("Ready", False, "NoParent"), LATE)
    assert [(entry["type"], entry["status"], entry["lastTransitionTime"]) for entry in after] == [
        ("Ready", "False", LATE),
        ("NotActedOn", "False", EARLY),
    ]


def test_what_was_given_is_not_changed():
    before = [{"type": "Ready", "status": "True", "lastTransitionTime": EARLY}]
    conditions.merge_condition(before, conditions.condition("Ready", False, "Invalid"), LATE)
    assert before == [{"type": "Ready", "status": "True", "lastTransitionTime": EARLY}]


def test_a_message_and_the_list_are_cut_to_what_the_schema_takes():
    merged = []
    for number in range(40):
        merged = conditions.merge_condition(merged, conditions.condition(f"T{number}", True, "InForce", "x" * 5000), EARLY)
    assert len(merged) == 16
    assert merged[-1]["type"] == "T39"
    assert QueueStatus.model_validate({"conditions": merged}).conditions


def test_reasons_and_types_are_camel_case_constants():
    words = [value for name, value in vars(conditions).items() if name.isupper() and isinstance(value, str)]
    assert len(words) > 10
    assert all(word.isalnum() and word[0].isupper() for word in words)
    assert len(set(words)) == len(words)
