"""The documents of a plain project computed by SQLite: another formulation than the reference's.

Rows are the newest of the log by a window function; a document is one statement of nested
subqueries. Nothing here is shared with the product but the declaration.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from tests.sqlite_file import sqlite_file

from joinery.model.change import Change
from joinery.project.node import NodeSpec
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec

_CALL = re.compile(r"\b(size|count|sum|min|max)\((e\d+)(_hot)?(?:\.(\w+))?\)")
_WORD = re.compile(r"'[^']*'|\b(e\d+)\.(\w+)|\b(e\d+)_total\b|\b([kjcov]\d+)\b(?!\()")


def documents(project: ProjectSpec, changes: Sequence[Change]) -> dict[str, Any]:
    """Return the documents after all changes, by the JSON text of the root key's values."""
    with sqlite_file(":memory:") as database:
        for relation in project.relations:
            _fill(database, relation, [c for c in changes if c.relation == relation.name])
        root = project.products[0].root
        relations = {each.name: each for each in project.relations}
        level = _Level(root, relations, "t", None)
        key = ", ".join(f"t.{column}" for column in relations[root.relation].key)
        rows = database.execute(f"SELECT json_array({key}), {level.object()} {level.rows()}")
        return {json.dumps(json.loads(k)): json.loads(value) for k, value in rows}


def _fill(database: sqlite3.Connection, relation: RelationSpec, log: Sequence[Change]) -> None:
    columns = [column for column, _ in relation.fields]
    named = ", ".join(columns)
    database.execute(f"CREATE TABLE log_{relation.name} (place, position, deleted, {named})")
    marks = ", ".join("?" * (len(columns) + 3))
    for place, change in enumerate(log):
        told = {**(change.after or {}), **change.key}
        row = [place, change.position, change.after is None, *(told.get(c) for c in columns)]
        database.execute(f"INSERT INTO log_{relation.name} VALUES ({marks})", row)
    key = ", ".join(relation.key)
    where = f"AND ({relation.where})" if relation.where else ""
    database.execute(
        f"CREATE VIEW {relation.name} AS SELECT {named} FROM (SELECT *, row_number() OVER"
        f" (PARTITION BY {key} ORDER BY position DESC, place DESC) AS n FROM log_{relation.name})"
        f" WHERE n = 1 AND NOT deleted {where}"
    )


