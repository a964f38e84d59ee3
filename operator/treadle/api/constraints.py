"""Placement constraints in objects: texts in YARN's language, which are read when the object is."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from treadle.api.common import Model
from treadle.core.rules.constraints.parsing import ConstraintError, parse_expression


def _understood(text: str) -> str:
    try:
        parse_expression(text)
    except ConstraintError as error:
        raise PydanticCustomError("placement_constraint", "{why}", {"why": str(error)}) from error
    return text


PlacementConstraint = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_understood)]


class TaggedConstraint(Model):
    """A constraint that holds for all pods in the cluster with an allocation tag."""

    tag: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="The allocation tag of the pods that it holds for."
    )
    constraint: PlacementConstraint = Field(description="Such as notin,node,all/hbase.")
