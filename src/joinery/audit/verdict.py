"""What a comparison found, as values.

**Wrong** is a proof, never a matter of time; what cannot be proved either way is `unsettled`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Literal, Self

from joinery.errors import JoineryError, SinkError

Cause = Literal["sink", "input", "joinery", "unknown"]
CAUSES: tuple[Cause, ...] = ("sink", "input", "joinery", "unknown")
_SHOWN = 5
_DECODE = json.JSONDecoder(parse_float=Decimal).decode
_BOOLEANS = ("true", "false")


@dataclass(frozen=True, slots=True)
class Difference:
    """A document that is wrong in a sink.

    Attributes:
        key: Its root key, a JSON object.
        expected: The document as the database has it; None where it has none.
        held: The document in the sink; None where that lacks it.
        version: Of the one in the sink.
        cause: Whose fault it is.
        why: How that is known, in words.
        position: The place in the database's log at or above all that was compared.
        snapshot: Which transactions were seen, as PostgreSQL writes it.
        judged_us: A time before the first of the two snapshots, in microseconds since 1970; 0
            where it was not kept.
    """

    key: str
    expected: str | None
    held: str | None
    version: int | None
    cause: Cause = "unknown"
    why: str = ""
    position: int | None = None
    snapshot: str = ""
    judged_us: int = 0

    @property
    def kind(self) -> str:
        """What is wrong."""
        if self.held is None:
            return "missing"
        return "extra" if self.expected is None else "differs"

    def to_json(self) -> Mapping[str, object]:
        """Return it as one JSON object."""
        return {
            "key": json.loads(self.key),
            "kind": self.kind,
            "cause": self.cause,
            "why": self.why,
            "version": self.version,
            "expected": self.expected,
            "held": self.held,
        }


@dataclass(frozen=True, slots=True)
class Open:
    """A document that was not judged.

    Attributes:
        key: Its root key, a JSON object.
        why: In words.
        late: Whether the run, or the database, did not come far enough in time.
    """

    key: str
    why: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class ProductDiff:
    """What the documents of one product in one sink were found to be.

    Attributes:
        product: The product.
        target: The sink.
        against: What they were compared with.
        frontier: `exact` where a verdict is a proof, `probable` where a change may still be on
            its way that nothing here can see.
        compared: How many keys were compared: documents, and those that should not be there.
        again: How many of them were looked at again, since they changed meanwhile or differed.
        differences: What is wrong.
        unsettled: Keys that changed too fast, or were not applied in time.
        unreadable: Keys whose right document cannot be told.
        position: The place in the database's log up to which was compared.
        repaired: How many documents were sent again.
        seconds: How long it took.
    """

    product: str
    target: str
    against: str
    frontier: Literal["exact", "probable"]
    compared: int = 0
    again: int = 0
    differences: Sequence[Difference] = ()
    unsettled: Sequence[Open] = ()
    unreadable: Sequence[Open] = ()
    position: int | None = None
    repaired: int | None = None
    seconds: float = 0.0
    notes: Sequence[str] = field(default=())

    @property
    def late(self) -> int:
        """How many documents were not judged since something did not come in time."""
        return sum(each.late for each in self.unsettled)

    @property
    def causes(self) -> Mapping[str, int]:
        """How many differences have each cause."""
        counted = Counter(each.cause for each in self.differences)
        return {each: counted[each] for each in CAUSES if counted[each]}

    def to_json(self) -> Mapping[str, object]:
        """Return it as one JSON object."""
        return {
            "product": self.product,
            "sink": self.target,
            "against": self.against,
            "frontier": self.frontier,
            "position": self.position,
            "compared": self.compared,
            "looked_again": self.again,
            "differ": len(self.differences),
            "causes": self.causes,
            "differences": [each.to_json() for each in self.differences],
            "unsettled": [{"key": json.loads(e.key), "why": e.why} for e in self.unsettled],
            "unreadable": [{"key": json.loads(e.key), "why": e.why} for e in self.unreadable],
            "repaired": self.repaired,
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        yield f"{self.product}: {self.target} against {self.against}"
        per_second = self.compared / self.seconds if self.seconds else 0.0
        at = "" if self.position is None else f"   log at {self.position}"
        told = f"{self.seconds:,.1f} s   {per_second:,.0f}/s{at}"
        yield f"  compared {self.compared:,} documents   {told}"
        if self.again:
            yield f"  looked again at {self.again:,} that differed at the first look"
        if self.frontier == "probable":
            yield "  a difference is probable, no proof: a change may still be on its way here"
        yield from (f"  {each}" for each in self.notes)
        for word, opened in (("unsettled", self.unsettled), ("unreadable", self.unreadable)):
            if opened:
                yield f"  {len(opened):,} {word}"
                yield from (f"    {each.key}: {each.why}" for each in opened[:_SHOWN])
        count = len(self.differences)
        yield f"  {count:,} {'differs' if count == 1 else 'differ'}"
        for cause in self.causes:
            of = [each for each in self.differences if each.cause == cause]
            yield f"    {cause} {len(of):,}"
            for each in of[:_SHOWN]:
                yield f"      {each.kind} {each.key}{f': {each.why}' if each.why else ''}"
            if len(of) > _SHOWN:
                yield f"      … {len(of) - _SHOWN:,} more: --json"
        if self.repaired is not None:
            yield f"  {self.repaired:,} sent again"


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A product, or one of its sinks, whose documents cannot be compared.

    Attributes:
        product: The product.
        sink: The kind of the sink; empty for all of the product's.
        why: In words.
        hint: What helps; empty where nothing is known to.
        failed: Whether it should have been: its sink is away, or its table is not as it was made.
    """

    product: str
    sink: str
    why: str
    hint: str = ""
    failed: bool = False

    @classmethod
    def of(cls, product: str, sink: str, error: JoineryError) -> Self:
        """Return what an error says cannot be compared."""
        why = ". ".join(filter(None, (error.message, error.detail)))
        return cls(product, sink, why, error.hint, isinstance(error, SinkError))

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        yield f"{self.product}: {self.sink and f'{self.sink} '}not compared"
        yield f"  {self.why}"
        if self.hint:
            yield f"  hint: {self.hint}"


