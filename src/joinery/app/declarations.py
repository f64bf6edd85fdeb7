"""What an app has declared so far: tables, logs, products and streams by name.

Invariant: what is declared reads back from `to_yaml()` as an equal project, whose plan is equal
byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.app.arguments import listed
from joinery.errors import SpecError
from joinery.model.type import TypeTextError, parse_type
from joinery.model.warning import RunWarning, warn
from joinery.project.argument import check_name, given, map_given
from joinery.project.declare import relation_of
from joinery.project.declare_embed import Document
from joinery.project.kafka import without_port
from joinery.project.kind import SinkSpec
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec, ProjectSpec, located
from joinery.project.read import read_project
from joinery.project.relation import RelationSpec
from joinery.project.stream import StreamSpec
from joinery.project.tree import tree_of
from joinery.project.typing import RunMap, Sink, Source, VaultMap, WindowMap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

_KAFKA = "kafka://"
_POSTGRES = ("postgres://", "postgresql://")
_SOURCE = "source"
DATABASE = "database"
_DATABASE_HINT = 'Write "postgresql://user@host/database", or the path of a file of SQLite.'


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a key, as a lookup finds them.

    Attributes:
        spec: What it declares.
        stored: Whether the app keeps it in its database.
    """

    spec: RelationSpec
    stored: bool = False

    @property
    def name(self) -> str:
        """The table's name."""
        return self.spec.name

    def pairs(self, on: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
        """Return table column and event column, from how Python tells them.

        Args:
            on: Table column to event column, as everywhere; a list of names that agree; or
                one name, of the event's column that is compared with the only column of the
                key.

        Example:
            >>> orders = Table(RelationSpec("customers", key=("id",)))
            >>> orders.pairs("customer_id"), orders.pairs({"id": "customer_id"})
            ({'id': 'customer_id'}, {'id': 'customer_id'})
        """
        if isinstance(on, Mapping):
            return dict(on)
        if not isinstance(on, str):
            names = listed([on])
            for each in names:
                check_name(each, "a column")
            return {str(name): str(name) for name in names}
        return {self.spec.key[0] if len(self.spec.key) == 1 else on: on}

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self.spec.fields)
        return f"<table {self.name} by {', '.join(self.spec.key)}: {columns}>"

    def _repr_html_(self) -> str:
        """Return the columns as a notebook shows them."""
        rows = "".join(
            f"<tr><td>{'<b>' * (name in self.spec.key)}{escape(name)}</td>"
            f"<td>{escape(kind)}</td></tr>"
            for name, kind in self.spec.fields
        )
        stored = ", kept in the database" if self.stored else ""
        return f"<table><caption>{escape(self.name)}{stored}</caption>{rows}</table>"


def source_data(source: str | Path | Source | None) -> dict[str, object]:
    """Return a source as a project file declares it.

    Args:
        source: `kafka://host:9092`, a folder, a kind with its options, or None for the
            folder `data`.

    Raises:
        SpecError: It is a URL of another kind, or of Kafka without a port, or none of these.

    Example:
        >>> source_data("kafka://localhost:9092"), source_data(None)
        ({'kafka': {'bootstrap': 'localhost:9092'}}, {'files': {'path': 'data'}})
    """
    if isinstance(source, Mapping):
        return dict(source)
    source = _text(source, "source", 'Write "kafka://host:9092", or the path of a folder.')
    if source.startswith(_KAFKA):
        bootstrap = source.removeprefix(_KAFKA).rstrip("/")
        if (host := without_port(bootstrap)) is not None:
            raise SpecError(
                f'the source "{source}" needs a port behind each host',
                code="SPEC_VALUE",
                hint=f'Write "{_KAFKA}{host or "host"}:9092".',
            )
        return {"kafka": {"bootstrap": bootstrap}}
    _refuse_url(source, "source", 'Write "kafka://host:9092", or the path of a folder.')
    return {"files": {"path": source or "data"}}


@dataclass(frozen=True, slots=True)
class Database:
    """The database of an app: a URL of PostgreSQL, else a file of SQLite.

    Raises:
        SpecError: It is a URL of another kind.
    """

    place: str

    def __post_init__(self) -> None:
        if self.kind == "sqlite":
            _refuse_url(self.place, "database", _DATABASE_HINT)

    @property
    def kind(self) -> str:
        """The kind of sink and of store."""
        return "postgres" if self.place.startswith(_POSTGRES) else "sqlite"

    @property
    def sink(self) -> dict[str, Mapping[str, object]]:
        """The sink that keeps tables in it, each in its declared columns."""
        if self.kind == "postgres":
            return {"postgres": {"url": self.place, "mode": "columns"}}
        return {"sqlite": {"path": self.place, "mode": "columns"}}

    def store(self, table: str) -> dict[str, Mapping[str, object]]:
        """Return the store that a lookup of `table` asks."""
        where = "url" if self.kind == "postgres" else "path"
        return {self.kind: {where: self.place, "table": table}}


