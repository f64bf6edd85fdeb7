"""What a table of a source becomes in a project: a relation, embeds, and what to beware of.

Invariant: nothing here looks at the source; the same table and project give the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from joinery.errors import SpecError
from joinery.model.table import ForeignKey, SourceTable, TableName
from joinery.project.captured import CAPTURED, table_in
from joinery.project.kind import SourceSpec
from joinery.project.kinds import DEBEZIUM_JSON, DEFAULT_FORMAT, FORMATS
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.relation import RelationSpec

_WORD = re.compile(r"[^A-Za-z0-9_]+")


class OnboardError(SpecError):
    """A table cannot join the project as asked."""

    code = "SPEC_ONBOARD"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChoices:
    """What a user says of a table beyond its name; None is up to the table.

    Attributes:
        name: Of the relation.
        topic: Where its messages are; `{schema}` and `{table}` stand for the table's.
        source: The project's source.
        format: What its messages are written in.
        key: Its key's columns.
    """

    name: str | None = None
    topic: str | None = None
    source: str | None = None
    format: str | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An embed that a foreign key offers.

    Attributes:
        product: The product.
        above: The names of the embeds above, from the root down.
        embed: What to embed, with its name.
    """

    product: str
    above: tuple[str, ...]
    embed: NodeSpec

    @property
    def path(self) -> tuple[str, ...]:
        """Where the entry is put in the project's file."""
        below = [part for name in self.above for part in ("embed", name)]
        return ("products", self.product, *below, "embed")

    def __str__(self) -> str:
        on = ", ".join(f"{child}: {parent}" for child, parent in self.embed.on)
        where = ".".join((self.product, *self.above))
        return f"{self.embed.name} in {where} ({self.embed.cardinality} on {{{on}}})"


def relation_for(table: SourceTable, project: ProjectSpec, choices: TableChoices) -> RelationSpec:
    """Return the relation that a table becomes.

    Raises:
        OnboardError: Its name is taken, it has no key, or its source is not told.
    """
    name = choices.name or _WORD.sub("_", table.name.table)
    if any(each.name == name for each in project.relations):
        raise OnboardError(
            f'the project already has a relation "{name}"', hint="Give another: --name NAME."
        )
    return RelationSpec(
        name=name,
        key=_key(table, choices),
        fields=tuple((each.name, each.type) for each in table.columns),
        topic=_topic(table, project, choices, name),
        source=_source(project, choices),
        format=_format(table, project, choices),
        time_unit=_time_unit(table, _captured(project, choices.source)),
    )


def _captured(project: ProjectSpec, name: str | None) -> SourceSpec | None:
    """Return the source that a user means where it captures a database's log itself."""
    wanted = name or project.defaults.source
    found = [each for each in project.sources if wanted is None or each.name == wanted]
    return found[0] if len(found) == 1 and found[0].kind in CAPTURED else None


def _time_unit(table: SourceTable, captured: SourceSpec | None) -> Literal["millis", "micros"]:
    """Return what times without a zone count; a capture of ours counts them all alike."""
    millis = captured is None and any(each.unit == "millis" for each in table.columns)
    return "millis" if millis else "micros"


def _key(table: SourceTable, choices: TableChoices) -> tuple[str, ...]:
    key = choices.key or table.key or table.identity_columns
    known = [each.name for each in table.columns]
    if not key:
        raise OnboardError(
            f'"{table.name}" has no primary key',
            detail=f"Its columns are {', '.join(known)}.",
            hint="Name the columns that identify its rows: --key a,b.",
        )
    missing = [each for each in key if each not in known]
    if missing:
        raise OnboardError(
            f'"{table.name}" has no column "{missing[0]}"',
            detail=f"Its columns are {', '.join(known)}.",
        )
    return key


def _topic(
    table: SourceTable, project: ProjectSpec, choices: TableChoices, name: str
) -> str | None:
    """Return the topic, by what its siblings are called; None where it is the relation's name."""
    if choices.topic is not None:
        parts = {"schema": table.name.schema, "table": table.name.table}
        topic = re.sub(r"\{(schema|table)\}", lambda found: parts[found[1]], choices.topic)
    elif (captured := _captured(project, choices.source)) is not None:
        short = table.name.table
        topic = short if table_in(captured, short) == str(table.name) else str(table.name)
    elif table.topic is not None:
        topic = table.topic
    else:
        prefixes = {_prefix(each) for each in project.relations}
        (prefix,) = prefixes if len(prefixes) == 1 else (None,)
        topic = f"{prefix}.{table.name}" if prefix else name
    return None if topic == name else topic


