"""A stream under construction: every method returns a new one, with one step more.

Each call reads its arguments as the file's reader would, so that both doors accept and
refuse the same, and lead to equal specs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from joinery.app.arguments import listed, sinks_given
from joinery.app.declarations import Declarations, Table
from joinery.app.groups import Groups, begun
from joinery.app.live import Shown, dataframe_of, show, shown_of, shown_of_files, taken
from joinery.errors import SpecError, suggesting_methods
from joinery.plan import stream as plan
from joinery.plan.build import build_plan
from joinery.plan.explain.page import StreamExplanation, explain_stream
from joinery.project.declare import given
from joinery.project.product import SinkSpec
from joinery.project.read import raise_all
from joinery.project.read_kind import read_sinks
from joinery.project.reader import Reader
from joinery.project.step import (
    AsOf,
    FilterSpec,
    Late,
    LookupSpec,
    MapSpec,
    OnChange,
    Read,
    RowFunction,
    StepSpec,
    StoreRead,
    UnionSpec,
    read_step,
)
from joinery.project.stream import StreamSpec
from joinery.project.tree import tree_of
from joinery.project.typing import (
    CacheMap,
    Columns,
    ConsoleSinkMap,
    Fields,
    FilesSinkMap,
    ForeachSinkMap,
    Format,
    Interval,
    KafkaSinkMap,
    LimitsMap,
    OnMiss,
    OpensearchSinkMap,
    PostgresSinkMap,
    RedisSinkMap,
    Sink,
    SqliteSinkMap,
    Store,
    TimeUnit,
    WatermarkMap,
)
from joinery.project.value import At, read_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.app.app import App

# From a batch's distinct keys to rows by key; a key without a row is left out.
RowsByKey = Callable[[Sequence[Any]], Mapping[Any, Mapping[str, Any]]]


@suggesting_methods
@dataclass(frozen=True, slots=True)
class Stream:
    """Events, and what happens to them in order.

    Attributes:
        declared: What its app has declared.
        origin: The log that it begins at.
        steps: What was declared so far.
        name: What `named` or `sink` called it.
        sinks: Where its events go.
        group: Streams of one group share a query.
        correction: The boolean column that tells a correction from a first event.
    """

    declared: Declarations = field(repr=False)
    origin: str
    steps: tuple[StepSpec, ...] = ()
    name: str | None = None
    sinks: tuple[SinkSpec, ...] = ()
    group: str | None = None
    correction: str | None = None

    @classmethod
    def of(cls, declared: Declarations, spec: StreamSpec) -> Stream:
        """Return the stream that a spec declares."""
        where = (spec.name, spec.sinks, spec.group, spec.correction)
        return cls(declared, spec.origin, spec.steps, *where)

    @classmethod
    def from_dataframe(
        cls,
        frame: DataFrame,
        name: str = "events",
        *,
        key: str | Sequence[str] | None = None,
        app: App | None = None,
        fields: Mapping[str, str] | None = None,
        format: Format | None = None,
        derive: Mapping[str, str] | None = None,
        position: str | None = None,
        time_unit: TimeUnit | None = None,
        where: str | None = None,
        time: str | None = None,
        watermark: WatermarkMap | None = None,
    ) -> Stream:
        """Return a stream of the rows of a DataFrame.

        Args:
            frame: A PySpark DataFrame, streaming or not.
            name: What to call them.
            key: What identifies an event.
            app: The app to add it to; one of its own where left out.
            fields: The columns and their Spark DDL types; those of `frame` where left out.
            format: As for `jn.relation`.
            derive: As for `jn.relation`.
            position: As for `jn.relation`.
            time_unit: As for `jn.relation`.
            where: Only events for which it is true.
            time: The column with an event's time.
            watermark: As for `jn.relation`.

        Raises:
            ProjectErrors: With every problem.

        Example:
            Stream.from_dataframe(spark.table("clicks"), "clicks", key="id").filter("page = '/'")
        """
        parts: dict[str, object] = {
            "fields": fields,
            "key": key,
            "format": format,
            "derive": derive,
        }
        parts |= {"position": position, "time_unit": time_unit, "where": where}
        parts |= {"time": time, "watermark": watermark}
        declared = app.declarations if app else Declarations(name)
        declared.add_log(name, parts, frame)
        return cls(declared, name)

    def lookup_join(
        self,
        table: Table | str,
        on: str | Columns,
        fields: Fields | None = None,
        *,
        read: Read | None = None,
        as_of: AsOf | None = None,
        time: str | None = None,
        late: Late | None = None,
        on_miss: OnMiss | None = None,
        on_change: OnChange | None = None,
        for_: str | None = None,
        every: str | None = None,
        where: str | None = None,
        cache: CacheMap | None = None,
        limits: LimitsMap | None = None,
        store: Store | RowsByKey | None = None,
    ) -> Stream:
        """Add columns of one row of `table` to each event.

        Args:
            table: A table of the app, or its name.
            on: Table column to event column, which cover the table's key; a list of names
                that agree; or one name, of the event's column that is compared with the
                only column of the key.
            fields: Names and expressions over the table's row; all columns where left out.
            read: Where the row is: kept as `state` (the default), in a `database`, or in
                the `event` already.
            as_of: The row of now (`processing`, the default), or the one that was valid at
                the event's time (`event`).
            time: The event's time; by default that of its log.
            late: Under `as_of="event"`: `hold` the event until its answer is final (the
                default), or send it at once and `correct` it.
            on_miss: An event without a row: `null` (the default), `drop`, `dead_letter`, or
                `wait:5m`.
            on_change: What a changed row does to events that were sent before: `keep` (the
                default), `re_emit` or `correct`.
            for_: How long an event is remembered for a changed row, such as `7d`; under
                `as_of="event"`, how far an event may be behind the table.
            every: How often corrections are sent under `on_change="correct"`; by default
                `1h`.
            where: Which events are sent again: a condition over their columns.
            cache: Which answers of the store may be used again.
            limits: How fast the store is queried at most.
            store: The store that is queried under `read="database"`, a kind with its
                options; the app's database where left out. Or a Python function from a list
                of keys to rows by key.

        Raises:
            SpecError: The app has no such table.
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("shop")
            >>> _ = app.table("users", key="id", fields={"id": "long", "name": "string"})
            >>> orders = app.stream("orders", fields={"user_id": "long"})
            >>> orders.lookup_join("users", "user_id", on_miss="wait:5m").plan.lookups[0].on_miss
            'wait'
        """
        known = self._table(table)
        asked: object = store
        if callable(store):
            asked = {"function": {"function": _importable(store) or "a:function"}}
        elif store is None and read == "database":
            asked = self.declared.database.store(known.name)
        data: dict[str, object] = {
            "lookup": known.name,
            "on": known.pairs(on),
            "fields": fields,
            "read": read,
        }
        data |= {"as_of": as_of, "time": time, "late": late, "on_miss": on_miss, "where": where}
        data |= {"on_change": on_change, "for": for_, "every": every, "cache": cache}
        step = self._read({**data, "limits": limits, "store": asked})
        if callable(store) and _importable(store) is None:
            assert isinstance(step, LookupSpec)  # as "lookup" says
            step = replace(step, store=StoreRead("function", (("function", store),)))
        return self._with(step)

    def filter(self, condition: str) -> Stream:
        """Keep the events for which `condition`, an expression of Spark SQL, is true.

        Raises:
            ProjectErrors: There is no condition.
        """
        return self._step({"filter": condition})

    def select(self, *names: str | Fields, **computed: str) -> Stream:
        """Replace all columns by `names`, and by expressions under names.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"id": "long", "price": "double"})
            >>> [each.name for each in orders.select("id", half="price / 2").plan.columns]
            ['id', 'half']
        """
        return self._step({"select": [*listed(names), *({k: v} for k, v in computed.items())]})

    def with_columns(self, columns: Mapping[str, str] | None = None, **computed: str) -> Stream:
        """Add columns, or replace those of the same name in their place.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"price": "double"})
            >>> [each.name for each in orders.with_columns(half="price / 2").plan.columns]
            ['price', 'half']
        """
        return self._step({"with_columns": {**(columns or {}), **computed}})

    def map(self, function: str | RowFunction, output: Mapping[str, str]) -> Stream:
        """Give each event to a Python function, which returns its columns, or None to drop it.

        Args:
            function: It takes a mapping and returns one; or `module:name`. One that cannot
                be imported, such as a lambda, cannot be written to a project file.
            output: The columns it returns and their Spark DDL types.
        """
        if isinstance(function, str):
            return self._step({"map": {"function": function, "output": output}})
        named = _importable(function)
        if named is not None:
            return self._step({"map": {"function": named, "output": output}})
        reader = Reader()
        columns = read_columns(At(reader, "output", '"map"'), tree_of(dict(output)))
        raise_all(tuple(reader.problems))
        return self._with(MapSpec(function, columns))

    def rolling(
        self,
        by: str | Sequence[str],
        over: str,
        values: Mapping[str, str] | None = None,
        *,
        retention: str | None = None,
        **computed: str,
    ) -> Stream:
        """Add columns over the events of the same `by`, in the time up to each event.

        An event that comes late corrects those that were sent and see it.

        Args:
            by: Columns of the event.
            over: How far back from an event's time, such as `10m`; the event itself counts.
            values: Names and expressions with aggregates, over the columns of the events.
            retention: How far below the watermark an event still counts; by
                default `7d`.
            computed: Further values.

        Raises:
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> fields = {"card": "long", "at": "timestamp"}
            >>> payments = jn.App("bank").stream("payments", fields=fields, time="at")
            >>> often = payments.rolling("card", "10m", n="count(*)").filter("n > 10")
            >>> [each.name for each in often.plan.columns]
            ['card', 'at', 'n']
        """
        data: dict[str, object] = {"by": listed([by] if isinstance(by, str) else by)}
        data |= {"over": over, "values": {**(values or {}), **computed}, "retention": retention}
        return self._step({"rolling": given(data)})

    def join(
        self,
        relation: str,
        on: str | Columns,
        within: Interval,
        fields: Fields | None = None,
        *,
        retention: str | None = None,
    ) -> Stream:
        """Make a pair of each event and each event of another log whose times are near.

        Args:
            relation: The other log.
            on: Its columns and those of the event, compared.
            within: How far the other's time may be from the event's, such as `["0s", "30m"]`.
            fields: What it adds; by default all columns that the event lacks.
            retention: How far below the watermark an event still counts; by
                default `7d`.

        Raises:
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("shop")
            >>> fields = {"visitor": "long", "at": "timestamp"}
            >>> searches = app.stream("searches", fields={**fields, "q": "string"}, time="at")
            >>> clicks = app.stream("clicks", fields={**fields, "item": "string"}, time="at")
            >>> pairs = searches.join("clicks", ["visitor"], ["0s", "30m"], ["item"])
            >>> [each.name for each in pairs.plan.columns]
            ['visitor', 'at', 'q', 'item']
        """
        data: dict[str, object] = {"join": relation, "on": [on] if isinstance(on, str) else on}
        data |= {"within": list(within), "fields": fields, "retention": retention}
        return self._step(given(data))

    def branch(self, *conditions: str) -> tuple[Stream, ...]:
        """Return a stream for each condition, and one of the events that meet none.

        An event goes to the first whose condition is true.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"amount": "double"})
            >>> dear, rest = orders.branch("amount > 100")
            >>> rest.plan.steps[0].where.sql
            'not coalesce((amount > 100), false)'
        """
        before: list[str] = []
        found: list[Stream] = []
        for condition in conditions:
            found.append(self.filter(" and ".join([*before, f"({condition})"])))
            before.append(f"not coalesce(({condition}), false)")
        return (*found, self.filter(" and ".join(before)) if before else self)

    def group_by(self, *names: str | Fields, **computed: str) -> Groups:
        """Begin groups of the events, by names of columns and expressions under names.

        Groups keep what becomes of rows: counts, sums, windows of time; see docs/aggregates.md.
        They begin at a log itself, or one with filters.

        Raises:
            SpecError: The stream has other steps.
            ProjectErrors: A name cannot be.

        Example:
            >>> import joinery as jn
            >>> views = jn.App("web").stream("views", fields={"page": "string", "ms": "long"})
            >>> slow = views.filter("ms > 50").group_by("page").aggregate(n="count(*)")
            >>> print(slow.explain())
            -- logical
            Emit views_by_page by page
              Compute n = count(*)
              Group by page
              Filter ms > 50
              Scan views [page, ms]
        """
        wheres = [each.where for each in self.steps if isinstance(each, FilterSpec)]
        if len(wheres) != len(self.steps):
            raise SpecError(
                "only the rows of a log can be grouped, and this stream has steps",
                code="PLAN_STREAM",
                detail="Only filters may come in between.",
                hint="Derive columns where the log is declared (derive=…), or group a table.",
            )
        where = wheres[0] if len(wheres) == 1 else " and ".join(f"({each})" for each in wheres)
        return begun(self.declared, self.origin, names, computed, where=where or None)

    def union(self, other: Stream) -> Stream:
        """Add the events of another stream of the same app, with the same columns."""
        part = other.spec_named(f"{other.origin}_part")
        named = other if other.name else other.named(self.declared.name_for(part))
        assert named.name is not None  # as above
        return self._with(UnionSpec(named.name))

    def named(self, name: str) -> Stream:
        """Give the stream its name in the project.

        A stream that had the name is replaced, with a warning unless it is this one.
        """
        made = replace(self, name=name)
        self.declared.add_stream(made.spec)
        return made

    def sink(
        self,
        *sinks: str | Sink,
        name: str | None = None,
        group: str | None = None,
        correction: str | None = None,
        files: FilesSinkMap | None = None,
        kafka: KafkaSinkMap | None = None,
        postgres: PostgresSinkMap | None = None,
        sqlite: SqliteSinkMap | None = None,
        opensearch: OpensearchSinkMap | None = None,
        redis: RedisSinkMap | None = None,
        foreach: ForeachSinkMap | None = None,
        console: ConsoleSinkMap | None = None,
        **plugins: Mapping[str, object],
    ) -> Stream:
        """Send the events on, and give the stream its place in the app.

        Args:
            *sinks: The name of a sink, `"database"` being the app's; or a kind with its
                options, as a map.
            name: The stream's name; `enriched_<log>` where left out. A stream of the log
                that has it already is replaced where both have the same sinks, as when the
                cell of a notebook runs again; else this one is `enriched_<log>_2`.
            group: Streams of one group share a query.
            correction: A boolean column that tells a correction from a first event.
            files: Files of JSON lines in a folder.
            kafka: A topic of a Kafka cluster.
            postgres: A table of PostgreSQL.
            sqlite: A table in a file of SQLite.
            opensearch: An index of OpenSearch.
            redis: Keys of Redis.
            foreach: A function of yours, called with each batch.
            console: The terminal.
            **plugins: A kind that a package adds, with its options.

        Raises:
            SpecError: No sink is given.
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"id": "long"})
            >>> orders.sink(files={"path": "out"}, name="copied")
            <stream copied: 0 steps>
        """
        kinds: dict[str, object] = {"files": files, "kafka": kafka, "postgres": postgres}
        kinds |= {"sqlite": sqlite, "opensearch": opensearch, "redis": redis}
        kinds |= {"foreach": foreach, "console": console, **plugins}
        found = sinks_given(sinks, kinds, needing="the stream needs")
        reader = Reader()
        read = read_sinks(reader, tree_of(found), "the stream", ("sink",))
        raise_all(tuple(reader.problems))
        made = replace(self, sinks=read, group=group, correction=correction)
        given_name = name or self.name
        return made.named(
            given_name or self.declared.name_for(made.spec_named(f"enriched_{self.origin}"))
        )

    @property
    def spec(self) -> StreamSpec:
        """What is declared so far."""
        return self.spec_named(self.name or self.declared.free_name(f"{self.origin}_events"))

    def spec_named(self, name: str) -> StreamSpec:
        """Return what is declared so far, under a name."""
        return StreamSpec(name, self.origin, self.steps, self.sinks, self.group, self.correction)

    @property
    def plan(self) -> plan.Stream:
        """The stream's plan.

        Raises:
            ProjectErrors: With every problem of the app.
        """
        mine = self.spec
        found = build_plan(self.declared.spec(mine)).streams
        return next(each for each in found if each.name == mine.name)

    def explain(self, *, why: bool = False) -> StreamExplanation:
        """Return the plan as text, `.to_mermaid()` and `.to_html()`.

        Args:
            why: With how each lookup runs, and why so.
        """
        return explain_stream(self.plan, why=why)

    def preview(self, rows: int = 20, *, spark: SparkSession | None = None) -> Shown:
        """Return the first events, and how many wait or were filtered out; nothing is kept.

        The beginning of the logs is read, up to 10,000 records. Over change files no session
        is needed.

        Args:
            rows: The most events.
            spark: The session in which they are computed; where none is given, one is opened
                if the logs need it.
        """
        made, frames, spec = self.plan, self.declared.frames, self.declared.spec()
        given = any(each.name in frames for each in made.relations)
        if spark is None and not given:
            shown = shown_of_files(spec, made, rows)
            if shown is not None:
                return shown
        session = spark or self.declared.session()
        if given:
            return taken(spec, made, session, rows, frames)
        return shown_of(spec, made, session, rows)

    def show(self, seconds: float | None = None, *, spark: SparkSession | None = None) -> None:
        """Print the events as they come, until interrupted, or for `seconds`."""
        show(self.declared.spec(), self.plan, spark or self.declared.session(), seconds)

    def to_dataframe(self, *, spark: SparkSession | None = None) -> DataFrame:
        """Return the events as a PySpark DataFrame of the stream's columns.

        It is a batch where the relations were declared with frames that are, else a stream,
        which is written in output mode `update`.

        Args:
            spark: The session; one is opened where none is given or active.

        Raises:
            RunError: A step needs whole batches: a lookup in a store, or a function.
        """
        session = spark or self.declared.session()
        return dataframe_of(self.declared.spec(), self.plan, session, self.declared.frames)

    def _table(self, table: Table | str) -> Table:
        name = table if isinstance(table, str) else table.name
        known = self.declared.tables
        if name not in known:
            raise SpecError(
                f'the app has no table "{name}"',
                code="PLAN_UNKNOWN_RELATION",
                detail=f"Known are {', '.join(known)}." if known else "None are declared.",
                hint=f'Write app.table("{name}", key=…, fields=…) first.',
            )
        return known[name]

    def _step(self, data: Mapping[str, Any]) -> Stream:
        return self._with(self._read(data))

    def _read(self, data: Mapping[str, Any]) -> StepSpec:
        reader = Reader()
        what = f'step {len(self.steps) + 1} of stream "{self.name or self.origin}"'
        step = read_step(reader, tree_of(given(data)), what, ("steps", len(self.steps)))
        raise_all(tuple(reader.problems))
        assert step is not None  # what is none is a problem
        return step

    def _with(self, step: StepSpec) -> Stream:
        return replace(self, steps=(*self.steps, step), name=None, sinks=())

    def __repr__(self) -> str:
        count = len(self.steps)
        return f"<stream {self.name or self.origin}: {count} step{'' if count == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """Return the picture and the text, as a notebook shows them."""
        return self.explain()._repr_html_()


def _importable(function: Callable[..., Any]) -> str | None:
    """Return `module:name` of a function that others can import, else None."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "<lambda>")
    return None if module in (None, "__main__") or "<" in name else f"{module}:{name}"
