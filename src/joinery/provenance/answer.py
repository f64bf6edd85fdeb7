"""The answer to why a document looks as it does, as values that are told as text, JSON or HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from joinery.model.change import Change, Key, Row
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.provenance.absence import Absence
from joinery.provenance.document_log import Alteration, Difference, DocumentLog
from joinery.provenance.live_rows import Record
from joinery.provenance.logs import Ordered
from joinery.provenance.parts import ROOT, Level, key_of, levels
from joinery.provenance.told import Naming, called, key_text
from joinery.semantics.assemble import Assembler
from joinery.semantics.json_text import json_line, pretty_json
from joinery.semantics.personal import masked
from joinery.semantics.render import document_json
from joinery.semantics.rows import Findings
from joinery.text.columns import aligned


@dataclass(frozen=True, slots=True)
class Part:
    """A row that a document is made of.

    Attributes:
        path: The part of the document that it is: `orders[0].buyer`; `(root)` for its root.
        relation: Of the row.
        key: The row's, as text; empty where its log has no key.
        place: Of the record by which it stands: `user/1.jsonl/7`.
        position: That of the source; None where it has none.
        hidden: Whether the part is `hidden`, so that only values show it.
        last: Whether that record altered the document last.
    """

    path: str
    relation: str
    key: str
    place: str
    position: int | None
    hidden: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Last:
    """The change that altered a document last.

    Attributes:
        relation: Of the row.
        key: The row's, as text; empty where its log has no key.
        does: What the change did: `upsert`, `delete`.
        differences: What it altered, as JSON text; None for what is not there.
    """

    relation: str
    key: str
    place: str
    position: int | None
    does: str
    differences: Sequence[tuple[str, str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Why:
    """Why a document looks as it does, or why there is none.

    Attributes:
        document: Its text; None where there is none.
        refused: Why the document is a dead letter; empty where it is sent.
        parts: Its rows, from the root down.
        notes: What is not there, and why: embeds without a row, rows beyond a limit.
        absent: Why the row that was asked for is not in it, where one was.
        altered: How many changes altered it so far.
        last: The change that did so last; None where none did.
        ordered: What orders records of different logs: `position` or `time`.
        read: How many records were read, by relation.
        left: How many were not read, by relation; with any, the answer may be an older one.
        gone: What is gone of logs that no longer have all that was read of them, by relation;
            with any, rows may lack that a run has.
        ignored: How many updates and deletes in the logs had no effect, at least, by relation that
            is `append`.
        values: Of the key, by which state is asked for it; not told.
    """

    product: str
    key: str
    document: str | None
    refused: str
    parts: Sequence[Part]
    notes: Sequence[str]
    absent: Sequence[str]
    altered: int
    last: Last | None
    ordered: Ordered
    read: Mapping[str, int]
    left: Mapping[str, int]
    gone: Mapping[str, str]
    ignored: Mapping[str, int] = field(default_factory=dict)
    values: Key = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it, the document as an object."""
        told = {name: getattr(self, name) for name in self.__slots__ if name != "values"}
        told["document"] = None if self.document is None else json.loads(self.document)
        told["parts"] = [_slots(each) for each in self.parts]
        told["last"] = self.last and _slots(self.last) | {
            "differences": [
                {"path": path, "before": _value(before), "after": _value(after)}
                for path, before, after in self.last.differences
            ]
        }
        return told

    def __str__(self) -> str:
        return "\n".join(self.absent or self.text_lines(None))

    __repr__ = __str__

    def text_lines(self, most: int | None) -> Iterator[str]:
        """Yield it as text, with at most `most` of its rows; None for all."""
        yield f"{self.product} {self.key}"
        if self.document is not None:
            yield pretty_json(self.document)
        if self.parts:
            yield ""
            shown = self.parts[:most]
            rows = [
                (
                    f"{each.path}{' (hidden)' if each.hidden else ''}",
                    called(each.relation, each.key),
                    f"{each.place}{' *' if each.last else ''}",
                    "" if each.position is None else str(each.position),
                )
                for each in shown
            ]
            head = ("part", "row", "record", "position" if any(row[3] for row in rows) else "")
            yield from aligned([head, *rows])
            if hidden := len(self.parts) - len(shown):
                yield f"… {hidden:,} more: --all"
            yield ""
        yield from self.lines()

    def lines(self) -> Iterator[str]:
        """Yield what is told beside the table of rows, a line each."""
        if self.refused:
            yield f"a dead letter: {self.refused}"
        yield from self.notes
        if self.last is not None:
            changes = "1 change has" if self.altered == 1 else f"{self.altered:,} changes have"
            yield (
                f"* {changes} altered it; the last was the {self.last.does} of"
                f" {called(self.last.relation, self.last.key)}"
                f" at {_at(self.last.place, self.last.position)}"
            )
            yield from (difference_line(*each) for each in self.last.differences)

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        head = "".join(f"<th>{each}</th>" for each in ("part", "row", "record"))
        rows = "".join(
            f"<tr><td>{escape(each.path)}</td><td>{escape(called(each.relation, each.key))}</td>"
            f"<td>{escape(_at(each.place, each.position))}{' *' if each.last else ''}</td></tr>"
            for each in self.parts
        )
        told = "".join(f"<p>{escape(each)}</p>" for each in (*self.lines(), *self.absent))
        title = escape(f"{self.product} {self.key}")
        return f"<h4>{title}</h4><table><tr>{head}</tr>{rows}</table>{told}"


def _slots(value: Part | Last) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _at(place: str, position: int | None) -> str:
    return place if position is None else f"{place}, position {position}"


