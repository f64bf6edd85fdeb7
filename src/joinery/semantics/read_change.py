"""Changes of a batch as the kernel writes them (`ChangeLines` in `kernel/`), and as sources do.

The JSON of the kernel becomes typed values: the inverse of `semantics/render.py`. Numbers with
a fraction or an exponent are to be read as text, so that decimals stay exact. `change_line` is
the way back from decode.

Invariant: changes come in the order of their log; a value that already has its type comes back
unchanged; a column that a change leaves out is not in its line.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from joinery.expression.number import single
from joinery.model.change import Change
from joinery.model.type import LONG, STRING, Array, Atomic, DataType, Decimal, Field, Map, Struct
from joinery.plan.relation import Relation
from joinery.project.kinds import FORMATS
from joinery.semantics.render import document_json
from joinery.slices import slices

Read = Callable[[Any], Any]
_WIDE = decimal.Context(prec=80)


def json_reader(kind: DataType) -> Read | None:
    """Return the function from what JSON gives to the value; None where that is the value.

    Example:
        >>> from joinery.model.type import LONG, Decimal
        >>> json_reader(LONG), json_reader(Decimal(5, 2))("1.50")
        (None, Decimal('1.50'))
    """
    read = _read(kind)
    if read is None:
        return None
    return lambda value: None if value is None else read(value)


def _read(kind: DataType) -> Read | None:
    match kind:
        case Struct(fields):
            return _struct({field.name: json_reader(field.type) for field in fields})
        case Array(element):
            each = json_reader(element)
            return (lambda values: [each(value) for value in values]) if each else None
        case Map(key, of):
            return _map(_KEY.get(str(key)) or json_reader(key), json_reader(of))
        case Decimal(_, scale):
            exponent = decimal.Decimal(1).scaleb(-scale)
            return lambda value: _WIDE.quantize(decimal.Decimal(value), exponent)
        case Atomic(name):
            return _ATOMIC.get(name)


def _struct(fields: dict[str, Read | None]) -> Read | None:
    typed = {name: read for name, read in fields.items() if read is not None}
    if not typed:
        return None

    def read(value: Any) -> Any:
        for name, each in typed.items():
            value[name] = each(value[name])
        return value

    return read


def _map(key: Read | None, of: Read | None) -> Read:
    name: Read = key or (lambda value: value)
    each: Read = of or (lambda value: value)
    return lambda value: {name(left): each(right) for left, right in value.items()}


_KEY: dict[str, Read] = {
    **dict.fromkeys(("byte", "short", "int", "long"), int),
    "boolean": lambda text: text == "true",
}
_ATOMIC: dict[str, Read] = {
    "double": float,
    "float": lambda value: single(float(value)),
    "timestamp": dt.datetime.fromisoformat,
    "timestamp_ntz": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "binary": base64.b64decode,
}


_UPSERT, _TOMBSTONE = 0, 2
_PLACE = itemgetter(3, 4)
_TOGETHER = 1000  # lines are decoded: faster than one by one
_FRACTIONS = ("float", "double")


def read_changes(lines: Iterable[bytes], relations: Sequence[Relation]) -> list[Change]:
    """Return the changes that `lines` tell, in log order.

    Args:
        lines: Of all parts, in any order.
        relations: In the order of the kernel's program.
    """
    readers, decode = _reading(relations)
    told: list[Any] = []
    for some in slices(lines, _TOGETHER):
        told += decode(f"[{b','.join(some).decode()}]")
    told.sort(key=_PLACE)
    # Each takes the place of what told it: logs may be as large as memory.
    for at, each in enumerate(told):
        told[at] = readers[each[0]].change(*each)
    return told


def change_reader(
    relations: Sequence[Relation],
) -> Callable[[Iterable[bytes]], Iterator[Change]]:
    """Return the function from lines to the changes that they tell, one by one in their order.

    Args:
        relations: In the order of the kernel's program.
    """
    readers, decode = _reading(relations)

    def read(lines: Iterable[bytes]) -> Iterator[Change]:
        for some in slices(lines, _TOGETHER):
            for each in decode(f"[{b','.join(some).decode()}]"):
                yield readers[each[0]].change(*each)

    return read


def _reading(relations: Sequence[Relation]) -> tuple[list[_Reader], Callable[[str], Any]]:
    """Return what reads the rows of each relation, and what decodes lines."""
    exact = any(_has_fractions(field.type) for each in relations for field in each.columns)
    decode = json.JSONDecoder(parse_float=str if exact else None).decode
    return [_Reader(each) for each in relations], decode


class _Reader:
    """Reads the changes of one relation."""

    def __init__(self, relation: Relation) -> None:
        self._name, self._key = relation.name, relation.key
        self._columns = [column.name for column in relation.columns]
        typed = ((column.name, json_reader(column.type)) for column in relation.columns)
        keys = {*relation.key, *relation.key_names}
        self._beside = [name for name in self._columns if name not in keys]
        self._typed: list[tuple[str, Read]] = [(name, read) for name, read in typed if read]

    def change(
        self,
        relation: int,
        op: int,
        position: int | None,
        major: int,
        minor: int,
        absent: Sequence[int] | None,
        row: dict[str, Any],
        snapshot: bool = False,
    ) -> Change:
        """Return one change; the place of its relation in the program is known."""
        for name, read in self._typed:
            value = row[name]
            if value is not None:
                row[name] = read(value)
        key = {column: row[column] for column in self._key}
        for column in absent or ():
            row.pop(self._columns[column])
        if op == _UPSERT:
            return Change(self._name, key, row, position, place=(major, minor), snapshot=snapshot)
        ended = {name: row[name] for name in self._beside if row[name] is not None}
        return Change(
            self._name, key, None, position, op == _TOMBSTONE, (major, minor), ended=ended or None
        )


def _has_fractions(kind: DataType) -> bool:
    match kind:
        case Struct(fields):
            return any(_has_fractions(field.type) for field in fields)
        case Array(element):
            return _has_fractions(element)
        case Map(key, of):
            return _has_fractions(key) or _has_fractions(of)
        case Decimal():
            return True
        case Atomic():
            return str(kind) in _FRACTIONS


def typed(value: Any, type_: DataType) -> Any:
    """Return `value` as the plan holds a value of `type_`.

    Times and dates may be ISO text (without a zone it is UTC), decimals text or whole
    numbers, binary base64 text.

    Example:
        >>> from joinery.model.type import TIMESTAMP
        >>> typed("2026-01-02T03:04:05Z", TIMESTAMP).isoformat()
        '2026-01-02T03:04:05+00:00'
    """
    if value is None:
        return None
    match type_:
        case Struct(fields):
            return {field.name: typed(value.get(field.name), field.type) for field in fields}
        case Array(element):
            return [typed(each, element) for each in value]
        case Map(key, of):
            return {typed(name, key): typed(each, of) for name, each in value.items()}
        case Decimal(_, scale):
            exact = decimal.Decimal(value if isinstance(value, int) else str(value))
            scaled = _WIDE.quantize(exact, decimal.Decimal(1).scaleb(-scale))
            return _WIDE.plus(scaled)  # a negative zero becomes zero, as for any double below
        case Atomic(name):
            return _atomic(value, name)


def _atomic(value: Any, name: str) -> Any:
    match name, value:
        case ("timestamp", str()):
            return _utc(dt.datetime.fromisoformat(value))
        case ("timestamp", dt.datetime()):
            return _utc(value)
        case ("timestamp_ntz", str()):
            return _utc(dt.datetime.fromisoformat(value)).replace(tzinfo=None)
        case ("date", str()):
            return dt.date.fromisoformat(value)
        case ("binary", str()):
            return base64.b64decode(value, validate=True)
        # A negative zero becomes zero, as where a record is decoded.
        case ("float", int() | float() | str()):
            return single(float(value)) + 0.0
        case ("double", int() | float() | str()):
            return float(value) + 0.0
        case _:
            return value


def _utc(value: dt.datetime) -> dt.datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value.astimezone(dt.UTC)


def change_line(change: Change, relation: Relation) -> str:
    """Return `change` in the relation's format, as one line without its end.

    Raises:
        ValueError: The format has no line form.

    Example:
        >>> from joinery.model.type import INT
        >>> t = Relation("t", "s", "t", "json", ("id",), (Field("id", INT), Field("a", STRING)))
        >>> change_line(Change("t", {"id": 1}, {"a": "x"}, 7), t)
        '{"id":1,"a":"x","__position":7}'
        >>> change_line(Change("t", {"id": 1}, None, tombstone=True), t)
        '{"key":{"id":1},"value":null}'
    """
    known = FORMATS[relation.format]
    if known.registry:
        raise ValueError(f'format "{relation.format}" has no line form')
    if change.tombstone:
        return f'{{"key":{_object(change.key, relation)},"value":null}}'
    if not known.events:
        return _flat(change, relation)
    value = _envelope(change, relation)
    return f'{{"key":{_object(change.key, relation)},"value":{value}}}'


def _flat(change: Change, relation: Relation) -> str:
    deleted = ',"__deleted":true' if change.after is None else ""
    place = "" if change.position is None else f',"__position":{change.position}'
    row = {**(change.after or change.ended or {}), **change.key}
    return f"{_object(row, relation)[:-1]}{deleted}{place}}}"


def _envelope(change: Change, relation: Relation) -> str:
    key, source = _object(change.key, relation), _source(change.position)
    if change.after is None:
        return f'{{"before":{key},"after":null,"source":{source},"op":"d"}}'
    row = {**change.after, **change.key}
    whole = all(column.name in row for column in relation.columns)
    after, op = _object(row, relation), "u" if not whole else "r" if change.snapshot else "c"
    return f'{{"before":null,"after":{after},"source":{source},"op":"{op}"}}'


def _source(position: int | None) -> str:
    type_ = Struct((Field("connector", STRING), Field("lsn", LONG)))
    if position is None:
        return '{"connector":"postgresql","snapshot":"incremental"}'
    return document_json({"connector": "postgresql", "lsn": position}, type_)


def _object(row: Mapping[str, Any], relation: Relation) -> str:
    """Return the told columns, in the relation's order."""
    told = tuple(column for column in relation.columns if column.name in row)
    return document_json(row, Struct(told))
