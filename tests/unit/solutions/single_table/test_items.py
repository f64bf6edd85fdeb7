"""Keys of items are within DynamoDB's bounds, and stay apart."""

from __future__ import annotations

from joinery.solutions.single_table.items import sort_key


def test_a_short_key_stands_as_it_is() -> None:
    assert '["ann",7]' == sort_key(("ann", 7))


def test_long_keys_that_begin_alike_stay_apart_within_the_bound() -> None:
    one, two = sort_key(("ü" * 2_000 + "1",)), sort_key(("ü" * 2_000 + "2",))

    assert one != two
    assert max(len(one.encode()), len(two.encode())) < 1_000


def test_keys_at_the_bound_are_within_it() -> None:
    assert all(len(sort_key(("x" * size,)).encode()) <= 990 for size in range(900, 1_100))
