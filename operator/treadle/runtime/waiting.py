"""Telling owners of waiting pods why: PodScheduled=False on the pod, through the pool for status."""

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus

from treadle.core.effects import ReportWaiting
from treadle.kube.patcher import Patcher, Write
from treadle.kube.transport import STRATEGIC


class WaitingReports:
    """Writes the reasons of waiting pods; a pod that is bound meanwhile needs none."""

    def __init__(self, patcher: Patcher) -> None:
        self._patcher = patcher
        self.lost: Callable[[str], None] = _nobody
        """Is told the uid of a pod for which a condition was not written, since it was another by then."""

    def submit(self, report: ReportWaiting, *, again: bool = False, version: str = "") -> None:
        """Queue the condition of one pod; the uid in the patch keeps it off a namesake that came later.

        ``version`` is the resourceVersion at which the pod is known: a write that is still on its way when the pod is bound does
        not land after that.
        ``again`` says that the pod has a condition with this status already, which then keeps its time of transition.
        """
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": report.reason,
            "message": report.message[:1024],
        }
        if not again:
            condition["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        fence = {"uid": report.uid, **({"resourceVersion": version} if version else {})}
        body = {"metadata": fence, "status": {"conditions": [condition]}}
        path = f"/api/v1/namespaces/{report.namespace}/pods/{report.name}/status"

        def done(status: int) -> None:
            if status == HTTPStatus.CONFLICT:
                self.lost(report.uid)

        self._patcher.submit(report.uid, Write(path, body, STRATEGIC, done=done))

    def discard(self, uid: str) -> None:
        """Forget a report that has not been sent."""
        self._patcher.discard(uid)


def _nobody(uid: str) -> None:
    """Take no note."""
    del uid
