"""The steps of a stream under construction: every method returns the stream with one step more.

Each call reads its arguments as the file's reader would, so that both doors accept and
refuse the same, and lead to equal specs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from joinery.app.arguments import listed
from joinery.app.declarations import Declarations, Table
from joinery.errors import SpecError, suggesting_methods
from joinery.project.argument import caller, given, map_given
from joinery.project.function import FunctionError, importable, shown_name, why_silent
from joinery.project.kind import SinkSpec
from joinery.project.read import raise_all
from joinery.project.reader import Reader
from joinery.project.step import (
    AsOf,
    Late,
    LookupSpec,
    MapSpec,
    OnChange,
    Read,
    RowFunction,
    StepSpec,
    StoreRead,
    read_step,
)
from joinery.project.tree import tree_of
from joinery.project.typing import CacheMap, Columns, Fields, Interval, LimitsMap, OnMiss, Store
from joinery.project.value import At, read_columns

# From a batch's distinct keys to rows by key; a key without a row is left out.
RowsByKey = Callable[[Sequence[Any]], Mapping[Any, Mapping[str, Any]]]


@suggesting_methods
@dataclass(frozen=True, slots=True)
class Steps:
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
    ) -> Self:
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
            asked = {"function": {"function": importable(store) or "a:function"}}
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
        if callable(store) and importable(store) is None:
            assert isinstance(step, LookupSpec)  # as "lookup" says
            step = replace(step, store=StoreRead("function", (("function", store),)))
        return self._with(step)

    def filter(self, condition: str) -> Self:
        """Keep the events for which `condition`, an expression of Spark SQL, is true.

        Raises:
            ProjectErrors: There is no condition.
        """
        return self._step({"filter": condition})

    def select(self, *names: str | Fields, **computed: str) -> Self:
        """Replace all columns by `names`, and by expressions under names.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"id": "long", "price": "double"})
            >>> [each.name for each in orders.select("id", half="price / 2").plan.columns]
            ['id', 'half']
        """
        return self._step({"select": [*listed(names), *({k: v} for k, v in computed.items())]})

    def with_columns(self, columns: Mapping[str, str] | None = None, **computed: str) -> Self:
        """Add columns, or replace those of the same name in their place.

        Example:
            >>> import joinery as jn
            >>> orders = jn.App("a").stream("orders", fields={"price": "double"})
            >>> [each.name for each in orders.with_columns(half="price / 2").plan.columns]
            ['price', 'half']
        """
        return self._step({"with_columns": {**map_given(columns, "columns"), **computed}})

    def map(self, function: str | RowFunction, output: Mapping[str, str]) -> Self:
        """Give each event to a Python function, which returns its columns, or None to drop it.

        Args:
            function: It takes a mapping and returns one; or `module:name`. One that cannot
                be imported, such as a lambda, cannot be written to a project file.
            output: The columns it returns and their Spark DDL types.
        """
        if isinstance(function, str):
            return self._step({"map": {"function": function, "output": output}})
        named = importable(_function(function))
        if named is not None:
            return self._step({"map": {"function": named, "output": output}})
        reader = Reader()
        columns = read_columns(At(reader, "output", '"map"'), tree_of(map_given(output, "output")))
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
    ) -> Self:
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
        data: dict[str, object] = {"by": listed([by])}
        data |= {
            "over": over,
            "values": {**map_given(values, "values"), **computed},
            "retention": retention,
        }
        return self._step({"rolling": given(data)})

    def join(
        self,
        relation: str | Steps,
        on: str | Columns,
        within: Interval,
        fields: Fields | None = None,
        *,
        retention: str | None = None,
    ) -> Self:
        """Make a pair of each event and each event of another log whose times are near.

        Args:
            relation: The other log: its name, or the stream that begins there, without steps.
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
        data: dict[str, object] = {"join": _log(relation)}
        data["on"] = [on] if isinstance(on, str) else on
        data |= {"within": within, "fields": fields, "retention": retention}
        return self._step(given(data))

    def branch(self, *conditions: str) -> tuple[Self, ...]:
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
        found: list[Self] = []
        for condition in conditions:
            found.append(self.filter(" and ".join([*before, f"({condition})"])))
            before.append(f"not coalesce(({condition}), false)")
        return (*found, self.filter(" and ".join(before)) if before else self)

    def _table(self, table: Table | str) -> Table:
        # By name: a user may pass any object, which is then told to be no table.
        name = table if isinstance(table, str) else getattr(table, "name", table)
        if not isinstance(name, str):
            message = f"an object of type {type(table).__name__} is not a table"
            hint = "Write app.table(NAME, key=…, fields=…) first."
            raise SpecError(message, code="SPEC_SHAPE", hint=hint)
        known = self.declared.tables
        if name not in known:
            raise SpecError(
                f'the app has no table "{name}"',
                code="PLAN_UNKNOWN_RELATION",
                detail=f"Known: {', '.join(known)}." if known else "None are declared.",
                hint=f'Write app.table("{name}", key=…, fields=…) first.',
            )
        return known[name]

    def _step(self, data: Mapping[str, Any]) -> Self:
        return self._with(self._read(data))

    def _read(self, data: Mapping[str, Any]) -> StepSpec:
        reader = Reader()
        what = f'step {len(self.steps) + 1} of stream "{self.name or self.origin}"'
        step = read_step(reader, tree_of(given(data)), what, ("steps", len(self.steps)))
        raise_all(tuple(reader.problems))
        assert step is not None  # what is none is a problem
        return step

    def _with(self, step: StepSpec) -> Self:
        made = replace(step, declared_at=caller())
        return replace(self, steps=(*self.steps, made), name=None, sinks=())


def _function(given: object) -> Callable[..., Any]:
    """Return what was given as a function of an event, which it has to be."""
    if not callable(given):
        message = f"map needs a function, not an object of type {type(given).__name__}"
        raise SpecError(message, code="SPEC_SHAPE")
    if why := why_silent(given):
        hint = "It takes an event, and returns its columns or None."
        raise FunctionError(f'function "{shown_name(given)}" {why}', hint=hint)
    return given


def _log(relation: object) -> str:
    """Return the name of a log, which a stream without steps stands for."""
    if isinstance(relation, str):
        return relation
    if isinstance(relation, Steps) and not relation.steps:
        return relation.origin
    raise SpecError(
        f"{relation!r} is not a log: it has steps"
        if isinstance(relation, Steps)
        else f"an object of type {type(relation).__name__} is not a log",
        code="SPEC_SHAPE",
        hint="Pass the log itself, and put the steps after the join.",
    )
