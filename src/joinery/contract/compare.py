"""What changed between two contracts, and what of it breaks a reader.

A reader is right about what the old contract promised, and passes over names that it does not
know. It breaks where what it relies on is gone, or where a value comes that it cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from joinery.contract.contract import Contract, Entries, Items, Member, Object, Scalar, Shape, Value
from joinery.model.type import WHOLE_NUMBERS, Atomic, Decimal
from joinery.project.mark import Path
from joinery.project.quantity import duration_text

Code = Literal[
    "CONTRACT_PRODUCT_REMOVED",
    "CONTRACT_KEY_CHANGED",
    "CONTRACT_FIELD_REMOVED",
    "CONTRACT_TYPE_CHANGED",
    "CONTRACT_NULLABLE",
    "CONTRACT_PERSONAL",
    "CONTRACT_FRESHNESS",
]
_WIDTHS = ("byte", "short", "int", "long")
assert set(_WIDTHS) == WHOLE_NUMBERS


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that changed.

    Attributes:
        product: The product's name, or the stream's.
        field: The place in its documents, such as `orders[].amount`; `key` or a column below it;
            empty for the product as a whole.
        code: Which rule it breaks; None where no reader breaks.
        message: What changed, in words.
        path: Where the project declares it, or declared it.
    """

    product: str
    field: str
    code: Code | None
    message: str
    path: Path = ()


def differences(old: Iterable[Contract], new: Iterable[Contract]) -> tuple[Difference, ...]:
    """Return what changed from one set of contracts to the other, in the order of the old.

    Example:
        >>> from joinery.contract.contract import Contract
        >>> gone = Contract("orders", key=Object(()), value=Object(()))
        >>> [each.message for each in differences([gone], [])]
        ['orders is no longer sent']
    """
    before, after = {each.name: each for each in old}, {each.name: each for each in new}
    found: list[Difference] = []
    for name, each in before.items():
        if name in after:
            found += _Comparison(each, after[name]).differences()
        else:
            message = f"{name} is no longer sent"
            found.append(Difference(name, "", "CONTRACT_PRODUCT_REMOVED", message, each.path))
    for name, each in after.items():
        if name not in before:
            found.append(Difference(name, "", None, f"{name} is new", each.path))
    return tuple(found)


class _Comparison:
    """Compares the contracts of one product."""

    def __init__(self, old: Contract, new: Contract) -> None:
        self.old, self.new = old, new

    def differences(self) -> Iterator[Difference]:
        yield from self.keys()
        yield from self.objects(self.old.value, self.new.value, "", self.new.path)
        yield from self.freshness()

    def told(self, field: str, code: Code | None, message: str, path: Path) -> Difference:
        name = self.new.name
        whole = f"{name}.{field}" if field else name
        return Difference(name, field, code, f"{whole} {message}", path)

    def keys(self) -> Iterator[Difference]:
        """Compare the keys: a document is known by all columns, as they are, in their order."""
        before, after = _key_text(self.old.key), _key_text(self.new.key)
        path = self.new.key_path
        if before != after:
            message = f"was {before}, is {after}"
            yield self.told("key", "CONTRACT_KEY_CHANGED", message, path)
            return
        pairs = zip(self.old.key.members, self.new.key.members, strict=True)
        for old, new in pairs:
            yield from self.nulls(old.value, new.value, f"key.{old.name}", path)

    def freshness(self) -> Iterator[Difference]:
        before, after = self.old.fresh_ms, self.new.fresh_ms
        path = (*self.new.path, "expect", "fresh")
        if before == after:
            return
        promised = "nothing" if after is None else duration_text(after)
        if before is None:
            yield self.told("", None, f"promises to be fresh within {promised}", path)
            return
        worse = after is None or after > before
        message = f"promised to be fresh within {duration_text(before)}, promises {promised}"
        yield self.told("", "CONTRACT_FRESHNESS" if worse else None, message, path)

    def objects(self, old: Object, new: Object, at: str, path: Path) -> Iterator[Difference]:
        before, after = _named(old), _named(new)
        for name, each in before.items():
            field = f"{at}{name}"
            if name in after:
                place = after[name].path or path
                yield from self.values(each.value, after[name].value, field, place)
            else:
                message = "is no longer in the documents"
                yield self.told(field, "CONTRACT_FIELD_REMOVED", message, each.path or path)
        for name, each in after.items():
            if name not in before:
                yield self.told(f"{at}{name}", None, "is new", each.path or path)

    def values(self, old: Value, new: Value, field: str, path: Path) -> Iterator[Difference]:
        yield from self.nulls(old, new, field, path)
        if old.personal != new.personal:
            hidden = new.personal == "withheld"
            message = (
                "is personal and not revealed, so a sink writes null in its place now"
                if hidden
                else f"is {new.personal or 'personal no longer'}"
            )
            yield self.told(field, "CONTRACT_PERSONAL" if hidden else None, message, path)
        yield from self.shapes(old.shape, new.shape, field, path)

    def nulls(self, old: Value, new: Value, field: str, path: Path) -> Iterator[Difference]:
        if new.nullable and not old.nullable:
            yield self.told(field, "CONTRACT_NULLABLE", "may be null, and never was", path)
        elif old.nullable and not new.nullable:
            yield self.told(field, None, "is never null any more", path)

    def shapes(self, old: Shape, new: Shape, field: str, path: Path) -> Iterator[Difference]:
        match old, new:
            case Object(), Object():
                yield from self.objects(old, new, f"{field}.", path)
            case Items(before), Items(after):
                yield from self.values(before, after, f"{field}[]", path)
            case Entries(key, before), Entries(other, after) if key == other:
                yield from self.values(before, after, f"{field}.*", path)
            case Scalar(), Scalar() if old == new:
                return
            case _:
                narrower = _narrower(old, new)
                message = f"was {_word(old)}, is {_word(new)}"
                code: Code | None = None if narrower else "CONTRACT_TYPE_CHANGED"
                yield self.told(field, code, message, path)


def _named(shape: Object) -> dict[str, Member]:
    return {each.name: each for each in shape.members}


def _narrower(old: Shape, new: Shape) -> bool:
    """Return whether what holds a value of the old type holds all values of the new."""
    match old, new:
        case Scalar(Decimal(precision, scale)), Scalar(Decimal(fewer, same)):
            return scale == same and fewer <= precision
        case Scalar(Atomic("double")), Scalar(Atomic("float")):
            return True
        case Scalar(Atomic(before)), Scalar(Atomic(after)):
            both = before in _WIDTHS and after in _WIDTHS
            return both and _WIDTHS.index(after) <= _WIDTHS.index(before)
        case _:
            return False


def _word(shape: Shape) -> str:
    match shape:
        case Scalar(kind):
            return str(kind)
        case Items():
            return "a list"
        case Entries(key):
            return f"a map by {key}"
        case Object():
            return "an object"


def _key_text(key: Object) -> str:
    """Return the columns of a key with their types, those of an object too."""
    return f"({', '.join(map(_column_text, key.members))})"


def _column_text(column: Member) -> str:
    match column.value.shape:
        case Object() as inner:
            return f"{column.name} {_key_text(inner)}"
        case shape:
            return f"{column.name} {_word(shape)}"