class _Level:
    """One node as SQL, over rows named `alias`, under the node whose rows are `parent`."""

    def __init__(
        self, node: NodeSpec, relations: dict[str, RelationSpec], alias: str, parent: str | None
    ) -> None:
        self.node, self.relations, self.alias, self.parent = node, relations, alias, parent
        self.below = {
            each.name: _Level(each, relations, f"{alias}_{each.name}", alias) for each in node.embed
        }

    def object(self) -> str:
        parts = [f"'{name}', {self.sql(text)}" for name, text in self.node.fields or ()]
        for embed in self.node.embed:
            if not embed.hidden:
                parts.append(f"'{embed.name}', json({self.below[embed.name].shown()})")
                if embed.limit is not None:
                    parts.append(f"'{embed.name}_total', {self.below[embed.name].total()}")
                if embed.through is not None and embed.through.hot_above is not None:
                    parts.append(f"'{embed.name}_hot', json({self.below[embed.name].hot()})")
        parts += [f"'{name}', {self.sql(text)}" for name, text in self.node.values]
        return f"json_object({', '.join(parts)})"

    def shown(self) -> str:
        if self.node.cardinality == "one":
            return self.first(self.object())
        inner = f"SELECT {self.object()} AS j {self.rows()} {self.order()} {self.limit()}"
        return f"(SELECT json_group_array(json(j)) FROM ({inner}))"

    def first(self, value: str) -> str:
        return f"(SELECT {value} {self.rows()} {self.order()} LIMIT 1)"

    def total(self) -> str:
        return f"(SELECT count(*) {self.rows()})"

    def hot(self) -> str:
        """Return the list of what is left out, since too many rows lead to it."""
        columns = [f"{self.alias}_by.{column}" for _, column in self.node.on]
        pairs = zip((child for child, _ in self.node.on), columns, strict=True)
        told = ", ".join(f"'{child}', {column}" for child, column in pairs)
        value = columns[0] if len(columns) == 1 else f"json(json_object({told}))"
        known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        rows = f"{self.leading()} AND {known} AND {self.count(columns)} > {self.above}"
        named = ", ".join(columns)
        return (
            f"(SELECT json_group_array({'json(v)' if len(columns) > 1 else 'v'}) FROM"
            f" (SELECT DISTINCT {value} AS v, {named} {rows} ORDER BY {named}))"
        )

    def leading(self) -> str:
        """Return the rows that lead from the parent, from `FROM` on."""
        assert self.node.through is not None
        on = [f"{self.alias}_by.{a} = {self.parent}.{b}" for a, b in self.node.through.on]
        return f"FROM {self.node.through.relation} AS {self.alias}_by WHERE {' AND '.join(on)}"

    def count(self, columns: list[str]) -> str:
        """Return how many rows lead to what columns hold."""
        assert self.node.through is not None
        pairs = zip((column for _, column in self.node.on), columns, strict=True)
        on = " AND ".join(f"n.{column} = {other}" for column, other in pairs)
        return f"(SELECT count(*) FROM {self.node.through.relation} AS n WHERE {on})"

    @property
    def above(self) -> int | None:
        return self.node.through.hot_above if self.node.through else None

    def conditions(self) -> list[str]:
        if self.node.through is None:
            return [f"{self.alias}.{a} = {self.parent}.{b}" for a, b in self.node.on]
        columns = [f"{self.alias}.{child}" for child, _ in self.node.on]
        on = " AND ".join(f"{self.alias}.{a} = {self.alias}_by.{b}" for a, b in self.node.on)
        told = [f"EXISTS (SELECT 1 {self.leading()} AND {on})"]
        return told if self.above is None else [*told, f"{self.count(columns)} <= {self.above}"]

    def rows(self) -> str:
        conditions = self.conditions()
        if self.node.where:
            conditions.append(f"({self.sql(self.node.where)})")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"FROM {self.node.relation} AS {self.alias} {where}"

    def order(self) -> str:
        keys = [
            self.sql(each.expression) + (" DESC NULLS LAST" if each.descending else " NULLS FIRST")
            for each in self.node.order
        ]
        keys += [f"{self.alias}.{column}" for column in self.relations[self.node.relation].key]
        return f"ORDER BY {', '.join(keys)}"

    def limit(self) -> str:
        return "" if self.node.limit is None else f"LIMIT {self.node.limit}"

    def sql(self, text: str) -> str:
        """Return a declared expression with every name replaced by what it stands for."""
        parts: list[str] = []
        text = _CALL.sub(lambda call: self._kept(parts, self._call(*call.groups())), text)
        text = _WORD.sub(self._word, text)
        return re.sub(r"\{(\d+)\}", lambda mark: parts[int(mark.group(1))], text)

    def _kept(self, parts: list[str], sql: str) -> str:
        parts.append(sql)
        return "{" + str(len(parts) - 1) + "}"

    def _call(self, function: str, embed: str, hot: str | None, name: str | None) -> str:
        level = self.below[embed]
        if hot:
            return f"json_array_length({level.hot()})"
        if function == "size":
            return f"(SELECT count(*) FROM (SELECT 1 {level.rows()} {level.limit()}))"
        return f"(SELECT {function}({level.output(name) if name else '*'}) {level.rows()})"

    def _word(self, word: re.Match[str]) -> str:
        embed, output, total, name = word.groups()
        if embed:
            return self.below[embed].first(self.below[embed].output(output))
        if total:
            return self.below[total].total()
        if name is None:
            return word.group()
        return self.output(name)

    def output(self, name: str) -> str:
        """Return an output by its name, or the column of that name."""
        named = dict(self.node.fields or ()) | dict(self.node.values)
        if name in named and named[name] != name:
            return f"({self.sql(named[name])})"
        return f"{self.alias}.{name}"
