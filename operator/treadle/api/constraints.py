"""Placement constraints in objects: texts in YARN's language, in the one form that the API server can check as well.

Pods' annotations may have more: any spaces, and ``and``, ``or`` and ``delayed-or`` nested deeper than a pattern can follow.
"""

from typing import Annotated, Final

from pydantic import Field

from treadle.api.common import Model, patterned
from treadle.core.model.placement_constraints import NAMESPACES

LEVELS: Final = 2
"""To how many levels ``and`` and ``or`` may be put into each other in an object."""
LONGEST: Final = 512
_TAG = rf"(({'|'.join(sorted(NAMESPACES))})/)?[A-Za-z0-9_.-]+"
_SCOPE = "(node|rack)"
_COUNT = "[0-9]{1,9}"
_VALUE = "[A-Za-z0-9_.-]+"
_ONE = rf"(in|notin),{_SCOPE}(,{_TAG})+|cardinality,{_SCOPE}(,{_TAG})+,{_COUNT},{_COUNT}|[A-Za-z0-9_./-]+!?={_VALUE}(,{_VALUE})*"
_TEXT = (
    "must be a placement constraint: in,SCOPE,TAG…, notin,SCOPE,TAG…, cardinality,SCOPE,TAG…,MIN,MAX, LABEL=VALUE,…, LABEL!=VALUE,…, "
    f"and(…:…), or(…:…) or delayed-or(TIME,…:TIME,…), without spaces and to {LEVELS} levels; SCOPE is node or rack, TAG may begin with {', '.join(sorted(NAMESPACES))} and a slash"
)


def _nested(levels: int) -> str:
    inner = f"({_nested(levels - 1)})" if levels > 1 else f"({_ONE})"
    return rf"{_ONE}|(and|or)\({inner}(:{inner})*\)"


_TIMED = rf"[0-9]{{1,9}}(ms|s|m|h),({_ONE})"
"""An alternative of several that are delayed; more would be over what the API server lets a pattern cost."""
PlacementConstraint = Annotated[str, patterned(rf"{_nested(LEVELS)}|delayed-or\({_TIMED}(:{_TIMED})*\)", _TEXT, LONGEST)]


class TaggedConstraint(Model):
    """A constraint that holds for all pods in the cluster with an allocation tag."""

    tag: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="The allocation tag of the pods that it holds for."
    )
    constraint: PlacementConstraint = Field(description="Such as notin,node,all/hbase.")
