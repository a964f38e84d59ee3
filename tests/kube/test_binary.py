"""Protobuf says the same as JSON: recordings of a real API server that tells the same objects in both forms, and bytes that nobody should send."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.forms import KINDS, agree, enveloped, frame, refusal
from treadle.kube import binary, wire
from treadle.kube.binary import objects
from treadle.kube.binary.schema import CLASSES, MESSAGES
from treadle.kube.errors import ApiError
from treadle.kube.formats import Event, Expired, Frames, status_of

RECORDED = Path(__file__).parent / "recorded"
"""Written by ``tests/cluster/watch_forms.py``."""
PARTS = {
    "creationTimestamp": "Time",
    "startTime": "Time",
    "deletionTimestamp": "Time",
    "labels": "TextEntry",
    "annotations": "TextEntry",
    "nodeSelector": "TextEntry",
    "ownerReferences": "OwnerReference",
    "tolerations": "Toleration",
    "affinity": "Affinity",
    "overhead": "AmountEntry",
    "allocatable": "AmountEntry",
    "images": "ContainerImage",
    "allocatedResources": "AmountEntry",
    "limits": "AmountEntry",
    "requests": "AmountEntry",
    "resources": "ResourceRequirements",
}
"""What the parts are that messages carry as bytes, by the field."""


def recorded(resource: str, form: str) -> bytes:
    return (RECORDED / f"{resource}.{form}").read_bytes()


def frames(resource: str) -> list[bytes]:
    return Frames(KINDS[resource]).cut(recorded(resource, "protobuf"))[0]


@pytest.mark.parametrize("resource", KINDS)
def test_protobuf_reads_as_json_does(resource: str) -> None:
    agree(resource, recorded(resource, "json"), recorded(resource, "protobuf"))


def test_a_refusal_in_protobuf_reads_as_that_in_json() -> None:
    refusal = status_of(recorded("refusal", "protobuf"))
    assert refusal == status_of(recorded("refusal", "json"))
    assert refusal == wire.Status(404, "NotFound", "the server could not find the requested resource")


def test_every_field_that_is_read_is_in_the_recordings() -> None:
    """So that no number of a field stands unproven."""
    seen: set[tuple[str, str]] = set()

    def walk(message: Any) -> None:
        name = message.DESCRIPTOR.name
        for field, value in message.ListFields():
            seen.add((name, field.name))
            many = value if field.is_repeated else [value]
            for one in many:
                if field.message_type is not None:
                    walk(one)
                elif field.name in PARTS and isinstance(one, bytes):
                    walk(CLASSES[PARTS[field.name]].FromString(one))

    for resource, kind in KINDS.items():
        for one in frames(resource):
            walk(CLASSES["WatchEvent"].FromString(one))
            unknown = CLASSES["Unknown"].FromString(binary.event(one)[1].removeprefix(binary.MAGIC))
            walk(unknown)
            walk(CLASSES[kind.__name__].FromString(unknown.raw))
    walk(
        CLASSES["Status"].FromString(
            CLASSES["Unknown"].FromString(recorded("refusal", "protobuf").removeprefix(binary.MAGIC)).raw
        )
    )
    wanted = {(message, field) for message, fields in MESSAGES.items() for field in fields}
    assert wanted - seen == set()


@given(data=st.data())
def test_frames_are_the_same_however_the_bytes_come(data: st.DataObject) -> None:
    whole = recorded("pods", "protobuf")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=20)))
    form, found, rest = Frames(wire.Pod), list[bytes](), b""
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        more, rest = form.cut(rest + whole[start:end])
        found += more
    assert (found, rest) == (frames("pods"), b"")


@given(st.binary(max_size=200))
def test_bytes_that_make_no_sense_are_not_understood_and_nothing_else(noise: bytes) -> None:
    for attempt in (noise, enveloped(noise), frame("ADDED", enveloped(noise))):
        with suppress(binary.NotUnderstood):
            Frames(wire.Pod).event(attempt)


@given(data=st.data())
def test_an_object_with_any_byte_changed_is_read_or_not_understood(data: st.DataObject) -> None:
    changed = bytearray(frames("pods")[data.draw(st.integers(0, 2))])
    changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with suppress(binary.NotUnderstood, ApiError):  # a type can become ERROR
        Frames(wire.Pod).event(bytes(changed))


def test_an_error_in_a_watch_is_raised_in_the_servers_words() -> None:
    with pytest.raises(ApiError, match="etcd is away") as raised:
        Frames(wire.Pod).event(frame("ERROR", refusal(500, "InternalError", "etcd is away")))
    assert (raised.value.status, raised.value.reason) == (500, "InternalError")


def test_a_version_that_is_too_old_is_expired() -> None:
    with pytest.raises(Expired):
        Frames(wire.Pod).event(frame("ERROR", refusal(410, "Expired", "too old resource version")))


def test_a_refusal_is_read_in_every_form() -> None:
    assert status_of(refusal(403, "Forbidden", "no")) == wire.Status(403, "Forbidden", "no")
    assert status_of(b'{"code": 403, "reason": "Forbidden", "message": "no"}') == wire.Status(403, "Forbidden", "no")
    assert status_of(b"<html>no</html>") == wire.Status(message="<html>no</html>")
    assert status_of(b"k8s\0\xff") == wire.Status(message="k8s\0�")


def test_texts_that_are_not_utf_8_are_read_as_far_as_they_are() -> None:
    """Whoever writes in protobuf may put any bytes into an annotation or the message of a condition; in JSON the server replaces them."""
    entry = CLASSES["TextEntry"](key=b"note", value=b"gr\xfcn").SerializeToString()
    pod = CLASSES["Pod"]()
    pod.metadata.annotations.append(entry)
    pod.status.conditions.add(type="PodScheduled", message=b"\xff")
    found = binary.read(wire.Pod, enveloped(pod.SerializeToString()))
    assert found.metadata.annotations == {"note": "gr�n"}
    assert found.status is not None
    assert found.status.conditions == [wire.Condition("PodScheduled", "", "", "�")]


def test_a_time_beyond_all_years_is_not_understood() -> None:
    pod = CLASSES["Pod"]()
    pod.metadata.creationTimestamp = CLASSES["Time"](seconds=1 << 60).SerializeToString()
    with pytest.raises(binary.NotUnderstood):
        binary.read(wire.Pod, enveloped(pod.SerializeToString()))


def test_pods_that_are_alike_but_for_what_is_not_read_share_a_spec_and_have_their_own_nodes() -> None:
    found = []
    for number in range(3):
        spec = CLASSES["PodSpec"](nodeName=f"n{number}" if number else "")
        spec.containers.add(name="main")
        spec.volumes.add(name=f"kube-api-access-{number}")
        claimed = spec.volumes.add(name=f"data-{number}")
        claimed.volumeSource.persistentVolumeClaim.claimName = "data"
        account = b"\x42\x02a%d" % number  # serviceAccountName, field 8
        pod = CLASSES["Pod"].FromString(b"\x12%c%b" % (len(whole := spec.SerializeToString() + account), whole))
        pod.metadata.name = f"p{number}"
        pod.status.phase = "Running" if number else "Pending"
        found.append(binary.read(wire.Pod, enveloped(pod.SerializeToString())))
    assert [(one.metadata.name, one.spec.node_name, one.status.phase) for one in found] == [
        ("p0", "", "Pending"),
        ("p1", "n1", "Running"),
        ("p2", "n2", "Running"),
    ]
    assert [container.name for container in found[0].spec.containers] == ["main"]
    claim = wire.ClaimSource("data")
    assert [one.spec.volumes for one in found] == [
        [wire.Volume(f"kube-api-access-{number}"), wire.Volume(f"data-{number}", claim)] for number in range(3)
    ]
    assert found[0].spec.containers is found[1].spec.containers is found[2].spec.containers


def test_what_a_pointer_does_not_point_to_is_not_there() -> None:
    """A server without admission of priorities leaves them out; none is not zero."""
    pod = CLASSES["Pod"]()
    pod.metadata.ownerReferences.append(CLASSES["OwnerReference"](kind="Job").SerializeToString())
    found = binary.read(wire.Pod, enveloped(pod.SerializeToString()))
    assert found == wire.Pod(wire.Metadata(owner_references=[wire.OwnerReference("Job")]), wire.PodSpec(), wire.PodStatus())


def test_what_is_remembered_of_parts_is_bounded() -> None:
    known = objects._Remembered(len, most=100, longest=50)
    for number in range(300):
        assert known[b"%d" % number] == len(str(number))
    assert known[b"x" * 51] == 51
    assert len(known) <= 100
    assert max(map(len, known)) <= 50


def test_the_deadline_and_the_start_of_a_pod_are_read() -> None:
    made = CLASSES["Pod"]()
    made.spec.activeDeadlineSeconds = 600
    made.status.startTime = CLASSES["Time"](seconds=100).SerializeToString()
    found = Frames(wire.Pod).event(frame("ADDED", enveloped(made.SerializeToString())))
    assert isinstance(found, Event)
    assert found.object.spec.active_deadline_seconds == 600
    assert found.object.status.start_time.timestamp() == 100.0
