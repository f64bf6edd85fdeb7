"""Root keys as values and as the JSON objects that sinks have, each from the other."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from joinery.model.change import Key
from joinery.model.type import STRING, Atomic, DataType
from joinery.model.type import Decimal as DecimalType
from joinery.plan.relation import Relation
from joinery.semantics.render import document_json, renderer
from joinery.semantics.row_key import key_type, key_values
from joinery.sinks.key import canonical_key

_PARTS = 1_000_000
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}


class KeyTexts:
    """The two forms of the keys of one relation."""

    def __init__(self, relation: Relation) -> None:
        self._values = key_values(relation)
        heads = [f"{document_json(each, STRING)}:" for each in relation.key]
        self._parts = [
            (head, renderer(relation.type_of(column)))
            for head, column in zip(heads, relation.key, strict=True)
        ]
        self._name = relation.name
        self._parse = [(each.name, _parser(each.type)) for each in key_type(relation).fields]

    def text(self, key: Key) -> str:
        """Return a key as the lines of a batch write it."""
        parts = zip(self._parts, self._values(key), strict=True)
        return "{" + ",".join([head + render(value) for (head, render), value in parts]) + "}"

    def key(self, text: str) -> Key:
        """Return the key that a JSON object stands for.

        Raises:
            ValueError: It is none of this relation.
        """
        try:
            told = json.loads(text, parse_float=Decimal)
            return tuple(parse(told[name]) for name, parse in self._parse)
        except (KeyError, TypeError, ArithmeticError) as error:
            raise ValueError(f"{text} is not a key of {self._name}") from error


def _parser(kind: DataType) -> Callable[[Any], Any]:
    match kind:
        case DecimalType():
            return lambda value: Decimal(str(value))
        case Atomic("date"):
            return dt.date.fromisoformat
        case Atomic("timestamp" | "timestamp_ntz"):
            return dt.datetime.fromisoformat
        case Atomic("binary"):
            return base64.b64decode
        case Atomic("float" | "double"):
            return float
        case Atomic("string"):
            return _of(str)
        case Atomic("boolean"):
            return _of(bool)
        case Atomic("byte" | "short" | "int" | "long" as name):
            return _whole(_BITS[name])
        case _:
            return lambda value: value


def _of(kind: type) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"{value} is not of type {kind.__name__}")
        return value

    return parse


def _whole(bits: int) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise TypeError(f"{value} is not an integer of {bits} bits")
        return value

    return parse


def in_sample(text: str, share: float) -> bool:
    """Return whether a key is in a sample, always the same one of that share.

    Args:
        text: The key as a JSON object.
        share: From 0 to 1.
    """
    if share >= 1:
        return True
    digest = hashlib.blake2b(canonical_key(text).encode(), digest_size=8).digest()
    return int.from_bytes(digest) % _PARTS < share * _PARTS
