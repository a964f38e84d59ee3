"""A real API server tells Treadle the same in protobuf as in JSON."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster import watch_forms
from cluster.control_plane import ControlPlane
from kube.forms import agree
from treadle.kube import wire
from treadle.kube.formats import Expired, Frames, Lines, status_of


def test_everything_that_is_read_reads_the_same_in_both_forms(fresh_control_plane: Callable[..., ControlPlane]) -> None:
    plane = fresh_control_plane(arguments=watch_forms.ARGUMENTS)
    watch_forms.fill(plane)
    for resource in watch_forms.RESOURCES:
        agree(resource, watch_forms.told(plane, resource, "json"), watch_forms.told(plane, resource, "protobuf"))
    assert status_of(watch_forms.refused(plane, "json")) == status_of(watch_forms.refused(plane, "protobuf"))


def test_a_version_that_the_server_has_not_kept_is_expired_in_both_forms(
    fresh_control_plane: Callable[..., ControlPlane],
) -> None:
    plane = fresh_control_plane()
    plane.stop_apiserver()
    plane.start_apiserver()  # what it remembers begins here
    for name, form in (("json", Lines(wire.Pod)), ("protobuf", Frames(wire.Pod))):
        messages, _ = form.cut(watch_forms.too_late(plane, name))
        with pytest.raises(Expired):
            form.event(messages[0])
