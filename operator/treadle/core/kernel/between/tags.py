"""Allocation tags and gangs among what tells kinds of pods apart: as labels that no pod can have, so that a rule by them is one by labels.

A container carries its request's tags from its allocation to its end, and they are counted by application (``AllocationTagsManager``
of Hadoop).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model import PodRules, PodTerm, Requirement
from treadle.core.model.placement_constraints import ALL, APP_ID, NOT_SELF, SELF

if TYPE_CHECKING:
    from treadle.core.model import PodSpec
    from treadle.core.model.placement_constraints import TagTarget

_APPLICATION, _TAG, _APPLICATION_TAG = "\0application", "\0tag/", "\0application-tag/"
_GANG = "\0gang"


def marks(spec: PodSpec) -> tuple[tuple[str, str], ...]:
    """Return what a pod's gang and allocation tags add to its labels: nothing without any."""
    gang = ((_GANG, f"{spec.application}/{spec.gang}"),) if spec.gang else ()
    if not spec.tags:
        return gang
    return (
        *gang,
        (_APPLICATION, spec.application),
        *((f"{_TAG}{tag}", "") for tag in spec.tags),
        *((f"{_APPLICATION_TAG}{tag}", "") for tag in spec.application_tags),
    )


def with_gang(application: str, gang: str, topology: str) -> PodRules:
    """Return what holds a pod of a gang (of an application, ``namespace/name``) to the domain of a topology in which others of it are."""
    namespace, mark = application.partition("/")[0], f"{application}/{gang}"
    term = PodTerm(topology, (Requirement(_GANG, "In", (mark,)),), (namespace,))
    return PodRules(namespace, affinity=(term,), labels=((_GANG, mark),))


def term(target: TagTarget, tag: str, application: str) -> PodTerm:
    """Return the pods with a tag in a target's namespace, as it is for an application (``namespace/name``)."""
    tagged = Requirement(f"{_TAG}{tag}", "Exists")
    if target.namespace == SELF:
        return PodTerm("", (Requirement(_APPLICATION, "In", (application,)), tagged), (application.partition("/")[0],))
    if target.namespace == NOT_SELF:
        return PodTerm("", (Requirement(_APPLICATION, "NotIn", (application,)), tagged), (), ())
    if target.namespace == ALL:
        return PodTerm("", (tagged,), (), ())
    if target.namespace == APP_ID:
        return PodTerm("", (Requirement(_APPLICATION, "In", (target.value,)), tagged), (target.value.partition("/")[0],))
    return PodTerm("", (Requirement(f"{_APPLICATION_TAG}{target.value}", "Exists"), tagged), (), ())
