"""What an application asks for and has not got: each line replaces what was asked of its place, and what is placed is counted off."""

from __future__ import annotations

from treadle.core.rules.opportunistic.requests import ANY, Asked, Key, Outstanding, Request, Sizes

SIZES = Sizes((1024, 1), (8192, 8), (512, 1))
KEY, SIZE = Key(1), (1024, 1)


def asked(place: str, count: int, key: Key = KEY, size: tuple[int, int] = SIZE) -> Asked:
    return Asked(key, place, size, count)


def wanted(*lines: Asked) -> Outstanding:
    found = Outstanding(SIZES)
    found.ask(lines)
    return found


def only(found: Outstanding) -> Request:
    (request,) = found.of(KEY)
    return request


def test_a_line_replaces_what_was_asked_of_its_place() -> None:
    found = wanted(asked("h1", 3), asked("/r1", 3), asked(ANY, 3))
    found.ask([asked("h1", 0), asked("/r1", 1), asked(ANY, 1)])
    assert (only(found).count, only(found).nodes, only(found).racks) == (1, {}, {"/r1": 1})


def test_what_is_placed_is_counted_off_where_it_was_asked_for() -> None:
    found = wanted(asked("h1", 1), asked("/r1", 2), asked(ANY, 3))
    found.match([found.place(only(found), "h1", "h1"), found.place(only(found), "h2", ANY)])
    assert (only(found).count, only(found).nodes, only(found).racks) == (1, {}, {"/r1": 2})


def test_a_request_that_has_all_it_wants_is_gone() -> None:
    found = wanted(asked(ANY, 1))
    found.match([found.place(only(found), "h1", ANY)])
    assert found.requests == {}


def test_keys_are_served_with_the_largest_number_first() -> None:
    found = wanted(asked(ANY, 1, Key(2)), asked(ANY, 1, Key(1, 7)), asked(ANY, 1, Key(2, 5)))
    assert found.in_order() == [Key(2, 5), Key(2), Key(1, 7)]


def test_sizes_are_raised_rounded_and_held() -> None:
    assert SIZES.normal((500, 0)) == (1024, 1)
    assert SIZES.normal((1025, 2)) == (1536, 2)
    assert SIZES.normal((9000, 9)) == (8192, 8)


def test_avoided_nodes_come_and_go() -> None:
    found = wanted()
    found.avoid(["h1", "h2"], [])
    found.avoid(["h3"], ["h1"])
    assert found.avoided == {"h2", "h3"}