def _text(given: object, what: str, hint: str) -> str:
    """Return a URL or a path as text; empty where there is none.

    Raises:
        SpecError: It is neither.
    """
    if given is None or isinstance(given, str | Path):
        return str(given or "")
    kind = type(given).__name__
    raise SpecError(f'"{what}" cannot be of type {kind}', code="SPEC_SHAPE", hint=hint)


def _refuse_url(text: str, what: str, hint: str) -> None:
    """Refuse a URL where only a path is left, so that none becomes the name of a folder."""
    scheme, mark, _ = text.partition("://")
    if mark:
        raise SpecError(f'"{what}" cannot be a URL of {scheme}', code="SPEC_VALUE", hint=hint)


class Declarations:
    """Tables, logs, products and streams, each under its name.

    Args:
        name: The project's name.
        source: As `App` takes it.
        database: As `App` takes it.
        format: As `App` takes it.
        folder: As `App` takes it.
        sources: As `App` takes them.
        sinks: As `App` takes them.
        windows: As `App` takes them.
        vault: As `App` takes it.
        run: As `App` takes it.

    Raises:
        ProjectErrors: With every problem of what is given as in a project file.
    """

    def __init__(
        self,
        name: str,
        *,
        source: str | Path | Source | None = None,
        database: str | Path | None = None,
        format: str | None = None,
        folder: str | Path = ".",
        sources: Mapping[str, Source] | None = None,
        sinks: Mapping[str, Sink] | None = None,
        windows: Mapping[str, WindowMap] | None = None,
        vault: VaultMap | None = None,
        run: RunMap | None = None,
    ) -> None:
        self.name = name
        self.database = Database(_text(database, "database", _DATABASE_HINT) or f"{name}.db")
        self.frames: dict[str, DataFrame] = {}
        self.tables: dict[str, Table] = {}
        self.streams: dict[str, StreamSpec] = {}
        self._folder = Path(folder)
        self._sections: dict[str, object] = {
            "name": name,
            "sources": {_SOURCE: source_data(source), **map_given(sources, "sources")},
            "defaults": {"source": _SOURCE, **({"format": format} if format else {})},
            **given({"windows": windows, "vault": vault, "run": run}),
        }
        self._sinks: dict[str, object] = map_given(sinks, "sinks")
        self._relations: dict[str, RelationSpec] = {}
        self._products: dict[str, ProductSpec] = {}

    def add_table(
        self, name: str, parts: Mapping[str, object], frame: DataFrame | None, *, database: bool
    ) -> Table:
        """Declare a table, in place of one of its name.

        Raises:
            ProjectErrors: With every problem.
        """
        self.tables[name] = Table(self._add_relation(name, parts, frame), database)
        kept = ProductSpec(name, NodeSpec(name, "root", name), (SinkSpec(use=DATABASE),))
        if database:
            self._products[name] = kept
        elif self._products.get(name) == kept:
            del self._products[name]
        return self.tables[name]

    def add_log(self, name: str, parts: Mapping[str, object], frame: DataFrame | None) -> None:
        """Declare a log of events; without columns, see that it is declared.

        Raises:
            ProjectErrors: With every problem.
            SpecError: It has no columns and was not declared before, or its name is no text.
        """
        check_name(name, "a stream")
        if parts.get("fields") is not None or frame is not None:
            self._add_relation(name, {"append": True, **parts}, frame)
        elif name not in self._relations:
            raise SpecError(
                f'the log "{name}" is not declared',
                code="SPEC_MISSING_KEY",
                hint=f'Write app.stream("{name}", fields={{…}}).',
            )

    def add_product(self, document: Document) -> None:
        """Declare a product and its relations, in place of a product of its name.

        Raises:
            SpecError: Another relation has the name of one of them.
        """
        self.add_relations(document.relations)
        spec = document.spec
        before = self._products.get(spec.name)
        if before and before != spec and (before.sinks or replace(spec, sinks=()) != before):
            _warn_replaced("product", spec.name)
        self._products[spec.name] = spec

    def add_relations(self, relations: Sequence[RelationSpec]) -> None:
        """Declare relations that are not declared yet.

        Raises:
            SpecError: Another relation has the name of one of them.
        """
        for each in relations:
            if self._relations.get(each.name, each) != each:
                message = f'there are two relations named "{each.name}"'
                raise SpecError(message, code="SPEC_DUPLICATE_KEY")
        self._relations |= {each.name: each for each in relations}

    def add_stream(self, spec: StreamSpec) -> None:
        """Take a stream that got its name, in place of one that had it.

        Raises:
            SpecError: Its name is no text.
        """
        check_name(spec.name, "a stream")
        before = self.streams.get(spec.name)
        if before and before != spec and not _goes_on(before, spec):
            _warn_replaced("stream", spec.name)
        self.streams[spec.name] = spec

    def drop(self, name: str) -> bool:
        """Forget what has a name, and return whether something had it.

        Raises:
            SpecError: The name is no text.
        """
        check_name(name, "what is dropped")
        known: list[dict[str, Any]] = [self.tables, self.streams, self.frames]
        held = [each for each in (*known, self._relations, self._products) if name in each]
        for each in held:
            del each[name]
        return bool(held)

    def check_sinks(self, sinks: Sequence[object]) -> None:
        """Refuse the names of sinks that the app does not have.

        Raises:
            SpecError: It has none of a name.
        """
        known = {**self._sinks, DATABASE: None}
        for each in (one.get("use") if isinstance(one, Mapping) else one for one in sinks):
            if isinstance(each, str) and each not in known:
                near = get_close_matches(each, known, n=1)
                raise SpecError(
                    f'the app has no sink "{each}"',
                    code="PLAN_UNKNOWN_SINK",
                    detail=f"It has {', '.join(known)}.",
                    hint=f'Use "{near[0]}".' if near else 'Write files={"path": …}, or the like.',
                )

    def spec(self, *more: StreamSpec) -> ProjectSpec:
        """Return the project that is declared so far.

        Args:
            *more: Streams in it, too, each in place of one of its name.

        Raises:
            ProjectErrors: With every problem of what was given as in a project file.
        """
        streams = {**self.streams, **{each.name: each for each in more}}
        products = tuple(self._products.values())
        used = (*(each.sinks for each in products), *(each.sinks for each in streams.values()))
        sinks = dict(self._sinks)
        if any(sink.use == DATABASE for each in used for sink in each):
            sinks.setdefault(DATABASE, self.database.sink)
        data = {**self._sections, "sinks": sinks, "relations": {}, "products": {}}
        return located(
            replace(
                read_project(tree_of(data), folder=self._folder),
                relations=tuple(self._relations.values()),
                products=products,
                streams=tuple(streams.values()),
            )
        )

    def session(self) -> SparkSession:
        """Return the active Spark session, or open one that suits the project."""
        from joinery.spark.session import session_for

        return session_for(self.spec())

    def name_for(self, spec: StreamSpec) -> str:
        """Return the name of a stream that was given none, beginning with that of `spec`.

        It is the name of a stream from the same log into the same sinks, or of one without
        sinks that does the same; else one that is free.
        """
        numbered = re.compile(rf"{re.escape(spec.name)}(_\d+)?")
        known = (each for each in self.streams.values() if numbered.fullmatch(each.name))
        same = (each.name for each in known if _same_stream(each, spec))
        return next(same, None) or self.free_name(spec.name)

    def free_name(self, wish: str) -> str:
        """Return `wish`, or `wish_2` and so on where it is taken."""
        taken = {*self.streams, *self._relations, *self._products}
        names = (wish, *(f"{wish}_{number}" for number in range(2, len(taken) + 3)))
        return next(each for each in names if each not in taken)

    def _add_relation(
        self, name: str, parts: Mapping[str, object], frame: DataFrame | None
    ) -> RelationSpec:
        if frame is not None:
            parts = {**parts, "fields": parts.get("fields") or _fields_of(name, frame)}
        spec = relation_of(name, parts)
        before = self._relations.get(name)
        if before and before != spec:
            _warn_replaced("relation", name)
        self._relations[name] = spec
        self.frames.pop(name, None)
        if frame is not None:
            self.frames[name] = frame
        return spec


