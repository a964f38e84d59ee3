"""Who made an object is written on it: on what it is written, what is overwritten, and what is kept."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admission.opportunistic_pods import patched
from admission.stamps import Json, at, inside, request
from examples import examples
from treadle.admission.review import stamp_review
from treadle.admission.stamping import PATHS, stamp
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER, Source, who

KINDS = sorted(PATHS)
WITH_TEMPLATE = [key for key in KINDS if PATHS[key]]
FORGED = {STAMPED_USER: "boss", STAMPED_GROUPS: "system:masters"}


def after(asked: Json) -> Json:
    return patched(asked["object"], stamp(asked))


def notes_after(asked: Json) -> dict[str, str]:
    resource = asked["resource"]
    found: dict[str, str] = at(after(asked), PATHS[resource["group"], resource["resource"]])["metadata"]["annotations"]
    return found


@pytest.mark.parametrize(("group", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_whoever_makes_it_is_written_on_it_whatever_stood_there(group: str, kind: str) -> None:
    mine = {STAMPED_USER: "kim", STAMPED_GROUPS: "dev,ops"}
    for metadata in (None, {}, {"annotations": None}, {"annotations": {}}, {"annotations": FORGED}):
        assert notes_after(request(group, kind, metadata, groups=["dev", "ops"])) == mine
    kept = notes_after(request(group, kind, {"annotations": {**FORGED, "a.b/c_d": "kept"}, "labels": {"x": "y"}}))
    assert kept == {STAMPED_USER: "kim", STAMPED_GROUPS: "", "a.b/c_d": "kept"}


def test_groups_of_the_system_and_those_that_could_not_be_told_apart_are_left_out() -> None:
    groups = ["system:masters", "dev", "a,b", "system:authenticated", "systems", "oidc:ops"]
    assert notes_after(request("", "pods", {}, groups=groups))[STAMPED_GROUPS] == "dev,systems,oidc:ops"
    asked = request("", "pods", {})
    del asked["userInfo"]["groups"]
    assert notes_after(asked)[STAMPED_GROUPS] == ""


@pytest.mark.parametrize(("group", "kind"), WITH_TEMPLATE, ids=[kind for _, kind in WITH_TEMPLATE])
def test_a_template_keeps_its_first_stamp_through_edits(group: str, kind: str) -> None:
    first = {STAMPED_USER: "ann", STAMPED_GROUPS: "dev"}
    for written in (first, FORGED, {}, {STAMPED_USER: "ann"}, {STAMPED_GROUPS: "x"}):
        edit = request(group, kind, {"annotations": written}, "bob", ["ops"], was={"annotations": first})
        assert notes_after(edit) == first
    alone = request(group, kind, {"annotations": FORGED}, "bob", ["ops"], was={"annotations": {STAMPED_USER: "ann"}})
    assert notes_after(alone) == {STAMPED_USER: "ann", STAMPED_GROUPS: ""}, "groups are those of the first stamp"


@pytest.mark.parametrize(
    "was", [{}, {"annotations": {}}, {"annotations": {STAMPED_GROUPS: "x"}}, {"annotations": {STAMPED_USER: ""}}]
)
def test_a_template_without_a_stamp_gets_that_of_whoever_edits_it(was: Json) -> None:
    edit = request("apps", "deployments", {"annotations": FORGED}, "bob", ["ops"], was=was)
    assert notes_after(edit) == {STAMPED_USER: "bob", STAMPED_GROUPS: "ops"}


def test_what_is_stamped_is_read_as_its_user() -> None:
    user, groups, claimed = who(notes_after(request("", "pods", {}, "kim", ["dev", "ops"])), Source.STAMPS)
    assert (user, groups, claimed) == ("kim", ("dev", "ops"), "")


TEXTS = st.sampled_from(["", "kim", "boss", "dev,ops", "system:masters"])
ANNOTATIONS = st.dictionaries(st.sampled_from([STAMPED_USER, STAMPED_GROUPS, "other", "a.b/c"]), TEXTS)
METADATA = st.one_of(
    st.none(),
    st.just({}),
    st.just({"annotations": None}),
    ANNOTATIONS.map(lambda found: {"annotations": found, "labels": {"a": "b"}}),
)
GROUPS = st.lists(st.sampled_from(["dev", "ops", "a,b", "system:nodes", "systems"]), max_size=4)


@st.composite
def requests(draw: st.DrawFn) -> Json:
    group, kind = draw(st.sampled_from(KINDS))
    was = draw(METADATA) if PATHS[group, kind] else None
    return request(group, kind, draw(METADATA), draw(st.sampled_from(["kim", "boss"])), draw(GROUPS), was=was)


@settings(max_examples=examples(300))
@given(requests())
def test_stamped_again_it_stays_as_it_is(asked: Json) -> None:
    again = {**asked, "object": after(asked)}
    assert stamp(again) == []


@settings(max_examples=examples(300))
@given(requests())
def test_nothing_but_the_stamp_changes_and_nothing_of_what_was_written_counts(asked: Json) -> None:
    before = copy.deepcopy(asked)
    path = PATHS[asked["resource"]["group"], asked["resource"]["resource"]]
    found = after(asked)
    assert asked == before
    notes = notes_after(asked)
    blank = {**asked, "object": inside(path, {"spec": {"x": 1}})}
    assert {key: notes[key] for key in (STAMPED_USER, STAMPED_GROUPS)} == notes_after(blank)
    written = (at(asked["object"], path).get("metadata") or {}).get("annotations") or {}
    assert {k: v for k, v in notes.items() if k not in FORGED} == {k: v for k, v in written.items() if k not in FORGED}
    stripped = [
        {**at(one, path), "metadata": {**(at(one, path).get("metadata") or {}), "annotations": 0}}
        for one in (found, before["object"])
    ]
    assert stripped[0] == stripped[1]


def answered(asked: Any) -> Json:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    response: Json = stamp_review(json.dumps(body).encode())["response"]
    assert response["uid"] == "u1"
    return response


def test_a_review_is_answered_with_the_patch() -> None:
    asked = request("", "pods", {"annotations": FORGED})
    answer = answered(asked)
    assert (answer["allowed"], answer["patchType"]) == (True, "JSONPatch")
    assert json.loads(base64.b64decode(answer["patch"])) == stamp(asked)
    assert "patch" not in answered({**asked, "object": after(asked)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"resource": {"group": "", "resource": "configmaps"}}, "CREATE of configmaps in group '' is nothing that is stamped"),
        ({"resource": {"group": "x", "resource": "pods"}}, "CREATE of pods in group 'x' is nothing that is stamped"),
        ({"operation": "UPDATE"}, "UPDATE of pods in group '' is nothing that is stamped"),
        ({"operation": "DELETE"}, "DELETE of pods in group '' is nothing that is stamped"),
        ({"object": None}, "submitted-by"),
        ({"object": {"metadata": 7}}, "submitted-by"),
        ({"userInfo": {}}, "username"),
    ],
)
def test_what_cannot_be_stamped_is_refused_with_the_reason(change: Json, words: str) -> None:
    answer = answered({**request("", "pods", {}), **change})
    assert (answer["allowed"], "patch" in answer) == (False, False)
    assert answer["status"]["code"] == 500
    assert "treadle could not write on it who made it" in answer["status"]["message"]
    assert words in answer["status"]["message"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"request":{}}', b'{"request":null}', b'{"\xff":1}', b"[" * 100_000])
def test_what_is_no_review_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="not an AdmissionReview"):
        stamp_review(body)
