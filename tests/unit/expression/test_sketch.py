"""Sketches are functions of the multiset of values, within the errors that they tell."""

from __future__ import annotations

import math
import random
import struct

import pytest

from joinery.expression.sketch import (
    Distinct,
    Quantiles,
    bloom_bytes,
    bloom_of,
    merged_distinct,
    merged_quantiles,
    precision_of,
    steps_of,
    xxh64,
)


def hashed(number: int) -> int:
    return xxh64(struct.pack("<q", number))


def distinct(numbers: list[int], rsd: float = 0.01) -> Distinct:
    made = Distinct(precision_of(rsd))
    for each in numbers:
        made.add(hashed(each))
    return made


def quantiles(numbers: list[float], error: float = 0.01) -> Quantiles:
    made = Quantiles(steps_of(error))
    for each in numbers:
        made.add(each)
    return made


def test_the_hash_is_that_of_the_specification() -> None:
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999
    assert xxh64(b"a", 0) == 0xD24EC4F1A98C6E5B
    assert xxh64(b"abc", 0) == 0x44BC2CF5AD770999
    assert xxh64(b"Nobody inspects the spammish repetition", 0) == 0xFBCEA83C8A378BF1


@pytest.mark.parametrize("count", [0, 5, 2_048, 2_049, 30_000])
def test_a_distinct_count_is_the_same_in_any_order_and_of_any_parts(count: int) -> None:
    numbers = [*range(count), *range(count // 3)]
    shuffled = random.Random(1).sample(numbers, len(numbers))
    parts = [distinct(shuffled[at::7]) for at in range(7)]

    whole = distinct(numbers)
    merged = merged_distinct([each.to_bytes() for each in parts])

    assert merged is not None
    assert whole.to_bytes() == distinct(shuffled).to_bytes() == merged.to_bytes()
    assert whole.count() == merged.count()


def test_few_values_are_counted_exactly_and_many_within_three_deviations() -> None:
    assert [distinct(list(range(each))).count() for each in (0, 1, 2_048)] == [0, 1, 2_048]
    counts = [
        distinct(list(range(at, at + 20_000)), 0.05).count() for at in range(0, 600_000, 20_000)
    ]

    assert all(abs(each / 20_000 - 1) < 3 * 0.05 for each in counts)


def test_quantiles_are_the_same_in_any_order_and_of_any_parts() -> None:
    pick = random.Random(2)
    numbers = [
        pick.choice([0.0, 1e-310, -5.5, 7.0, math.inf, math.nan, pick.gauss(0, 1e6)])
        for _ in range(999)
    ]
    parts = [quantiles(numbers[at::5]).to_bytes() for at in range(5)]

    merged = merged_quantiles(pick.sample(parts, 5))

    assert merged is not None
    assert quantiles(numbers).to_bytes() == merged.to_bytes()


@pytest.mark.parametrize("error", [0.001, 0.01, 0.1])
def test_a_quantile_is_within_its_relative_error(error: float) -> None:
    pick = random.Random(3)
    for size in [*range(1, 60), 3_000]:
        numbers = [pick.choice([-1, 1]) * pick.lognormvariate(0, 6) for _ in range(size)]
        made = quantiles(numbers, error)
        for part in (0, 0.01, 0.5, 0.9, 0.999, 1):
            exact = sorted(numbers)[max(1, math.ceil(part * size)) - 1]
            found = made.at(part)
            assert found is not None
            assert abs(found - exact) <= error * abs(exact)


def test_the_state_of_a_million_numbers_is_below_16_kib() -> None:
    pick = random.Random(4)
    made = quantiles([10 ** pick.uniform(0, 10.94) for _ in range(1_000_000)])

    assert len(made.to_bytes()) <= 16 * 1024


def test_a_bloom_filter_knows_all_its_values_and_few_others() -> None:
    bits, probes = bloom_of(1_000, 0.01)
    filled = bloom_bytes(map(hashed, range(1_000)), bits, probes)

    def knows(number: int) -> bool:
        alone = bloom_bytes([hashed(number)], bits, probes)
        return all(one & all_ == one for one, all_ in zip(alone, filled, strict=True))

    assert bloom_bytes([*map(hashed, range(1_000)), hashed(7)], bits, probes) == filled

    assert knows(7)
    assert sum(map(knows, range(1_000, 1_200))) < 8


def test_bytes_that_are_no_sketch_are_told_apart() -> None:
    for each in (
        b"",
        b"\x01",
        b"\x01\x0e\x00abc",
        b"\x02\x06\x00",
        quantiles([1.0]).to_bytes() + b"\x01",
    ):
        assert Distinct.read(each) is None
        assert Quantiles.read(each) is None