def _prefix(relation: RelationSpec) -> str | None:
    """Return the prefix of a topic named `prefix.schema.table`, as Debezium names them."""
    parts = (relation.topic or "").rsplit(".", 2)
    return parts[0] if len(parts) == 3 and ":" not in parts[0] else None


def _source(project: ProjectSpec, choices: TableChoices) -> str | None:
    known = [each.name for each in project.sources]
    if choices.source is not None and choices.source not in known:
        raise OnboardError(
            f'there is no source "{choices.source}"', detail=f"Known: {', '.join(known)}."
        )
    if choices.source is None and project.defaults.source is None and len(known) > 1:
        raise OnboardError(
            "the project has several sources",
            detail=f"They are {', '.join(known)}.",
            hint="Name one: --source NAME.",
        )
    return None if choices.source == project.defaults.source else choices.source


def _format(table: SourceTable, project: ProjectSpec, choices: TableChoices) -> str | None:
    """Return the format where it is not the project's; a captured table is Debezium's."""
    if choices.format is None and _captured(project, choices.source) is not None:
        return None
    default = project.defaults.format or DEFAULT_FORMAT.name
    if choices.format or table.format:
        chosen = choices.format or table.format
    else:
        chosen = default if FORMATS[default].events else DEBEZIUM_JSON.name
    return None if chosen == default else chosen


def warnings_of(table: SourceTable) -> Iterator[str]:
    """Yield what makes a table unsafe to capture, or loses something of it."""
    yield from _identity_warnings(table)
    if {each.unit for each in table.columns} >= {"millis", "micros"}:
        yield (
            f'"{table.name}" mixes timestamps in milliseconds and in microseconds, which JSON'
            " without schemas does not distinguish: use schemas, or Avro"
        )
    for name, type_ in table.left_out:
        yield f'column "{name}" of "{table.name}" is left out: Debezium does not send {type_}'


def _identity_warnings(table: SourceTable) -> Iterator[str]:
    fix = f"ALTER TABLE {table.name} REPLICA IDENTITY FULL"
    if table.identity is None:
        return
    if table.identity == "nothing" or (table.identity == "default" and not table.key):
        why = "REPLICA IDENTITY NOTHING" if table.identity == "nothing" else "no primary key"
        yield f'"{table.name}" has {why}: its updates and deletes cannot be captured; {fix}'
    elif table.identity == "index" and not set(table.key) <= set(table.identity_columns):
        yield f'the replica identity of "{table.name}" lacks columns of its key; {fix}'
    elif table.identity == "full" and not table.key:
        yield f'"{table.name}" has no primary key: its messages have no key that orders them'


def large_warning(tables: Iterable[SourceTable]) -> str:
    """Return one warning of all tables whose log leaves out large values; empty for none.

    Joinery keeps such a value; only a row whose key changes is a new one that lacks it.
    """
    found = [(each, [column.name for column in each.columns if column.large]) for each in tables]
    left = [
        (table, names)
        for table, names in found
        if names and table.key and table.identity in ("default", "index")
    ]
    if not left:
        return ""
    named = ", ".join(f'"{table.name}" ({", ".join(names)})' for table, names in left)
    fix = "; ".join(f"ALTER TABLE {table.name} REPLICA IDENTITY FULL" for table, _ in left)
    return (
        f"large values are sent only when they change: {named}."
        f" They become null when the key of their row changes; to keep them: {fix}"
    )


def suggestions_for(
    table: SourceTable, relation: RelationSpec, project: ProjectSpec
) -> Iterator[Suggestion]:
    """Yield the embeds of `relation` that foreign keys offer, those nearest to a root first.

    Args:
        table: What the relation was made of.
        relation: It need not stand in the project yet.
        project: Whose products are looked at.
    """
    found = [
        Suggestion(product.name, above, embed)
        for product in project.products
        for above, node in _nodes(product)
        for key in table.foreign_keys
        if (embed := _embed(key, table, relation, node, project)) is not None
    ]
    yield from sorted(found, key=lambda each: len(each.above))


