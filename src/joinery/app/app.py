"""An app: what a project file declares, built from Python by short calls.

Invariant: `to_yaml()` reads back as an equal project, whose plan is equal byte by byte.

Where an app reads and where it keeps, from the short texts that name them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from joinery.app.project import Project
from joinery.app.stream import Stream
from joinery.app.table import Table
from joinery.errors import SpecError
from joinery.model.warning import RunWarning, warn
from joinery.project.declare import Document
from joinery.project.kafka import without_port
from joinery.project.product import NodeSpec, ProductSpec, ProjectSpec, RelationSpec, SinkSpec
from joinery.project.read import raise_all, read_project, read_relation
from joinery.project.reader import Reader
from joinery.project.stream import StreamSpec
from joinery.project.tree import Entry, tree_of
from joinery.project.write import product_data, relation_data

_KAFKA = "kafka://"
_POSTGRES = ("postgres://", "postgresql://")


def source_data(source: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a source as a project file declares it.

    Args:
        source: `kafka://host:9092`, a folder, a kind with its options, or None for the
            folder `data`.

    Raises:
        SpecError: It is a URL of another kind, or of Kafka without a port.

    Example:
        >>> source_data("kafka://localhost:9092"), source_data(None)
        ({'kafka': {'bootstrap': 'localhost:9092'}}, {'files': {'path': 'data'}})
    """
    if isinstance(source, Mapping):
        return dict(source)
    if source is not None and source.startswith(_KAFKA):
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
            hint = 'Write "postgresql://user@host/database", or the path of a file of SQLite.'
            _refuse_url(self.place, "database", hint)

    @property
    def kind(self) -> str:
        """The kind of sink and of store."""
        return "postgres" if self.place.startswith(_POSTGRES) else "sqlite"

    @property
    def sink(self) -> dict[str, Any]:
        """The sink that keeps tables in it, each in its declared columns."""
        if self.kind == "postgres":
            return {"postgres": {"url": self.place, "mode": "columns"}}
        return {"sqlite": {"path": self.place, "mode": "columns"}}

    def store(self, table: str) -> dict[str, Any]:
        """Return the store that a lookup of `table` asks."""
        where = "url" if self.kind == "postgres" else "path"
        return {self.kind: {where: self.place, "table": table}}


def _refuse_url(text: str | None, what: str, hint: str) -> None:
    """Refuse a URL where only a path is left, so that none becomes the name of a folder."""
    scheme, mark, _ = (text or "").partition("://")
    if mark:
        raise SpecError(f'"{what}" cannot be a URL of {scheme}', code="SPEC_VALUE", hint=hint)


DATABASE = "database"


