"""An app: what a project file declares, built from Python by short calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.app.declarations import Declarations, Table
from joinery.app.groups import Groups, begun
from joinery.app.project import ByName, Project, unknown_name
from joinery.app.run import run
from joinery.app.stream import Stream
from joinery.errors import SpecError, suggesting_methods
from joinery.model.batch import BatchProgress
from joinery.model.warning import RunWarning
from joinery.project.argument import RelationLike, declared_by, relation_name
from joinery.project.declare_embed import Document
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.typing import (
    ClocksMap,
    Fields,
    Format,
    Images,
    PersonalMap,
    RunMap,
    Sink,
    Source,
    TimeUnit,
    VaultMap,
    WatermarkMap,
    WindowMap,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.spark.batch.run import Run


@suggesting_methods
class App:
    """Tables and streams under one name, with a source and a database set up at once.

    Args:
        name: The project's name.
        source: Where changes and events come from: `kafka://host:9092`, a folder, or a
            kind with its options; the folder `data` where left out.
        database: A URL of PostgreSQL, or a file of SQLite; `<name>.db` where left out.
        format: What a message looks like; `json` where left out.
        folder: Where relative paths begin.
        sources: Further sources by name, as in a project file, for tables and streams that name
            one: `source="…"`.
        sinks: Named sinks, as in a project file.
        windows: Named windows, as in a project file.
        vault: Where the keys of personal columns are, as in a project file.
        run: How it runs, as in a project file.

    Raises:
        SpecError: The source or the database is of a kind that it cannot be.

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
        source: str | Path | Source | None = None,
        database: str | Path | None = None,
        format: Format | None = None,
        folder: str | Path = ".",
        sources: Mapping[str, Source] | None = None,
        sinks: Mapping[str, Sink] | None = None,
        windows: Mapping[str, WindowMap] | None = None,
        vault: VaultMap | None = None,
        run: RunMap | None = None,
    ) -> None:
        self.name = name
        self.declarations = Declarations(
            name,
            source=source,
            database=database,
            format=format,
            folder=folder,
            sources=sources,
            sinks=sinks,
            windows=windows,
            vault=vault,
            run=run,
        )

    def table(
        self,
        name: str,
        *,
        key: str | Sequence[str],
        fields: Mapping[str, str] | None = None,
        database: bool = False,
        frame: DataFrame | None = None,
        topic: str | None = None,
        source: str | None = None,
        format: Format | None = None,
        derive: Mapping[str, str] | None = None,
        position: str | None = None,
        time_unit: TimeUnit | None = None,
        images: Images | None = None,
        unique: Sequence[Sequence[str]] | None = None,
        where: str | None = None,
        time: str | ClocksMap | None = None,
        watermark: WatermarkMap | None = None,
        personal: PersonalMap | None = None,
    ) -> Table:
        """Declare a table, kept current from its topic.

        Args:
            name: Its name, and its topic unless `topic` says otherwise.
            key: The primary key's columns.
            fields: The columns and their Spark DDL types; those of `frame` where left out.
            database: Also keep it in the app's database, in a table of its name.
            frame: A DataFrame of its changes, where it comes from no source.
            topic: As for `jn.relation`.
            source: As for `jn.relation`.
            format: As for `jn.relation`.
            derive: As for `jn.relation`.
            position: As for `jn.relation`.
            time_unit: As for `jn.relation`.
            images: As for `jn.relation`.
            unique: As for `jn.relation`.
            where: As for `jn.relation`.
            time: The column with the time from which a row is valid.
            watermark: As for `jn.relation`.
            personal: As for `jn.relation`.

        Raises:
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> jn.App("shop").table("prices", key="sku", fields={"sku": "string"})
            <table prices by sku: sku: string>
        """
        parts: dict[str, object] = {
            "key": key,
            "fields": fields,
            "topic": topic,
            "source": source,
            "format": format,
        }
        parts |= {"derive": derive, "position": position, "time_unit": time_unit, "time": time}
        parts |= {"images": images, "unique": unique, "where": where, "watermark": watermark}
        parts["personal"] = personal
        return self.declarations.add_table(name, parts, frame, database=database)

    def stream(
        self,
        name: str,
        *,
        fields: Mapping[str, str] | None = None,
        key: str | Sequence[str] | None = None,
        frame: DataFrame | None = None,
        topic: str | None = None,
        source: str | None = None,
        format: Format | None = None,
        derive: Mapping[str, str] | None = None,
        position: str | None = None,
        time_unit: TimeUnit | None = None,
        where: str | None = None,
        time: str | ClocksMap | None = None,
        watermark: WatermarkMap | None = None,
        personal: PersonalMap | None = None,
    ) -> Stream:
        """Declare a log of events, and return the stream that begins there.

        Args:
            name: The log's name, and its topic unless `topic` says otherwise. Alone, it
                means the log that was declared under it.
            fields: The columns and their Spark DDL types; those of `frame` where left out.
            key: What identifies an event; its place in the log where left out.
            frame: A DataFrame of events, where they come from no source.
            topic: As for `jn.relation`.
            source: As for `jn.relation`.
            format: As for `jn.relation`.
            derive: As for `jn.relation`.
            position: As for `jn.relation`.
            time_unit: As for `jn.relation`.
            where: Only events for which it is true.
            time: The column with an event's time.
            watermark: As for `jn.relation`.
            personal: As for `jn.relation`.

        Raises:
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> jn.App("shop").stream("orders", fields={"id": "long"}, time="id")
            <stream orders: 0 steps>
        """
        parts: dict[str, object] = {
            "fields": fields,
            "key": key,
            "topic": topic,
            "source": source,
            "format": format,
        }
        parts |= {"derive": derive, "position": position, "time_unit": time_unit, "where": where}
        parts |= {"time": time, "watermark": watermark, "personal": personal}
        self.declarations.add_log(name, parts, frame)
        return Stream(self.declarations, name)

    def group_by(self, relation: RelationLike, *names: str | Fields, **computed: str) -> Groups:
        """Begin groups of the rows of a table, or of a product that was added.

        Args:
            relation: The table, the relation or the product, or its name. A product is read by
                products of its own `group`: name the groups with it.
            *names: Columns that rows are grouped by.
            **computed: Expressions over columns, by name.

        Raises:
            ProjectErrors: A name cannot be.
            SpecError: It is not a relation, or another relation has its name.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("shop")
            >>> orders = app.table("orders", key="id", fields={"id": "long", "shop": "string"})
            >>> app.group_by(orders, "shop").aggregate(n="count(*)").named("shops")
            <groups shops of orders>
        """
        group = None
        if not isinstance(relation, str):
            spec = declared_by(relation)
            if isinstance(spec, ProductSpec):
                group = spec.group
            else:
                self.declarations.add_relations((spec,))
        return begun(self.declarations, relation_name(relation), names, computed, group=group)

    def add(self, *documents: Document) -> None:
        """Add products, as `jn.document` makes them, with their relations.

        Raises:
            SpecError: Another relation has the name of one of theirs, or one is not a product.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("shop")
            >>> orders = app.table("orders", key="id", fields={"id": "long", "user": "long"})
            >>> users = app.table("users", key="id", fields={"id": "long"})
            >>> app.add(jn.document("user", users).embed_many("orders", orders, on={"user": "id"}))
            >>> list(app.project.products)
            ['user']
        """
        for each in documents:
            self.declarations.add_product(_product(each))

    def drop(self, *names: str) -> None:
        """Forget the tables, streams and products of some names, such as those of a wrong cell.

        What is in sinks, and in the checkpoint, stays.

        Raises:
            UnknownNameError: Nothing has a name.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("shop")
            >>> _ = app.stream("orders", fields={"id": "long"}).filter("x > 1").sink(console={})
            >>> app.drop("enriched_orders")
            >>> list(app.streams)
            []
        """
        for each in names:
            if not self.declarations.drop(each):
                known = (*self.declarations.tables, *self.declarations.streams)
                known += tuple(product.name for product in self.spec.products)
                raise unknown_name("table, stream or product", each, dict.fromkeys(known))

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name; asking for one that is not there tells which are."""
        return ByName("table", self.declarations.tables)

    @property
    def streams(self) -> Mapping[str, Stream]:
        """The streams that have a name, as `sink` and `named` give it; else as `tables`."""
        known = self.declarations.streams
        found = {name: Stream.of(self.declarations, spec) for name, spec in known.items()}
        return ByName("stream", found)

    @property
    def spec(self) -> ProjectSpec:
        """What is declared so far."""
        return self.declarations.spec()

    @property
    def project(self) -> Project:
        """The project that is declared so far."""
        return Project.of(self.spec, framed=tuple(self.declarations.frames))

    def to_yaml(self) -> str:
        """Return the app as the text of a project file.

        Raises:
            SpecError: A step calls a function that a file cannot name.
        """
        return self.project.to_yaml()

    def explain(self) -> str:
        """Return the plans of all products and streams as text."""
        project = self.project
        plans = [str(each.explain()) for each in project.products.values()]
        plans += [str(each.explain()) for each in project.streams.values()]
        return "\n\n".join(plans)

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        solution: str | None = None,
        once: bool = False,
        until_closed: bool = False,
        products: str | Sequence[str] = (),
        rebuild: bool = False,
        on_batch: Callable[[BatchProgress], None] = lambda batch: None,
        on_warning: Callable[[RunWarning], None] = lambda warning: None,
    ) -> Run:
        """Run everything; return the run, with `await_termination()`, `progress`, `stop()`.

        Args:
            spark: The session; one is opened where none is given.
            solution: As for `jn.run`.
            once: As for `jn.run`.
            until_closed: As for `jn.run`.
            products: As for `jn.run`.
            rebuild: As for `jn.run`.
            on_batch: As for `jn.run`.
            on_warning: As for `jn.run`.

        Raises:
            SelectionError: There is no product, and no stream ends with `.sink(…)`.
            FrameError: What runs reads a relation that was declared with a DataFrame.
            JoineryError: The app cannot run, or another run holds its checkpoint.
        """
        from joinery.spark.batch.setup import check_runnable

        project = self.project
        check_runnable(project.spec)
        return run(
            spark or self.session(),
            project,
            solution=solution,
            once=once,
            until_closed=until_closed,
            products=products,
            rebuild=rebuild,
            on_batch=on_batch,
            on_warning=on_warning,
        )

    def session(self) -> SparkSession:
        """Return the active Spark session, or open one that suits the app."""
        return self.declarations.session()

    def __repr__(self) -> str:
        names = (*self.declarations.tables, *self.declarations.streams)
        return f"<app {self.name}: {', '.join(names)}>"

    def _repr_html_(self) -> str:
        """Return tables and streams as a notebook shows them."""
        parts = [f"<h3>{escape(self.name)}</h3>"]
        parts += [each._repr_html_() for each in self.tables.values()]
        parts += [each._repr_html_() for each in self.streams.values()]
        return "\n".join(parts)


def _product(given: object) -> Document:
    """Return what was given as a product, which it has to be."""
    if isinstance(given, Document):
        return given
    raise SpecError(
        f"an object of type {type(given).__name__} cannot be added as a product",
        code="SPEC_SHAPE",
        hint="Pass what jn.document, jn.aggregate and their like make.",
    )