@dataclass(frozen=True, slots=True, repr=False)
class DiffReport:
    """What `jn.diff` found.

    Attributes:
        parts: One a product and sink.
        refused: What could not be compared.
    """

    parts: Sequence[ProductDiff]
    refused: Sequence[NotCompared] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__  # as a notebook shows it

    @property
    def differ(self) -> bool:
        """Whether a document is wrong that was not repaired."""
        return any(each.differences for each in self.parts)

    def to_json(self) -> Mapping[str, object]:
        """Return it as one JSON object."""
        return {
            "differ": self.differ,
            "products": [each.to_json() for each in self.parts],
            "not_compared": [asdict(each) for each in self.refused],
        }

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        for part in self.parts:
            yield from part.lines()
        for each in self.refused:
            yield from each.lines()


def same(expected: str | None, held: str | None) -> bool:
    """Return whether two documents are the same, however a target writes JSON.

    Example:
        >>> same('{"a":1.50,"b":null}', '{"b": null, "a": 1.5}'), same("{}", None)
        (True, False)
        >>> same('{"a":true}', '{"a": true}'), same('{"a":true}', '{"a":1}')
        (True, False)
    """
    if expected is None or held is None or expected == held:
        return expected == held
    booleans = any(word in text for word in _BOOLEANS for text in (expected, held))
    decode = _DECODE_APART if booleans else _DECODE
    try:
        return bool(decode(expected) == decode(held))
    except ValueError:  # Somebody wrote what is no JSON.
        return False


def _apart(number: str) -> tuple[Decimal]:
    """Return a number as what equals no boolean: in Python, 1 is true."""
    return (Decimal(number),)


_DECODE_APART = json.JSONDecoder(parse_float=_apart, parse_int=_apart).decode
