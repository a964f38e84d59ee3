"""Telling owners of waiting pods why: PodScheduled=False on the pod, through the pool for status."""

from datetime import UTC, datetime

from treadle.core.effects import ReportWaiting
from treadle.kube.patcher import Patcher, Write
from treadle.kube.transport import STRATEGIC


class WaitingReports:
    """Writes the reasons of waiting pods; a pod that is bound meanwhile needs none."""

    def __init__(self, patcher: Patcher) -> None:
        self._patcher = patcher

    def submit(self, report: ReportWaiting, *, again: bool = False) -> None:
        """Queue the condition of one pod; the uid in the patch keeps it off a namesake that came later.

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
        body = {"metadata": {"uid": report.uid}, "status": {"conditions": [condition]}}
        self._patcher.submit(
            report.uid, Write(f"/api/v1/namespaces/{report.namespace}/pods/{report.name}/status", body, STRATEGIC)
        )

    def discard(self, uid: str) -> None:
        """Forget a report that has not been sent."""
        self._patcher.discard(uid)
