"""The page of all fields, which is made from the definitions."""

from __future__ import annotations

from treadle.api import crds, fields
from treadle.api.objects import KINDS

PAGE = fields.page([crds.crd(kind) for kind in KINDS])


def row(path: str) -> list[str]:
    (found,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{path}` |"))
    return [cell.strip() for cell in found.strip("|").split(" | ")]


def test_a_field_has_its_type_its_default_and_its_meaning() -> None:
    assert row("spec.fair.weight")[1:] == [
        "text or number",
        "`1`",
        "Share relative to the siblings; 0 gives the minimum only.",
    ]
    assert row("spec.discipline")[1:3] == ["`Fair`, `Capacity`", "`Fair`"]
    assert row("spec.priorityAcl[].maxPriority")[1:3] == ["integer", "required"]
    assert row("spec.fair.userMaxApps")[1] == "map of integer"


def test_every_field_of_a_spec_is_there() -> None:
    for kind in KINDS:
        spec = crds.crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for name in spec["properties"]:
            assert f"| `spec.{name}` |" in PAGE, (kind, name)


def test_every_field_of_the_scheduler_that_holds_a_value_says_what_it_is_for() -> None:
    own = PAGE[PAGE.index("### spec of Scheduler") : PAGE.index("### status of Scheduler")]
    silent = [line.split("`")[1] for line in own.splitlines() if line.startswith("| `spec.fair.") and line.endswith("|  |")]
    assert silent == []