class App:
    """Tables and streams under one name, with a source and a database set up at once.

    Args:
        name: The project's name.
        source: Where changes and events come from: `kafka://host:9092`, a folder, or a
            kind with its options; the folder `data` where left out.
        database: A URL of PostgreSQL, or a file of SQLite; `<name>.db` where left out.
        format: How a message tells a change: `json`, `debezium-json` …
        folder: Where relative paths begin.
        sinks: Named sinks, as in a project file.
        run: How it runs, as in a project file.

    Example:
        >>> import joinery as jn
        >>> app = jn.App("coffee")
        >>> app.table("customers", key=["id"], fields={"id": "long", "name": "string"})
        <table customers by id: id: long, name: string>
        >>> orders = app.stream("orders", fields={"customer_id": "long", "amount": "double"})
        >>> named = orders.lookup_join("customers", "customer_id", ["name"]).filter("amount > 0")
        >>> [each.name for each in named.plan.columns]
        ['customer_id', 'amount', 'name']
    """

    def __init__(
        self,
        name: str,
        *,
        source: str | Mapping[str, Any] | None = None,
        database: str | None = None,
        format: str | None = None,
        folder: str | Path = ".",
        sinks: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.folder = Path(folder)
        self.database = Database(database or f"{name}.db")
        self.frames: dict[str, Any] = {}
        self._source = source_data(source)
        self._format = format
        self._sinks = dict(sinks or {})
        self._run = dict(run or {})
        self._relations: dict[str, RelationSpec] = {}
        self._tables: dict[str, Table] = {}
        self._products: dict[str, ProductSpec] = {}
        self._streams: dict[str, StreamSpec] = {}

    def table(
        self,
        name: str,
        *,
        key: str | Sequence[str],
        fields: Mapping[str, str] | None = None,
        database: bool = False,
        frame: Any = None,
        **parts: Any,
    ) -> Table:
        """Declare a table, kept current from its topic.

        Args:
            name: Its name, and its topic unless `topic` says otherwise.
            key: The primary key's columns.
            fields: The columns and their Spark DDL types; those of `frame` where left out.
            database: Also keep it in the app's database, in a table of its name.
            frame: A DataFrame of its changes, where it comes from no source.
            **parts: `topic`, `source`, `format`, `derive`, `time`, `watermark` and so on,
                as in a project file.

        Raises:
            ProjectErrors: With every problem.
        """
        keys = [key] if isinstance(key, str) else list(key)
        spec = self._relation(name, {"key": keys, "fields": fields, **parts}, frame)
        self._tables[name] = Table(spec, database)
        if database:
            root = NodeSpec(name, "root", name)
            self._products[name] = ProductSpec(name, root, (SinkSpec(use=DATABASE),))
        return self._tables[name]

    def stream(
        self,
        name: str,
        *,
        fields: Mapping[str, str] | None = None,
        key: str | Sequence[str] | None = None,
        frame: Any = None,
        **parts: Any,
    ) -> Stream:
        """Declare a log of events, and return the stream that begins there.

        Args:
            name: The log's name, and its topic unless `topic` says otherwise. Alone, it
                means the log that was declared under it.
            fields: The columns and their Spark DDL types; those of `frame` where left out.
            key: What identifies an event; its place in the log where left out.
            frame: A DataFrame of events, where they come from no source.
            **parts: `topic`, `time`, `derive` and so on, as in a project file.

        Raises:
            ProjectErrors: With every problem.
        """
        if fields is not None or frame is not None:
            keys = [key] if isinstance(key, str) else key
            data = {"append": True, "key": keys and list(keys), "fields": fields, **parts}
            self._relation(name, data, frame)
        elif name not in self._relations:
            raise SpecError(
                f'the log "{name}" is not declared',
                code="SPEC_MISSING_KEY",
                hint=f'Write app.stream("{name}", fields={{…}}).',
            )
        return Stream(self, name)

    def add(self, *documents: Document) -> None:
        """Add products, as `jn.document` makes them, with their relations."""
        for document in documents:
            for each in document.relations:
                self._known(each)
            self._products[document.spec.name] = document.spec

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        return dict(self._tables)

    @property
    def streams(self) -> Mapping[str, Stream]:
        """The streams that have a name, as `sink` and `named` give it."""
        return {name: Stream.of(self, spec) for name, spec in self._streams.items()}

    @property
    def spec(self) -> ProjectSpec:
        """What is declared so far."""
        return self.spec_of(self._streams.values())

    @property
    def project(self) -> Project:
        """The project that is declared so far."""
        return Project.of(self.spec)

    def spec_of(self, streams: Iterable[StreamSpec]) -> ProjectSpec:
        """Return the project with `streams` in place of those of the app."""
        made = tuple(streams)
        data: dict[str, Any] = {
            "name": self.name,
            "sources": {"source": self._source},
            "defaults": {"source": "source", **({"format": self._format} if self._format else {})},
            "relations": {each.name: relation_data(each) for each in self._relations.values()},
            "products": {each.name: product_data(each) for each in self._products.values()},
            **({"run": self._run} if self._run else {}),
        }
        sinks = dict(self._sinks)
        used = (*(e.sinks for e in self._products.values()), *(e.sinks for e in made))
        if any(sink.use == DATABASE for each in used for sink in each):
            sinks.setdefault(DATABASE, self.database.sink)
        data |= {"sinks": sinks} if sinks else {}
        return replace(read_project(tree_of(data), folder=self.folder), streams=made)

    def to_yaml(self) -> str:
        """Return the app as the text of a project file.

        Raises:
            SpecError: A step calls a function that a file cannot name.
        """
        return self.project.to_yaml()

    def explain(self) -> str:
        """Return the plans of all products and streams as text."""
        project = self.project
        told = [str(each.explain()) for each in project.products.values()]
        told += [str(each.explain()) for each in project.streams.values()]
        return "\n\n".join(told)

    def run(self, spark: Any = None, **options: Any) -> Any:
        """Run everything; return the run, with `await_termination()`, `progress`, `stop()`.

        Args:
            spark: The session; one is opened where none is given.
            **options: Such as `once=True`.

        Raises:
            SelectionError: There is no product, and no stream ends with `.sink(…)`.
        """
        project = self.project
        import_module("joinery.spark.batch.selection").check_runnable(project.spec)
        return import_module("joinery.app.project").run(spark or self.session(), project, **options)

    def session(self) -> Any:
        """Return the active Spark session, or open one that suits the app."""
        return import_module("joinery.spark.session").session_for(self.spec)

    def known_stream(self, spec: StreamSpec) -> None:
        """Take a stream that got its name, in place of one that had it."""
        before = self._streams.get(spec.name)
        if before and before != spec and not _goes_on(before, spec):
            _warn_replaced("stream", spec.name)
        self._streams[spec.name] = spec

    def name_for(self, spec: StreamSpec) -> str:
        """Return the name of a stream that was given none, beginning with that of `spec`.

        It is the name of a stream from the same log into the same sinks, or of one without
        sinks that does the same; else one that is free.
        """
        numbered = re.compile(rf"{re.escape(spec.name)}(_\d+)?")
        known = (each for each in self._streams.values() if numbered.fullmatch(each.name))
        same = (each.name for each in known if _same_stream(each, spec))
        return next(same, None) or self.free_name(spec.name)

    def free_name(self, wish: str) -> str:
        """Return `wish`, or `wish_2` and so on where it is taken."""
        taken = {*self._streams, *self._relations, *self._products}
        names = (wish, *(f"{wish}_{number}" for number in range(2, len(taken) + 3)))
        return next(each for each in names if each not in taken)

    def _relation(self, name: str, data: dict[str, Any], frame: Any) -> RelationSpec:
        if frame is not None:
            self.frames[name] = frame
            data["fields"] = data["fields"] or _fields_of(frame)
        given = {key: value for key, value in data.items() if value is not None}
        reader = Reader()
        spec = read_relation(reader, Entry(name, tree_of(given)), ("relations", name))
        raise_all(tuple(reader.problems))
        before = self._relations.get(name)
        if before and before != spec:
            _warn_replaced("relation", name)
            self._products.pop(name, None)
        self._relations[name] = spec
        return spec

    def _known(self, spec: RelationSpec) -> RelationSpec:
        if self._relations.setdefault(spec.name, spec) != spec:
            message = f'there are two relations named "{spec.name}"'
            raise SpecError(message, code="SPEC_DUPLICATE_KEY")
        return spec

    def __repr__(self) -> str:
        return f"<app {self.name}: {', '.join((*self._tables, *self._streams))}>"

    def _repr_html_(self) -> str:
        """Return tables and streams as a notebook shows them."""
        parts = [f"<h3>{escape(self.name)}</h3>"]
        parts += [each._repr_html_() for each in self._tables.values()]
        parts += [each._repr_html_() for each in self.streams.values()]
        return "\n".join(parts)


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
            hint="Give one of them another name if both are meant.",
        )
    )


def _fields_of(frame: Any) -> dict[str, str]:
    """Return the columns of a DataFrame, without those that tell a change."""
    return {
        each.name: each.dataType.simpleString()
        for each in frame.schema.fields
        if not each.name.startswith("__")
    }
