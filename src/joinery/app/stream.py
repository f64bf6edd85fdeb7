"""A stream: its steps, where its events go, and how to look at it before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from joinery.app.arguments import sinks_given
from joinery.app.declarations import Declarations
from joinery.app.groups import Groups, begun
from joinery.app.live import (
    Shown,
    dataframe_of,
    show,
    show_taken,
    shown_of,
    shown_of_files,
    taken,
)
from joinery.app.picture import picture_of
from joinery.app.steps import Steps
from joinery.errors import SpecError, suggesting_methods
from joinery.plan import stream as plan
from joinery.plan.build import build_plan
from joinery.plan.explain.page import StreamExplanation, explain_stream
from joinery.project.argument import caller
from joinery.project.kind import read_sinks
from joinery.project.read import raise_all
from joinery.project.reader import Reader
from joinery.project.step import FilterSpec, UnionSpec
from joinery.project.stream import StreamSpec
from joinery.project.tree import tree_of
from joinery.project.typing import (
    ClocksMap,
    Fields,
    Format,
    Sink,
    SinkMap,
    TimeUnit,
    WatermarkMap,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from joinery.app.app import App


@suggesting_methods
@dataclass(frozen=True, slots=True)
class Stream(Steps):
    """Events, what happens to them in order, and where they go; each method returns a new one."""

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
        time: str | ClocksMap | None = None,
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
        """Add the events of another stream of the same app, with the same columns.

        Raises:
            SpecError: The other is not a stream, or one of another app.
        """
        self._check_mine(other)
        part = other.spec_named(f"{other.origin}_part")
        named = other if other.name else other.named(self.declared.name_for(part))
        assert named.name is not None  # as above
        return self._with(UnionSpec(named.name))

    def _check_mine(self, other: object) -> None:
        if not isinstance(other, Stream):
            message = f"an object of type {type(other).__name__} is not a stream"
            raise SpecError(message, code="SPEC_SHAPE", hint='Pass one such as app.stream("log").')
        if other.declared is not self.declared:
            raise SpecError(
                f"{other!r} is of another app, {other.declared.name}", code="PLAN_UNKNOWN_STREAM"
            )

    def named(self, name: str) -> Stream:
        """Give the stream its name in the project.

        A stream that had the name is replaced, with a warning unless it is this one.
        """
        made = replace(self, name=name)
        self.declared.add_stream(replace(made.spec, declared_at=caller()))
        return made

    def sink(
        self,
        *sinks: str | Sink,
        name: str | None = None,
        group: str | None = None,
        correction: str | None = None,
        **kinds: Unpack[SinkMap],
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
            **kinds: Sinks by their kind, such as `files={"path": "out"}`; that of a package as a
                map, `{"its_kind": {}}`.

        Raises:
            SpecError: No sink is given, or one of a name that the app does not have.
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"id": "long"})
            >>> orders.sink(files={"path": "out"}, name="copied")
            <stream copied: 0 steps>
        """
        found = sinks_given(sinks, kinds, needing="the stream needs")
        self.declared.check_sinks(found)
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
        """Print the events as they come, until interrupted, or for `seconds`.

        Those of batch DataFrames are printed at once.
        """
        made, frames, spec = self.plan, self.declared.frames, self.declared.spec()
        session = spark or self.declared.session()
        if any(each.name in frames for each in made.relations):
            show_taken(spec, made, session, seconds, frames)
        else:
            show(spec, made, session, seconds)

    def to_dataframe(self, *, spark: SparkSession | None = None) -> DataFrame:
        """Return the events as a PySpark DataFrame of the stream's columns.

        It is a batch where the relations were declared with frames that are, else a stream,
        which is written in output mode `update`.

        Args:
            spark: The session; one is opened where none is given or active.

        Raises:
            RunError: A step needs whole batches: a lookup in a store, or a function; or frames
                cannot be combined.
        """
        session = spark or self.declared.session()
        return dataframe_of(self.declared.spec(), self.plan, session, self.declared.frames)

    def __repr__(self) -> str:
        count = len(self.steps)
        return f"<stream {self.name or self.origin}: {count} step{'' if count == 1 else 's'}>"

    def _repr_html_(self) -> str:
        """Return the picture and the text, or what is wrong, as a notebook shows them."""
        return picture_of(self.explain)