def difference_line(path: str, before: str | None, after: str | None) -> str:
    """Return what differs at a path, as a line of text; None is what is not there."""
    if before is None or after is None:
        sign, text = ("+", after) if before is None else ("-", before)
        return f"  {sign} {path or 'the document'}  {text}"
    return f"  ~ {path}  {before} → {after}"


@dataclass(frozen=True, slots=True)
class Answering:
    """Makes the answer of one document whose logs were told."""

    product: Product
    log: DocumentLog
    naming: Naming

    def answer(
        self,
        asked: tuple[Relation, str] | None,
        *,
        ordered: Ordered,
        read: Mapping[str, int],
        left: Mapping[str, int],
        gone: Mapping[str, str],
    ) -> Why:
        """Return it.

        Args:
            asked: A row whose absence is asked for: its relation, and its key as text.
            ordered: What orders records of different logs.
            read: How many records were read, by relation.
            left: How many were not.
            gone: What of their logs is gone.
        """
        document, absence = self.log.document, Absence(self.product, self.log, self.naming)
        found = self._levels()
        refused = "" if document is None or document.reason is None else document.reason
        return Why(
            product=self.product.name,
            key=key_text(self.product.root.relation, self.log.key),
            document=None if document is None else masked(document.text),
            refused=f"{refused}: {document.detail}" if document is not None and refused else "",
            parts=[] if document is None else list(self._parts(found)),
            notes=[*map(masked, absence.no_root() if document is None else self._notes(found))],
            absent=[] if asked is None else [*map(masked, absence.told(*asked))],
            altered=self.log.altered,
            last=None if self.log.last is None else self._last(self.log.last),
            ordered=ordered,
            read=read,
            left=left,
            gone=gone,
            values=self.log.key,
        )

    def _levels(self) -> list[Level]:
        if self.log.root is None:
            return []
        assembler = Assembler(self.product.root, Findings())
        return list(levels(assembler, self.log.root, self.log.rows))

    def _parts(self, found: Sequence[Level]) -> Iterator[Part]:
        assert self.log.root is not None
        yield self._part(ROOT, self.product.root, self.log.root, hidden=False)
        hidden: set[Node] = set()
        below: dict[str, list[Part]] = {}
        for level in found:
            if level.node.hidden:
                hidden |= {*level.node.walk()}
            parts = below.setdefault(level.above, [])
            for path, each, shown in level.objects():
                if shown:
                    parts.append(
                        self._part(path, level.node, each.row, hidden=level.node in hidden)
                    )
        yield from _deep_first(below, "")

    def _part(self, path: str, node: Node, row: Row, *, hidden: bool) -> Part:
        relation, key = node.relation, key_of(node, row)
        known = self.log.rows.known(relation.name, key)
        assert known is not None
        assert known.by is not None
        change = None if self.log.last is None else self.log.last.change
        last = (
            change is not None
            and Record.of(change) == known.by
            and tuple(change.key.values()) == key
        )
        place, position = self.naming.place(known.by), known.by.position
        return Part(path, relation.name, key_text(relation, key), place, position, hidden, last)

    def _notes(self, found: Iterable[Level]) -> Iterator[str]:
        for level in found:
            if not level.shown:
                continue
            node, objects = level.node, level.gathered.objects
            if not objects:
                yield f"{level.path}: {self._none(level)}"
            elif level.most is not None and len(objects) > level.most:
                more = len(objects) - level.most
                why = "one is shown" if node.cardinality == "one" else f"the limit is {node.limit}"
                is_or_are = "is" if more == 1 else "are"
                yield f"{level.path}: {more:,} more {is_or_are} left out; {why}"
            if level.gathered.hot:
                yield f"{level.path}: {len(level.gathered.hot):,} left out, above hot"

    def _none(self, level: Level) -> str:
        node = level.node
        if level.joins_on is None:
            names = ", ".join(pair.parent for pair in node.parent_on)
            return f"none, since {names} is null"
        name = node.relation.name if node.through is None else node.through.relation.name
        pairs = ", ".join(
            f"{pair.child} = {document_json(value, pair.type)}"
            for pair, value in zip(node.parent_on, level.joins_on, strict=True)
        )
        if node.through is None and self._any(level):
            return f"none that is shown of those of {name} with {pairs}"
        return f"none, no {name} has {pairs}" if node.through is None else f"none through {name}"

    def _any(self, level: Level) -> bool:
        columns = tuple(pair.child for pair in level.node.on)
        return bool(self.log.rows.matching(level.node.relation.name, columns, level.joins_on))

    def _last(self, last: Alteration) -> Last:
        change = last.change
        relation = next(
            each for each in self.product.form.relations if each.name == change.relation
        )
        return last_of(relation, change, self.naming, last.differences)


def last_of(
    relation: Relation, change: Change, naming: Naming, altered: Sequence[Difference]
) -> Last:
    """Return what is told of the change that altered something last.

    Args:
        relation: Of the change.
        change: The change.
        naming: How places are told.
        altered: What it altered.
    """
    return Last(
        relation.name,
        key_text(relation, tuple(change.key.values())),
        naming.place(change),
        change.position,
        "delete" if change.after is None else "upsert",
        [(each.path, value_text(each.before), value_text(each.after)) for each in altered],
    )


def _deep_first(below: Mapping[str, Sequence[Part]], above: str) -> Iterator[Part]:
    for each in below.get(above, ()):
        yield each
        yield from _deep_first(below, each.path)


def value_text(value: Any) -> str | None:
    """Return a part of a document as JSON text, without what is personal; None for none."""
    return None if value is None else masked(json_line(value))
