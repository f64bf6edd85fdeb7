"""The keys of the last batches, against exact counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from joinery.model.hot_key import CountedKey, HotKey, NodeKeys
from joinery.observe.hot_keys import RecentKeys, hot_text

LISTED = 16


def batch(counts: Counter[int], *, node: str = "Match p/q", listed: int = LISTED) -> NodeKeys:
    """Return what a kernel tells of exact counts."""
    most = counts.most_common()
    return NodeKeys(
        node=node,
        by="x",
        products=("p",),
        messages=counts.total(),
        left_out=most[listed][1] if len(most) > listed else 0,
        keys=tuple(CountedKey(f"{key:x}", str(key), count) for key, count in most[:listed]),
    )


def zipf(seed: int, messages: int = 5000) -> Counter[int]:
    weights = [1 / rank**1.3 for rank in range(1, 1001)]
    return Counter(random.Random(seed).choices(range(1000), weights, k=messages))


def noted(batches: Iterable[Counter[int]], most: int = 20) -> tuple[HotKey, ...]:
    recent = RecentKeys(most)
    for each in batches:
        recent.note([batch(each)])
    return recent.of("p")


def test_a_key_has_at_least_its_messages_and_at_most_its_error_more() -> None:
    batches = [zipf(seed) for seed in range(30)]
    exact = sum(batches[-20:], Counter[int]())

    found = noted(batches)

    assert [0, 1, 2, 3] == [int(each.key) for each in found[:4]]
    assert [20] * len(found) == [each.batches for each in found]
    assert all(each.of == exact.total() for each in found)
    for each in found:
        assert each.messages <= exact[int(each.key)] <= each.messages + each.error
        assert each.share <= exact[int(each.key)] / exact.total() <= each.most


def test_what_no_batch_lists_adds_to_the_error() -> None:
    recent = RecentKeys()
    recent.note([batch(Counter({1: 600, 2: 300}), listed=1)])
    recent.note([batch(Counter({1: 100, 2: 400}), listed=1)])

    found = {each.key: (each.messages, each.error, each.of) for each in recent.of("p")}

    assert {"1": (600, 100, 1400), "2": (400, 300, 1400)} == found


def test_old_batches_count_no_more() -> None:
    old, new = Counter({1: 5000}), Counter({2: 3000})

    assert ["2"] == [each.key for each in noted([old, new, new], most=2)]


def test_keys_with_as_many_messages_each_are_not_listed() -> None:
    assert () == noted([Counter(dict.fromkeys(range(1000), 5))] * 20)


def test_only_the_keys_of_a_products_own_nodes_are_its() -> None:
    recent = RecentKeys()
    recent.note([batch(Counter({1: 500}))])

    assert ("1",) == tuple(each.key for each in recent.of("p"))
    assert () == recent.of("another")


HOT = HotKey(node="Match p/q", by="x", key="7", messages=4000, error=400, of=10_000, batches=20)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            HOT,
            "hot key: x = 7 has 40% (up to 44%) of the messages of Match p/q"
            " in the last 20 batches",
        ),
        (
            HotKey(node="ToOne p/r", by="y", key="a", messages=1000, error=0, of=1000, batches=1),
            "hot key: y = a has 100% of the messages of ToOne p/r in the last batch",
        ),
        (HotKey(node="n", by="x", key="7", messages=999, error=0, of=1000, batches=20), ""),
        (HotKey(node="n", by="x", key="7", messages=1900, error=0, of=10_000, batches=20), ""),
    ],
)
def test_a_key_is_named_where_its_share_is_large(key: HotKey, text: str) -> None:
    assert text == hot_text([key])


def test_a_key_is_read_as_it_was_written() -> None:
    assert HOT == HotKey.of_json(HOT.to_json())
    assert "" == hot_text([])