def _same_stream(one: StreamSpec, other: StreamSpec) -> bool:
    alike = one.origin == other.origin and one.sinks == other.sinks
    return alike and (bool(one.sinks) or one.steps == other.steps)


def _goes_on(one: StreamSpec, other: StreamSpec) -> bool:
    """Return whether one of the two is the other with its sinks."""
    alike = (one.origin, one.steps) == (other.origin, other.steps)
    return alike and not (one.sinks and other.sinks)


def _warn_replaced(kind: str, name: str) -> None:
    warn(
        RunWarning(
            code="WARN_REPLACED",
            about=f'{kind} "{name}"',
            message=f'the {kind} "{name}" replaces the one declared before',
            hint="Give one of them another name to keep both.",
        )
    )


def _fields_of(name: str, frame: DataFrame) -> dict[str, str]:
    """Return the columns of a DataFrame, without those that tell a change.

    Raises:
        SpecError: It is not a Spark DataFrame.
    """
    # By name: Spark's DataFrame cannot be imported here, and frames of other libraries come, too.
    if not hasattr(getattr(frame, "schema", None), "fields"):
        kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
        raise SpecError(
            f'the frame of "{name}" is not a Spark DataFrame but {kind}',
            code="SPEC_SHAPE",
            hint="Write frame=spark.createDataFrame(…).",
        )
    return {
        each.name: _type_of(name, each)
        for each in frame.schema.fields
        if not each.name.startswith("__")
    }


def _type_of(name: str, column: StructField) -> str:
    """Return the type of a column of a DataFrame as a relation declares it.

    Spark's short text of a type does not quote the names of fields.

    Raises:
        SpecError: No column of a relation has it.
    """
    from joinery.spark.analyse import model_type

    told, kind = column.dataType.simpleString(), model_type(column.dataType)
    for text in (told,) if kind is None else (told, kind.ddl):
        with suppress(TypeTextError):
            if kind in (None, parse_type(text)):
                return text
    raise SpecError(
        f'column "{column.name}" of the frame of "{name}" is {told}, which relations do not have',
        code="SPEC_TYPE",
        hint="Cast it in the frame, such as to string.",
    )
