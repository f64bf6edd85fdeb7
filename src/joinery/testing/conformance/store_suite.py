"""What a key-value store must hold before join state is kept in it, as sentences.

    for rule in STORE_RULES:
        rule(make)

`make` opens the same store again and again; what one held, the next one finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from joinery.solutions.key_value.store import Address, KeyValueStore

Make = Callable[[], KeyValueStore]
_MANY = 5_000


def what_was_put_is_found(make: Make) -> None:
    """What was put is found, in the order of the question."""
    with _opened(make) as store:
        store.put_many({(b"a", b""): b"1", (b'b/["x y"]', b""): b"", (b"c", b"1"): b"\x00\xff"})

        asked: list[Address] = [(b"c", b"1"), (b"no", b""), (b"a", b""), (b'b/["x y"]', b"")]
        assert [b"\x00\xff", None, b"1", b""] == list(store.get_many(asked))


def the_newest_value_stands(make: Make) -> None:
    """A later value replaces an earlier one, and None removes it."""
    with _opened(make) as store:
        store.put_many({(b"n", b"1"): b"old", (b"n", b"2"): b"old", (b"m", b""): b"old"})
        store.put_many({(b"n", b"1"): b"new", (b"n", b"2"): None, (b"m", b""): None})

        assert [b"new", None, None] == list(
            store.get_many([(b"n", b"1"), (b"n", b"2"), (b"m", b"")])
        )
        assert [((b"n", b"1"), b"new")] == list(store.scan([b"n", b"m"]))


def removing_what_is_not_there_is_no_error(make: Make) -> None:
    """None for an entry that is not there changes nothing."""
    with _opened(make) as store:
        store.put_many({(b"gone", b""): None, (b"gone", b"1"): None})

        assert [None] == list(store.get_many([(b"gone", b"")]))


def a_scan_tells_one_partition_from_the_next(make: Make) -> None:
    """A scan yields the entries of its partitions and of no other, however alike their names."""
    with _opened(make) as store:
        store.put_many({(b"p", b"1"): b"a", (b"p1", b"1"): b"b", (b"p", b"11"): b"c"})
        store.put_many({(b"p/", b"1"): b"d", (b"q", b'["x"]'): b"e"})

        assert {(b"p", b"1"): b"a", (b"p", b"11"): b"c"} == dict(store.scan([b"p"]))
        assert {(b"p1", b"1"): b"b", (b"q", b'["x"]'): b"e"} == dict(store.scan([b"q", b"p1"]))
        assert [] == list(store.scan([b"none"]))
        assert [] == list(store.scan([]))


def thousands_go_in_one_call(make: Make) -> None:
    """Thousands of entries are put, got and scanned in one call each."""
    with _opened(make) as store:
        rows: dict[Address, bytes | None] = {(b"row/%d" % n, b""): b"%d" % n for n in range(_MANY)}
        index: dict[Address, bytes | None] = {
            (b"by/%d" % (n % 7), b"%d" % n): b"" for n in range(_MANY)
        }
        store.put_many(rows)
        store.put_many(index)

        assert list(rows.values()) == list(store.get_many(list(rows)))
        found = [address for address, _ in store.scan([b"by/%d" % n for n in range(9)])]
        assert sorted(index) == sorted(found)


def a_large_value_comes_back_whole(make: Make) -> None:
    """A value of a megabyte comes back whole, is scanned whole, and is replaced by a small one."""
    large = bytes(range(256)) * 4096
    with _opened(make) as store:
        store.put_many({(b"large", b""): large, (b"larger", b"1"): large + b"!"})

        assert [large] == list(store.get_many([(b"large", b"")]))
        assert [((b"larger", b"1"), large + b"!")] == list(store.scan([b"larger"]))

        store.put_many({(b"large", b""): b"small", (b"larger", b"1"): None})

        assert [b"small"] == list(store.get_many([(b"large", b"")]))
        assert [] == list(store.scan([b"larger"]))


def what_was_put_outlives_the_connection(make: Make) -> None:
    """What was put is there when the store is opened again."""
    with _opened(make) as store:
        store.put_many({(b"kept", b""): b"1", (b"kept/by", b"1"): b""})

    with _opened(make) as store:
        assert [b"1"] == list(store.get_many([(b"kept", b"")]))
        assert [((b"kept/by", b"1"), b"")] == list(store.scan([b"kept/by"]))


STORE_RULES: tuple[Callable[[Make], None], ...] = (
    what_was_put_is_found,
    the_newest_value_stands,
    removing_what_is_not_there_is_no_error,
    a_scan_tells_one_partition_from_the_next,
    thousands_go_in_one_call,
    a_large_value_comes_back_whole,
    what_was_put_outlives_the_connection,
)


@contextmanager
def _opened(make: Make) -> Iterator[KeyValueStore]:
    store = make()
    try:
        yield store
    finally:
        store.close()
