"""Who submitted an object: nobody is believed who merely says so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.api import labels
from treadle.api.acted import not_acted_on
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER, Source, notes_of, who
from treadle.api.labels import API_VERSION
from treadle.api.objects import parse

names = st.text("abc-:@", min_size=1, max_size=6)
annotations = st.dictionaries(
    st.sampled_from([labels.USER, labels.GROUPS, labels.YUNIKORN_USER, STAMPED_USER, STAMPED_GROUPS]), names
)


@given(annotations)
def test_a_claim_counts_only_where_claims_are_believed(notes: dict[str, str]) -> None:
    without = {key: value for key, value in notes.items() if key in {STAMPED_USER, STAMPED_GROUPS}}
    for source in (Source.NAMESPACE, Source.STAMPS):
        assert who(notes, source)[:2] == who(without, source)[:2]
    assert who(notes, Source.NAMESPACE)[:2] == ("", ())


@given(annotations)
def test_whom_an_object_claims_in_vain_is_told(notes: dict[str, str]) -> None:
    for source in Source:
        found = who(notes, source)
        claimed = labels.user_of(notes, "")[0]
        assert found.claimed == ("" if claimed in {"", found.user} else claimed)


def test_groups_without_a_user_are_nobodys() -> None:
    assert who({STAMPED_GROUPS: "admins"}, Source.STAMPS) == ("", (), "")


def test_what_we_make_for_a_user_is_the_users_by_stamp_and_by_claim() -> None:
    notes = notes_of("ann", ("dev", "odd,name", "ops"))
    assert {who(notes, source) for source in (Source.STAMPS, Source.CLAIMS)} == {("ann", ("dev", "ops"), "")}
    assert notes_of("ann") == {labels.USER: "ann", STAMPED_USER: "ann"}


def test_an_application_that_names_the_user_who_is_stamped_on_it_is_told_nothing() -> None:
    meta = {"name": "app", "namespace": "ns", "annotations": {STAMPED_USER: "ann"}}
    for user, told in (("ann", []), ("bob", ["spec.user"])):
        body = {"apiVersion": API_VERSION, "kind": "Application", "metadata": meta, "spec": {"user": user}}
        assert not_acted_on(parse("Application", body), Source.STAMPS) == told
