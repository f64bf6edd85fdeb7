"""A stream under construction: every method returns a new one, with one step more.

Each call reads its arguments as the file's reader would, so that both doors accept and
refuse the same, and lead to equal specs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from joinery.app.live import Shown, dataframe_of, show, shown_of, shown_of_files, taken
from joinery.app.table import Table
from joinery.errors import SpecError
from joinery.plan import stream as plan
from joinery.plan.build import build_plan
from joinery.plan.explain.page import StreamExplanation, explain_stream
from joinery.project.product import SinkSpec
from joinery.project.read import raise_all
from joinery.project.read_sink import read_sinks
from joinery.project.read_stream import read_output, read_step
from joinery.project.reader import Reader
from joinery.project.stream import (
    LookupSpec,
    MapSpec,
    RowFunction,
    StepSpec,
    StoreRead,
    StreamSpec,
    UnionSpec,
)
from joinery.project.tree import tree_of

if TYPE_CHECKING:
    from joinery.app.app import App

Fields = Sequence[str | Mapping[str, str]] | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stream:
    """Events, and what happens to them in order.

    Attributes:
        app: The app that it is of.
        origin: The log that it begins at.
        steps: What was declared so far.
        name: What `named` or `sink` called it.
        sinks: Where its events go.
    """

    app: App = field(repr=False)
    origin: str
    steps: tuple[StepSpec, ...] = ()
    name: str | None = None
    sinks: tuple[SinkSpec, ...] = ()
    group: str | None = None
    correction: str | None = None

    @classmethod
    def of(cls, app: App, spec: StreamSpec) -> Stream:
        """Return the stream that a spec declares."""
        return cls(app, spec.origin, spec.steps, spec.name, spec.sinks, spec.group, spec.correction)

    @classmethod
    def from_dataframe(
        cls,
        frame: Any,
        name: str = "events",
        *,
        key: str | Sequence[str] | None = None,
        app: App | None = None,
        **parts: Any,
    ) -> Stream:
        """Return a stream of the rows of a DataFrame.

        Args:
            frame: A PySpark DataFrame, streaming or not.
            name: What to call them.
            key: What identifies an event.
            app: The app to add it to; one of its own where left out.
            **parts: Such as `time`, as in a project file.
        """
        if app is None:
            from joinery.app.app import App  # an app makes streams, so it comes first

            app = App(name)
        return app.stream(name, key=key, frame=frame, **parts)

    def lookup_join(
        self,
        table: Table | str,
        on: str | Sequence[str] | Mapping[str, str],
        fields: Fields | None = None,
        **switches: Any,
    ) -> Stream:
        """Add columns of one row of `table` to each event.

        Args:
            table: A table of the app, or its name.
            on: Table column to event column, which cover the table's key; a list of names
                that agree; or one name, of the event's column that is compared with the
                only column of the key.
            fields: Names and expressions over the table's row; all columns where left out.
            **switches: `read`, `as_of`, `on_miss`, `on_change`, `for_`, `every`, `where`,
                `late`, `time`, `cache`, `limits` and `store`, as in docs/streams.md. With
                `read="database"` the store is the app's database where left out, and may be
                a Python function from a list of keys to rows by key.

        Raises:
            ProjectErrors: With every problem.
        """
        known = self._table(table)
        given = {name.rstrip("_"): value for name, value in switches.items() if value is not None}
        asked = given.get("store")
        if callable(asked):
            given["store"] = {"function": {"function": _importable(asked) or "a:function"}}
        elif given.get("read") == "database":
            given.setdefault("store", self.app.database.store(known.name))
        data = {"lookup": known.name, "on": known.pairs(on), **_given(fields=fields), **given}
        step = self._read(data)
        if callable(asked) and _importable(asked) is None and isinstance(step, LookupSpec):
            step = replace(step, store=StoreRead("function", (("function", asked),)))
        return self._with(step)

    def filter(self, condition: str) -> Stream:
        """Keep the events for which `condition` is true."""
        return self._step({"filter": condition})

    def select(self, *names: str | Fields, **computed: str) -> Stream:
        """Replace all columns by `names`, and by expressions under names.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"id": "long", "price": "double"})
            >>> [each.name for each in orders.select("id", half="price / 2").plan.columns]
            ['id', 'half']
        """
        return self._step({"select": [*_listed(names), *({k: v} for k, v in computed.items())]})

    def with_columns(self, columns: Mapping[str, str] | None = None, **computed: str) -> Stream:
        """Add columns, or replace those of the same name in their place."""
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
        columns = read_output(reader, tree_of(dict(output)), '"map"')
        raise_all(tuple(reader.problems))
        return self._with(MapSpec(function, columns))

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

    def union(self, other: Stream) -> Stream:
        """Add the events of another stream of the same app, with the same columns."""
        part = other.spec_named(f"{other.origin}_part")
        named = other if other.name else other.named(self.app.name_for(part))
        assert named.name is not None  # as above
        return self._with(UnionSpec(named.name))

    def named(self, name: str) -> Stream:
        """Give the stream its name in the project.

        A stream that had the name is replaced, with a warning unless it is this one.
        """
        made = replace(self, name=name)
        self.app.known_stream(made.spec)
        return made

    def sink(
        self,
        *sinks: str | Mapping[str, Any],
        name: str | None = None,
        group: str | None = None,
        correction: str | None = None,
        **kinds: Any,
    ) -> Stream:
        """Send the events on, and give the stream its place in the app.

        Args:
            *sinks: A kind with its options, or the name of a sink; `"database"` is the
                app's.
            name: The stream's name; `enriched_<log>` where left out. A stream of the log
                that has it already is replaced where both have the same sinks, as when the
                cell of a notebook runs again; else this one is `enriched_<log>_2`.
            group: Streams of one group share a query.
            correction: A boolean column that tells a correction from a first event.
            **kinds: A kind and its options, such as `files={"path": "out"}`.

        Raises:
            SpecError: No sink is given.
            ProjectErrors: With every problem.
        """
        given = [*sinks, *({kind: options} for kind, options in kinds.items())]
        if not given:
            hint = 'Write one such as files={"path": "out"}.'
            raise SpecError("the stream needs a sink", code="SPEC_MISSING_KEY", hint=hint)
        reader = Reader()
        read = read_sinks(reader, tree_of(given), "the stream", ("sink",))
        raise_all(tuple(reader.problems))
        made = replace(self, sinks=read, group=group, correction=correction)
        given_name = name or self.name
        return made.named(
            given_name or self.app.name_for(made.spec_named(f"enriched_{self.origin}"))
        )

    @property
    def spec(self) -> StreamSpec:
        """What is declared so far."""
        return self.spec_named(self.name or self.app.free_name(f"{self.origin}_events"))

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
        others = [each.spec for each in self.app.streams.values() if each.name != mine.name]
        found = build_plan(self.app.spec_of([*others, mine])).streams
        return next(each for each in found if each.name == mine.name)

    def explain(self, *, why: bool = False) -> StreamExplanation:
        """Return the plan as text, `.to_mermaid()` and `.to_html()`.

        Args:
            why: With how each lookup runs, and why so.
        """
        return explain_stream(self.plan, why=why)

    def preview(self, rows: int = 20, *, spark: Any = None) -> Shown:
        """Return the first events, and how many wait or were filtered out; nothing is kept.

        The beginning of the logs is read, up to 10,000 records. Over change files no session
        is needed.

        Args:
            rows: The most events.
            spark: The session in which they are computed; where none is given, one is opened
                if the logs need it.
        """
        made, frames = self.plan, self.app.frames
        given = any(each.name in frames for each in made.relations)
        if spark is None and not given:
            shown = shown_of_files(self.app.spec, made, rows)
            if shown is not None:
                return shown
        session = spark or self.app.session()
        if given:
            return taken(self.app.spec, made, session, rows, frames)
        return shown_of(self.app.spec, made, session, rows)

    def show(self, seconds: float | None = None, *, spark: Any = None) -> None:
        """Print the events as they come, until interrupted, or for `seconds`."""
        show(self.app.spec, self.plan, spark or self.app.session(), seconds)

    def to_dataframe(self, *, spark: Any = None) -> Any:
        """Return the events as a PySpark DataFrame of the stream's columns.

        It is a batch where the relations were declared with frames that are, else a stream,
        which is written in output mode `update`.

        Args:
            spark: The session; one is opened where none is given or active.

        Raises:
            RunError: A step needs whole batches: a lookup in a store, or a function.
        """
        session = spark or self.app.session()
        return dataframe_of(self.app.spec, self.plan, session, self.app.frames)

    def _table(self, table: Table | str) -> Table:
        name = table if isinstance(table, str) else table.name
        known = self.app.tables
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
        step = read_step(reader, tree_of(data), what, ("steps", len(self.steps)))
        raise_all(tuple(reader.problems))
        assert step is not None  # what is none is a problem
        return step

    def _with(self, step: StepSpec) -> Stream:
        return replace(self, steps=(*self.steps, step), name=None, sinks=())

    def __repr__(self) -> str:
        return f"<stream {self.name or self.origin}: {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        """Return the picture and the text, as a notebook shows them."""
        return self.explain()._repr_html_()


def _given(**parts: Any) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}


def _listed(names: Iterable[str | Fields]) -> list[str | Mapping[str, str]]:
    """Return names and maps as one list, given as arguments, lists or maps."""
    found: list[str | Mapping[str, str]] = []
    for each in names:
        if isinstance(each, str | Mapping):
            found.append(each)
        else:
            found += each
    return found


def _importable(function: Callable[..., Any]) -> str | None:
    """Return `module:name` of a function that others can import, else None."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "<lambda>")
    return None if module in (None, "__main__") or "<" in name else f"{module}:{name}"
