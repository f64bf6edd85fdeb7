"""Records as no writer should write them and some do, and what is sought among them.

They have escapes of letters, exponents in whole numbers, blanks, names twice, schemas; some cannot
be read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.semantics.render import document_json
from joinery.spark.source.file_feed import FileChanges
from joinery.spark.source.log_order import (
    MomentError,
    in_written_order,
    moment_of,
    one_database,
)
from joinery.spark.source.log_search import LogSearch

PROJECT = """\
name: sought
sources: {changes: SOURCE}
defaults: {source: changes, format: FORMAT}
relations:
  item:
    topic: NAMEitem
    key: [id]
    append: APPEND
    fields: {id: long, name: string, small: short, at: timestamp, day: date, ok: boolean,
      raw: binary, price: "decimal(8,2)", wide: "decimal(30,4)", weight: double}
  part: {topic: NAMEpart, key: [item, number], fields: {item: long, number: string, note: string}}
  other: {topic: NAMEpart, key: [number], fields: {number: string, item: long}}
products:
  items: {root: item, fields: [id], embed: {parts: {many: part, on: {item: id}}}}
  others: {root: other}
"""
TEXTS = (
    "",
    "a",
    "é",
    "日本",
    "😀",
    'q"\\/',
    "\n\t\x7f",
    "null",
    "17",
    "a b",
    "__deleted",
    "\u2028",
)
LATER = datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=UTC)
VALUES: dict[str, Sequence[Any]] = {
    "long": (0, 1, -1, 17, 1000, 401826, 2**53 + 1, 2**63 - 1, -(2**63)),
    "short": (0, 7, -300, 32767),
    "string": TEXTS,
    "timestamp": (LATER, LATER.replace(year=1969)),
    "date": (date(2026, 3, 1), date(1969, 1, 1)),
    "boolean": (True, False),
    "binary": (b"", b"\x00\xff", b"abc"),
    "decimal(8,2)": (Decimal("1.50"), Decimal("-1000.00"), Decimal("0.00")),
    "decimal(30,4)": (Decimal("1.5000"), Decimal("12345678901234567890.0001")),
    "double": (1.5, 1e300, -0.0),
}
WHOLE = ("long", "short")

Told = tuple[str, Iterable[Change]]
"""What orders changes, and they in that order."""


class Writer:
    """Writes records as JSON in many ways."""

    def __init__(self, random: Random, relation: Relation) -> None:
        self._random, self._relation = random, relation
        self._events = relation.format == "debezium-json"

    def line(self) -> str:
        """Return some line of a file; one of ten cannot be read."""
        key, value = self.record()
        if key is None and not self._one_in(30):
            return value or ""
        return self._keyed(key or "null", value or "null")

    def record(self) -> tuple[str | None, str | None]:
        """Return key and value of some record; one of ten cannot be read."""
        row = {
            each.name: self._random.choice(VALUES[str(each.type)])
            for each in self._relation.columns
            if each.name in self._relation.key or self._random.random() < 0.8
        }
        key = {name: row[name] for name in self._relation.key}
        if self._one_in(12):
            return self._row(key), None
        value = self._event(row, key) if self._events else self._flat(row)
        own = self._row(key) if self._one_in(4) and not self._one_in(9) else None
        return own, value[: self._random.randrange(1, len(value))] if self._one_in(15) else value

    def _flat(self, row: dict[str, Any]) -> str:
        members = self._members(row)
        if self._one_in(8):
            members.append(("__deleted", self._random.choice(["true", '"true"', "false"])))
        if self._one_in(2):
            members.append(("__position", self._whole(self._random.randrange(1000))))
        return self._object(members)

    def _event(self, row: dict[str, Any], key: dict[str, Any]) -> str:
        op = self._random.choice("ccruuud")
        schema = op != "d" and self._one_in(6)
        source = [("connector", '"postgresql"')]
        if not self._one_in(7):
            source.append(("lsn", self._whole(self._random.randrange(1000))))
        before = dict(key)
        if op == "u" and self._one_in(3):  # The key changes.
            name = self._random.choice(self._relation.key)
            before[name] = self._random.choice(VALUES[str(self._relation.type_of(name))])
        after = "null" if op == "d" else self._object(self._members(row, encoded=schema))
        told = [("op", f'"{op}"'), ("after", after), ("source", self._object(source))]
        if op in "du":
            told.append(("before", self._row(before)))
        event = self._object(told)
        if not schema and not self._one_in(6):
            return event
        return self._object([("schema", self._schema() if schema else "null"), ("payload", event)])

    def _schema(self) -> str:
        """Return the schema of whole numbers that are written as decimals are."""
        fields = [
            {
                "field": each.name,
                "type": "bytes",
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "0"},
            }
            for each in self._relation.columns
            if str(each.type) in WHOLE
        ]
        told = {"type": "struct", "fields": [{"field": "after", "fields": fields}]}
        return json.dumps(told).replace(
            "Decimal", self._random.choice(["Decimal", "\\u0044ecimal"])
        )

    def _members(self, row: dict[str, Any], *, encoded: bool = False) -> list[tuple[str, str]]:
        members = [(name, self._value(name, each, encoded=encoded)) for name, each in row.items()]
        if self._one_in(10):
            members.append(
                (self._random.choice(["weight", "note"]), "[1]")
            )  # a dead letter, or not
        if self._one_in(5):
            members.append(("undeclared", self._random.choice(["401826", '"a"', '{"id": 17}'])))
        self._random.shuffle(members)
        if members and self._one_in(6):  # Of a name told twice the last counts.
            members.insert(0, (members[-1][0], self._random.choice(["null", "17", '"x"'])))
        return members

    def _row(self, row: dict[str, Any]) -> str:
        return self._object([(name, self._value(name, each)) for name, each in row.items()])

    def _value(self, name: str, value: Any, *, encoded: bool = False) -> str:
        type_ = self._relation.type_of(name)
        if name not in self._relation.key and self._one_in(9):
            return "null"
        if encoded and str(type_) in WHOLE:
            data = value.to_bytes(9, "big", signed=True)
            return self._text(base64.b64encode(data).decode())
        if str(type_) in WHOLE:
            return self._whole(value)
        told = json.loads(document_json(value, type_), parse_float=Decimal)
        return self._text(told) if isinstance(told, str) else document_json(value, type_)

    def _whole(self, value: int) -> str:
        digits = str(value)
        shift = self._random.randrange(4)
        return self._random.choice(
            [
                *[digits] * 4,
                f"{digits}.0",
                f"{digits}{'0' * shift}{self._random.choice('eE')}-{shift}",
                f"{Decimal(value).scaleb(-shift):f}e+{shift}",
                f"{digits[:-3]}e3" if value % 1000 == 0 and value else f"{digits}E0",
                "-0" if value == 0 else digits,
            ]
        )

    def _text(self, value: str) -> str:
        return f'"{"".join(self._letter(each) for each in value)}"'

    def _letter(self, letter: str) -> str:
        if letter == "/" and self._one_in(2):
            return "\\/"
        if letter < " " or letter in '"\\' or self._one_in(5):
            units = letter.encode("utf-16-be")
            halves = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
            upper = self._one_in(2)
            return "".join(f"\\u{each.upper() if upper else each}" for each in halves)
        return letter

    def _object(self, members: Sequence[tuple[str, str]]) -> str:
        told = (
            f"{self._blank()}{self._text(name)}{self._blank()}:{self._blank()}{each}{self._blank()}"
            for name, each in members
        )
        return f"{{{','.join(told)}}}"

    def _keyed(self, key: str, value: str) -> str:
        return f'{self._blank()}{{"key":{self._blank()}{key}, "value":{value}}}'

    def _blank(self) -> str:
        return self._random.choice(["", "", "", "", " ", "\t", "  "])

    def _one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0


def written(
    folder: Path, format_: str, *, append: bool, source: str, named: str = ""
) -> ProjectSpec:
    """Write a project whose topics have names that begin alike."""
    text = PROJECT.replace("SOURCE", source).replace("FORMAT", format_).replace("NAME", named)
    text = text.replace("APPEND", str(append).lower())
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return load_spec(folder)


def writers_of(spec: ProjectSpec, random: Random) -> Mapping[str, Sequence[Writer]]:
    """Return by topic what writes its records."""
    by_topic: dict[str, list[Writer]] = {}
    for each in relations_of(spec):
        by_topic.setdefault(each.topic, []).append(Writer(random, each))
    return by_topic


def sought_of(relations: Sequence[Relation]) -> Mapping[str, Sequence[str]]:
    """Return by relation all columns by which something can be sought."""
    return {each.name: [*dict.fromkeys(sought(each))] for each in relations}


def agrees(
    search: LogSearch,
    spec: ProjectSpec,
    relations: Sequence[Relation],
    found: FileChanges,
    moments: Iterable[str],
) -> None:
    """A search finds what a decoding of all records tells, and has it in the same order.

    Args:
        search: Of the same logs.
        spec: The project.
        relations: Those that were read.
        found: By the decoding.
        moments: Until when they agree, too.
    """
    columns = sought_of(relations)
    by, ordered = in_written_order(spec, relations, found)
    changes = [*ordered]
    assert len(changes) > 100
    assert (search.left, search.files) == (found.left, found.files)
    assert search.read == {name: each["read"] for name, each in found.counts.items()}
    for relation in relations:
        finds_each(search, relation, columns[relation.name], changes)
    numbers = all_of(search, relations)
    one = one_database(relations)
    assert (by, changes) == search.in_written_order(numbers, one_database=one)
    some = {each: change for each, change in search.changes(numbers).items() if each % 7 == 0}
    _, few = search.in_written_order([*some], one_database=one)
    rest = iter(changes)
    assert len(few) == len(some)
    assert all(each in rest for each in few)
    until = [*moments, *records_of(changes, relations, found)]

    def decoded(moment: str) -> Told:
        return in_written_order(spec, relations, found, moment)

    def searched(moment: str) -> Told:
        asked = moment_of(spec, relations, moment)
        return search.in_written_order(numbers, one_database=one, moment=asked)

    ends = [ended(decoded, each) for each in until]
    assert len({len(told) for _, told in ends}) > 4
    assert ends == [ended(searched, each) for each in until]


def records_of(
    changes: Sequence[Change], relations: Sequence[Relation], found: FileChanges
) -> Iterator[str]:
    """Yield the names of some records, and of the files that they are in."""
    topics = {each.name: each.topic for each in relations}
    for change in changes[:: len(changes) // 9]:
        assert change.place is not None
        part, at = change.place
        files = found.files.get(change.relation)
        name = f"{topics[change.relation]}/{part if files is None else files[part].name}"
        yield f"{name}/{at}"
        if files is not None:
            yield name


def ended(order: Callable[[str], Told], moment: str) -> tuple[str, Sequence[Change]]:
    """Return what an order has until a moment; nothing where it refuses that."""
    try:
        by, changes = order(moment)
        return by, [*changes]
    except MomentError as error:
        return str(error), ()


def relations_of(spec: ProjectSpec) -> tuple[Relation, ...]:
    plan = build_plan(spec)
    return tuple(dict.fromkeys(one for each in plan.products for one in each.relations))


def values_of(change: Change) -> dict[str, Any]:
    return {**(change.after or {}), **change.key}


def sought(relation: Relation) -> Iterator[str]:
    """Yield all columns but those of floating-point numbers, by which nothing is sought."""
    yield from (each.name for each in relation.columns if str(each.type) != "double")


def finds_each(
    search: LogSearch, relation: Relation, columns: Sequence[str], changes: Sequence[Change]
) -> None:
    """Each value is found where it is told, and nowhere else; so are keys, and values together."""
    of = [each for each in changes if each.relation == relation.name]
    for names in ([each] for each in columns), [relation.key]:
        for asked in names:
            rows = [tuple(values_of(each).get(name) for name in asked) for each in of]
            for values in [*({each} for each in {*rows}), {*rows}]:
                wanted = {each for each in values if None not in each}
                told = search.changes(search.holding(relation, asked, wanted)).values()
                assert sorted(map(repr, told)) == sorted(
                    repr(each) for each, row in zip(of, rows, strict=True) if row in wanted
                )
    assert not search.holding(
        relation, ["number" if relation.name != "item" else "name"], [("\ud800",)]
    )


def all_of(search: LogSearch, relations: Sequence[Relation]) -> list[int]:
    """Return the numbers of all changes that are told: each has a key."""
    found: list[int] = []
    for each in relations:
        for key in _keys(each):
            numbers = search.holding(each, [each.key[0]], [(key,)])
            found += search.changes(numbers)
    return found


def _keys(relation: Relation) -> Sequence[Any]:
    return VALUES[str(relation.type_of(relation.key[0]))]
