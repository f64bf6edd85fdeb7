"""Sketches: small summaries of the values of a group, of which several make one.

Each is a function of the multiset of values: neither their order nor how they were cut into
batches tells. They use whole numbers and the operations that IEEE 754 rounds correctly, so the
kernel (`Distinct.java`, `Quantiles.java`, `Sketch.java`) gives the same bytes.

`docs/design/sketches.md` has the formats.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from joinery.model.type import DataType
from joinery.model.type import Decimal as DecimalType

_WORD = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SEED = 42


def xxh64(data: bytes, seed: int = SEED) -> int:
    """Return the hash XXH64 of bytes.

    Source: Collet, "xxHash fast digest algorithm", version 0.1.1 (github.com/Cyan4973/xxHash,
    doc/xxhash_spec.md).

    Example:
        >>> hex(xxh64(b"", 0))
        '0xef46db3751d8e999'
    """
    at, size = 0, len(data)
    if size >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while at + 32 <= size:
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            at += 32
        hashed = sum(
            _left(lane & _WORD, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)
        )
        for lane in lanes:
            hashed = ((hashed ^ _round(0, lane)) * _P1 + _P4) & _WORD
    else:
        hashed = seed + _P5
    hashed = (hashed + size) & _WORD
    while at + 8 <= size:
        (word,) = struct.unpack_from("<Q", data, at)
        hashed = (_left(hashed ^ _round(0, word), 27) * _P1 + _P4) & _WORD
        at += 8
    if at + 4 <= size:
        (half,) = struct.unpack_from("<I", data, at)
        hashed = (_left(hashed ^ (half * _P1 & _WORD), 23) * _P2 + _P3) & _WORD
        at += 4
    for byte in data[at:]:
        hashed = _left(hashed ^ (byte * _P5 & _WORD), 11) * _P1 & _WORD
    hashed = (hashed ^ hashed >> 33) * _P2 & _WORD
    hashed = (hashed ^ hashed >> 29) * _P3 & _WORD
    return hashed ^ hashed >> 32


def _round(lane: int, word: int) -> int:
    return _left((lane + word * _P2) & _WORD, 31) * _P1 & _WORD


def _left(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _WORD


def hash_of(value: Any, kind: DataType) -> int:
    """Return the hash of a value that is not null, of a simple type."""
    return xxh64(_encoded(value, kind))


def _encoded(value: Any, kind: DataType) -> bytes:
    """Return the bytes that stand for a value: equal values have equal bytes."""
    match value:
        case str():
            return value.encode()
        case bytes() | bytearray():
            return bytes(value)
        case float():
            return struct.pack("<d", math.nan if math.isnan(value) else value + 0.0)
        case Decimal():
            assert isinstance(kind, DecimalType)
            digits = int(value.scaleb(kind.scale))
            bits = (~digits if digits < 0 else digits).bit_length()
            return digits.to_bytes(bits // 8 + 1, "big", signed=True)
        case datetime():
            epoch = datetime(1970, 1, 1, tzinfo=UTC)
            return struct.pack("<q", (value - epoch) // timedelta(microseconds=1))
        case date():
            return struct.pack("<q", (value - date(1970, 1, 1)).days)
        case _:
            return struct.pack("<q", int(value))


# Distinct values

MOST_PRECISE, LEAST_PRECISE = 18, 4
DISTINCT_KIND, QUANTILE_KIND, BLOOM_KIND = 1, 2, 3


def precision_of(rsd: float) -> int:
    """Return how many bits of a hash choose a register, for a relative standard deviation.

    Source: Flajolet et al., "HyperLogLog" (AofA 2007): the deviation is 1.04 / sqrt(registers).
    """
    bits = LEAST_PRECISE
    while bits < MOST_PRECISE and 1.04 / math.sqrt(1 << bits) > rsd:
        bits += 1
    return bits


@dataclass(slots=True)
class Distinct:
    """How many different hashes there are: exact while they are few, then by HyperLogLog.

    Attributes:
        precision: How many bits of a hash choose its register.
    """

    precision: int
    _hashes: set[int] | None = field(default_factory=set)
    _registers: bytearray = field(default_factory=bytearray)

    def add(self, hashed: int) -> None:
        """Add a hash."""
        if self._hashes is None:
            self._raise(hashed)
            return
        self._hashes.add(hashed)
        if len(self._hashes) > (1 << self.precision) // 8:
            self._grow()

    def _grow(self) -> None:
        hashes, self._hashes = self._hashes or set(), None
        self._registers = bytearray(1 << self.precision)
        for each in hashes:
            self._raise(each)

    def _raise(self, hashed: int) -> None:
        rest = 64 - self.precision
        index, low = hashed >> rest, hashed & ((1 << rest) - 1)
        rank = rest - low.bit_length() + 1
        self._registers[index] = max(self._registers[index], rank)

    def merge(self, other: Distinct) -> None:
        """Add what another of the same precision has."""
        if other._hashes is not None:
            for each in other._hashes:
                self.add(each)
            return
        if self._hashes is not None:
            self._grow()
        self._registers = bytearray(map(max, self._registers, other._registers))

    def count(self) -> int:
        """Return how many different hashes were added.

        Source: Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017),
        algorithm 6: one formula for all ranges, of sums, products and square roots.
        """
        if self._hashes is not None:
            return len(self._hashes)
        size, last = 1 << self.precision, 64 - self.precision + 1
        counts = Counter(self._registers)
        z = size * _tau(1.0 - counts[last] / size)
        for rank in range(last - 1, 0, -1):
            z = 0.5 * (z + counts[rank])
        z += size * _sigma(counts[0] / size)
        return math.floor(0.7213475204444817 * size * size / z + 0.5)

    def to_bytes(self) -> bytes:
        """Return it as bytes."""
        head = bytes((DISTINCT_KIND, self.precision))
        if self._hashes is not None:
            return head + b"\0" + b"".join(each.to_bytes(8, "big") for each in sorted(self._hashes))
        return head + b"\1" + bytes(self._registers)

    @classmethod
    def read(cls, data: bytes) -> Distinct | None:
        """Return what `to_bytes` wrote; None where these bytes are something else."""
        if len(data) < 3 or data[0] != DISTINCT_KIND or data[2] > 1:
            return None
        if not LEAST_PRECISE <= data[1] <= MOST_PRECISE:
            return None
        made, body = cls(data[1]), data[3:]
        if data[2] == 1:
            made._hashes, made._registers = None, bytearray(body)
            return made if len(body) == 1 << data[1] else None
        if len(body) % 8:
            return None
        for (each,) in struct.iter_unpack(">Q", body):
            made.add(each)
        return made


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    y, z, before = 1.0, x, -1.0
    while z != before:
        x, before = x * x, z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1.0 - x, -1.0
    while z != before:
        x, before = math.sqrt(x), z
        y *= 0.5
        z -= (1.0 - x) * (1.0 - x) * y
    return z / 3.0


# Quantiles


def steps_of(error: float) -> int:
    """Return into how many steps each power of two is parted, for a relative error.

    Neighbouring bounds are at most 1 + 1/steps apart, so what stands between them is off by
    1 / (2 * steps + 1).
    """
    return math.floor(1.0 / (2.0 * error)) + 1


@dataclass(slots=True)
class Quantiles:
    """How many numbers lie in each of the buckets that are one relative error wide.

    Source: Masson, Rim, Lee, "DDSketch" (VLDB 2019), with its linearly interpolated mapping: the
    bucket follows from the number's exponent and its leading digits, in whole numbers.

    Attributes:
        steps: Into how many each power of two is parted.
        odd: How often NaN, -infinity, infinity and zero.
        below: How many numbers below zero in each bucket of their size.
        above: How many above.
    """

    steps: int
    odd: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    below: Counter[int] = field(default_factory=Counter)
    above: Counter[int] = field(default_factory=Counter)

    def add(self, number: float) -> None:
        """Add a number."""
        if math.isnan(number):
            self.odd[0] += 1
        elif math.isinf(number):
            self.odd[1 if number < 0 else 2] += 1
        elif number == 0:
            self.odd[3] += 1
        else:
            side = self.below if number < 0 else self.above
            side[self._bucket(abs(number))] += 1

    def _bucket(self, number: float) -> int:
        part, exponent = math.frexp(number)
        digits = int(part * (1 << 53)) - (1 << 52)
        return (exponent - 1) * self.steps + (digits * self.steps >> 52)

    def merge(self, other: Quantiles) -> None:
        """Add what another of the same steps has."""
        self.odd = [one + two for one, two in zip(self.odd, other.odd, strict=True)]
        self.below.update(other.below)
        self.above.update(other.above)

    def at(self, part: float) -> float | None:
        """Return the number below or at which `part` of all are; None where there is none."""
        total = sum(self.odd) + self.below.total() + self.above.total()
        rank = max(1, math.ceil(part * total))
        for number, count in self._in_order():
            rank -= count
            if rank <= 0:
                return number
        return None

    def _in_order(self) -> Iterator[tuple[float, int]]:
        nan, low, high, zero = self.odd
        yield -math.inf, low
        for bucket in sorted(self.below, reverse=True):
            yield -self._number(bucket), self.below[bucket]
        yield 0.0, zero
        for bucket in sorted(self.above):
            yield self._number(bucket), self.above[bucket]
        yield math.inf, high
        yield math.nan, nan

    def _number(self, bucket: int) -> float:
        """Return the number that is off by the same part of both bounds of a bucket."""
        exponent, step = divmod(bucket, self.steps)
        low = self.steps + step
        return math.ldexp(2 * low * (low + 1) / (self.steps * (2 * low + 1)), exponent)

    def to_bytes(self) -> bytes:
        """Return it as bytes."""
        out = bytearray((QUANTILE_KIND,))
        _write(out, self.steps)
        for each in self.odd:
            _write(out, _folded(each))
        for side in (self.below, self.above):
            buckets = sorted(each for each, count in side.items() if count)
            _write(out, len(buckets))
            last = 0
            for bucket in buckets:
                _write(out, _folded(bucket - last))
                _write(out, _folded(side[bucket]))
                last = bucket
        return bytes(out)

    @classmethod
    def read(cls, data: bytes) -> Quantiles | None:
        """Return what `to_bytes` wrote; None where these bytes are something else."""
        if not data or data[0] != QUANTILE_KIND:
            return None
        try:
            numbers = iter(list(_numbers(data[1:])))
            made = cls(next(numbers))
            made.odd = [_unfolded(next(numbers)) for _ in range(4)]
            for side in (made.below, made.above):
                last = 0
                for _ in range(next(numbers)):
                    last += _unfolded(next(numbers))
                    side[last] = _unfolded(next(numbers))
        except (StopIteration, IndexError):
            return None
        return made if made.steps > 0 and next(numbers, None) is None else None


def _folded(number: int) -> int:
    return (number << 1 ^ number >> 63) & _WORD


def _unfolded(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _write(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _numbers(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
    if shift:
        raise IndexError(shift)


# Membership


def bloom_of(expected: int, wrong: float) -> tuple[int, int]:
    """Return the bits and the hashes of a Bloom filter.

    Source: Bloom, "Space/time trade-offs in hash coding with allowable errors" (1970): bits
    -n ln(p) / ln(2)^2, hashes bits / n ln(2).

    Args:
        expected: For how many values.
        wrong: The part of other values that it takes for one of them.
    """
    bits = math.ceil(-expected * math.log(wrong) / math.log(2) ** 2)
    return bits, max(1, round(bits / expected * math.log(2)))


def bloom_bytes(hashes: Iterable[int], bits: int, probes: int) -> bytes:
    """Return a Bloom filter of hashes, as bytes.

    Source: Kirsch, Mitzenmacher, "Less hashing, same performance" (2006): the i-th bit is
    h1 + i h2, of the halves of one hash.
    """
    filled = bytearray((bits + 7) // 8)
    for each in hashes:
        low, high = each & 0xFFFFFFFF, each >> 32
        for probe in range(probes):
            bit = (low + probe * high) % bits
            filled[bit >> 3] |= 1 << (bit & 7)
    head = bytearray((BLOOM_KIND,))
    _write(head, probes)
    _write(head, bits)
    return bytes(head + filled)


def merged_distinct(sketches: Sequence[bytes]) -> Distinct | None:
    """Return all sketches as one; None where one is something else, or of another precision."""
    made: Distinct | None = None
    for each in sketches:
        read = Distinct.read(each)
        if read is None or (made is not None and made.precision != read.precision):
            return None
        made = made or Distinct(read.precision)
        made.merge(read)
    return made


def merged_quantiles(sketches: Sequence[bytes]) -> Quantiles | None:
    """Return all sketches as one; None where one is something else, or of another error."""
    made: Quantiles | None = None
    for each in sketches:
        read = Quantiles.read(each)
        if read is None or (made is not None and made.steps != read.steps):
            return None
        made = made or Quantiles(read.steps)
        made.merge(read)
    return made
