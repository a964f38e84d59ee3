"""What pods of an application that are placed demand of those that come after them.

YARN looks at the constraints of a request when it is placed, and never again: what comes later may break them. Here a later set of the same pass does not, since what was left out of a set
was left out for those that are in it. A solver leaves pods out as well so that others are content, which would be for nothing if they came with the next pass. So with a solver all later sets keep the
maxima that those of earlier ones have asked for; their minima nothing that comes can break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.kernel.nodes.rules.placement_constraints import Described, Joined, Placement, Tagged
from treadle.core.kernel.pods.states import ASSUMED
from treadle.core.model.placement_constraints import MOST

if TYPE_CHECKING:
    from treadle.core.kernel.between.kinds import Kind
    from treadle.core.kernel.between.tallies import DomainCounts
    from treadle.core.kernel.nodes.rules.placement_constraints import Part
    from treadle.core.kernel.tree.members import Application, PodRecord


class Guards:
    """How many pods of a count there may be in a domain: ``limits``, by the domain's number; what is broken already limits nobody.

    With ``since`` only pods that were placed at that time demand anything.
    """

    def __init__(self, application: Application, since: float | None = None) -> None:
        self.limits: dict[DomainCounts, dict[int, int]] = {}
        for record in application.whole.pods.values():
            between = record.shape.between
            if since is not None and (record.state is not ASSUMED or record.since != since):
                continue
            if record.node >= 0 and between is not None and record.shape.asked.batch is not None:
                for check in between.checks:
                    if isinstance(check, Placement):
                        self._guard(record, check.part)

    def allows(self, kind: Kind, row: int) -> bool:
        """Whether one pod more of a kind on a node breaks nothing."""
        for counts, by_domain in self.limits.items():
            if counts.tally in kind.tallies:
                domain = counts.topology.domain[row]
                most = by_domain.get(domain)
                if most is not None and counts.counts.get(domain, 0) >= most:
                    return False
        return True

    def _guard(self, record: PodRecord, part: Part) -> None:
        match part:
            case Tagged():
                domain = part.topology.domain[record.node]
                if part.most < MOST and domain != NOWHERE and holds(record, part):
                    for counts in part.counts:
                        most = part.most + (counts.tally in record.kind.tallies)
                        by_domain = self.limits.setdefault(counts, {})
                        by_domain[domain] = min(by_domain.get(domain, most), most)
            case Joined():
                children = [child for child in part.children if holds(record, child)]
                if part.all_of_them:
                    for child in children:
                        self._guard(record, child)
                elif children and all(map(limiting, children)):
                    self._guard(record, children[0])
            case Described():
                pass


def limiting(part: Part) -> bool:
    """Whether pods that come may break a part of a constraint."""
    match part:
        case Tagged():
            return part.most < MOST
        case Joined():
            return any(map(limiting, part.children))
        case Described():
            return False


def holds(record: PodRecord, part: Part) -> bool:
    """Whether a part of the constraint of a pod that is placed holds where it is, the pod itself not counted."""
    match part:
        case Tagged():
            domain = part.topology.domain[record.node]
            for one in part.counts:
                count = one.counts.get(domain, 0) - (domain != NOWHERE and one.tally in record.kind.tallies)
                if (part.least > 0 and count < part.least) or (part.most < MOST and count > part.most):
                    return False
            return True
        case Joined():
            held = (holds(record, child) for child in part.children)
            return all(held) if part.all_of_them else any(held)
        case Described():
            return part.admits(record.node)