def _nodes(product: ProductSpec) -> Iterator[tuple[tuple[str, ...], NodeSpec]]:
    waiting: list[tuple[tuple[str, ...], NodeSpec]] = [((), product.root)]
    while waiting:
        above, node = waiting.pop(0)
        yield above, node
        waiting += [((*above, each.name), each) for each in node.embed]


def _embed(
    key: ForeignKey,
    table: SourceTable,
    relation: RelationSpec,
    node: NodeSpec,
    project: ProjectSpec,
) -> NodeSpec | None:
    """Return the embed of `relation` in a node of the other side of a key, if it is one."""
    other = next((each for each in project.relations if each.name == node.relation), None)
    if other is None:
        return None
    if key.child == table.name and _stands_for(other, key.parent, project):
        embed = _of_child(key, relation)
    elif key.parent == table.name and _stands_for(other, key.child, project):
        embed = _of_parent(key, relation)
    else:
        return None
    declared = {name for name, _ in other.fields} >= {parent for _, parent in embed.on}
    there = any(each.relation == embed.relation and each.on == embed.on for each in node.embed)
    return _named(embed, node, other) if declared and not there else None


def _stands_for(relation: RelationSpec, table: TableName, project: ProjectSpec) -> bool:
    captured = _captured(project, project.source_of(relation))
    if captured is not None:
        told = table_in(captured, relation.topic or relation.name)
        # The database is not known where its URL is of an environment that is not here.
        return str(table) == told or (told.startswith(".") and str(table).endswith(told))
    if relation.topic is None:
        return relation.name == table.table
    return f".{relation.topic}".endswith(f".{table}")


def _of_child(key: ForeignKey, relation: RelationSpec) -> NodeSpec:
    """A row of the parent embeds those that name it."""
    name = relation.name if key.unique or relation.name.endswith("s") else f"{relation.name}s"
    shown = _shown(relation, key.columns)
    return NodeSpec(name, "one" if key.unique else "many", relation.name, key.pairs, shown)


def _of_parent(key: ForeignKey, relation: RelationSpec) -> NodeSpec:
    """A row of the child embeds the one that it names."""
    pairs = tuple((parent, child) for child, parent in key.pairs)
    shown = _shown(relation, tuple(parent for parent, _ in pairs))
    return NodeSpec(relation.name, "one", relation.name, pairs, shown)


def _shown(relation: RelationSpec, hidden: Sequence[str]) -> tuple[tuple[str, str], ...] | None:
    """Return all fields but those that the node above has as its own."""
    shown = tuple((name, name) for name, _ in relation.fields if name not in hidden)
    return shown or None


def _named(embed: NodeSpec, node: NodeSpec, relation: RelationSpec) -> NodeSpec:
    """Return the embed under a name that its node does not have yet."""
    taken = {each.name for each in node.embed} | {name for name, _ in node.values}
    taken |= {name for name, _ in (relation.fields if node.fields is None else node.fields)}
    column = embed.on[0][0] if embed.cardinality == "many" else embed.on[0][1]
    by_column = column.removesuffix("_id")
    for name in (embed.name, by_column, f"{embed.name}_by_{by_column}"):
        if name not in taken:
            return replace(embed, name=name)
    return replace(embed, name=f"{embed.name}_{len(taken)}")


def chosen(suggestions: Sequence[Suggestion], product: str, name: str | None) -> Suggestion:
    """Return the one suggestion for a product, under the name a user gave.

    Raises:
        OnboardError: There is none, or more than one as near to the root.
    """
    mine = [each for each in suggestions if each.product == product]
    if not mine:
        raise OnboardError(
            f'no foreign key joins the table to product "{product}"',
            hint="Add the embed by hand; its `on` names the columns.",
        )
    nearest = [each for each in mine if len(each.above) == len(mine[0].above)]
    if len(nearest) > 1 and name is not None:
        nearest = [each for each in nearest if each.embed.name == name] or nearest
    if len(nearest) > 1:
        raise OnboardError(
            f'the table may be embedded in product "{product}" in several ways',
            detail=f"They are {'; '.join(map(str, nearest))}.",
            hint="Name one: --as NAME.",
        )
    (found,) = nearest
    return replace(found, embed=replace(found.embed, name=name or found.embed.name))
