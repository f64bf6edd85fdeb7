"""Groups under construction: what is kept of the rows of a log, a table or a product.

Each call reads its arguments as the file's reader would, so that both doors accept and
refuse the same, and lead to equal specs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Unpack, cast

from joinery.app.arguments import listed, sinks_given
from joinery.app.declarations import Declarations
from joinery.app.picture import picture_of
from joinery.errors import SpecError, suggesting_methods
from joinery.plan.build import build_plan
from joinery.plan.explain.page import Explanation, explain
from joinery.plan.product import Product as PlannedProduct
from joinery.project.argument import given, map_given
from joinery.project.declare_embed import Document
from joinery.project.declare_form import aggregate
from joinery.project.product import ProductSpec
from joinery.project.typing import (
    EmitMap,
    Fields,
    Sink,
    SinkMap,
    WindowMap,
)


@suggesting_methods
@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in groups, and what is kept of each; every method returns a new one.

    Attributes:
        declared: What its app has declared.
        relation: The log, the table or the product whose rows are put into groups.
        by: What they are grouped by.
        where: Only rows for which it is true are in a group.
        in_window: A window, or the name of one of the project.
        values: What a group shows, by name.
        emitted: When groups are sent, and what happens to late rows.
        name: What `named` or `sink` called it.
        sinks: Where groups go.
        group: Products of one group share a query, and may read each other.
    """

    declared: Declarations = field(repr=False)
    relation: str
    by: tuple[str | Mapping[str, str], ...] = ()
    where: str | None = None
    in_window: WindowMap | str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    emitted: EmitMap | None = None
    name: str | None = None
    sinks: tuple[str | Sink, ...] = ()
    group: str | None = None

    def filter(self, condition: str) -> Groups:
        """Leave out the rows for which `condition`, an expression of Spark SQL, is not true."""
        both = condition if self.where is None else f"({self.where}) and ({condition})"
        return self._with(replace(self, where=both))

    def window(
        self,
        named: str | WindowMap | None = None,
        *,
        tumbling: str | None = None,
        hopping: str | None = None,
        cumulative: str | None = None,
        session: str | None = None,
        sliding: str | None = None,
        every: str | None = None,
        max_: str | None = None,
        zone: str | None = None,
        offset: str | None = None,
    ) -> Groups:
        """Also group by windows of time.

        Args:
            named: The name of a window of the project, or a window as a map.
            tumbling: The size of windows side by side, such as `1h`.
            hopping: The size of windows that overlap; with `every`.
            cumulative: The size of windows that grow; with `every`.
            session: The gap that ends a session.
            sliding: How far back from the watermark.
            every: How far apart windows begin, or grow.
            max_: How long a session is at most.
            zone: Whose days, weeks and months, such as `Europe/Berlin`.
            offset: How long after midnight, or 1970, windows begin.

        Raises:
            ProjectErrors: It is not a window.

        Example:
            >>> import joinery as jn
            >>> views = jn.App("web").stream("views", fields={"at": "timestamp"}, time="at")
            >>> [each.name for each in views.group_by().window(tumbling="1h").plan.key.fields]
            ['window_start']
        """
        parts: dict[str, object] = {"tumbling": tumbling, "hopping": hopping}
        parts |= {"cumulative": cumulative, "session": session, "sliding": sliding}
        told = given(parts | {"every": every, "max": max_, "zone": zone, "offset": offset})
        if (named is None) != bool(told):
            raise SpecError(
                "a window is given either by name or by its parts",
                code="SPEC_VALUE",
                hint='Write .window(tumbling="1h"), or .window("hour").',
            )
        return self._with(replace(self, in_window=named or cast("WindowMap", told)))

    def aggregate(self, values: Mapping[str, str] | None = None, **computed: str) -> Groups:
        """Add to what a group shows: expressions over aggregates of its rows, under names.

        Raises:
            ProjectErrors: A name or an expression is not allowed.

        Example:
            >>> import joinery as jn
            >>> views = jn.App("web").stream("views", fields={"page": "string", "ms": "long"})
            >>> slow = views.group_by("page").aggregate(n="count(*)", slowest="max(ms)")
            >>> print(slow.named("slow").plan.output)
            struct<page: string, n: long, slowest: long>
        """
        return self._with(
            replace(self, values={**self.values, **map_given(values, "values"), **computed})
        )

    def emit(
        self,
        when: Literal["changed", "closed"] | None = None,
        *,
        late: Literal["correct", "dead_letter", "drop"] | None = None,
        allowed: str | None = None,
        retention: str | None = None,
        settle: str | None = None,
    ) -> Groups:
        """Say when groups are sent, and what happens to late rows.

        Args:
            when: `closed` sends a window once it is closed; by default after each change.
            late: What happens to a late row; by default it corrects what was sent.
            allowed: How far below the watermark a row may be before it is late.
            retention: How long after its end a window may still change.
            settle: Send a group once it has not changed for this long.

        Raises:
            ProjectErrors: One of them is not allowed.
        """
        parts: dict[str, object] = {"when": when, "late": late, "allowed": allowed}
        told = given(parts | {"retention": retention, "settle": settle})
        return self._with(replace(self, emitted=cast("EmitMap", {**(self.emitted or {}), **told})))

    def group_by(self, *names: str | Fields, **computed: str) -> Groups:
        """Group these groups in turn, such as days into weeks. Both run in one query.

        Args:
            *names: Columns of these groups.
            **computed: Expressions over them, by name.

        Raises:
            SpecError: These groups have no name, or no `group`.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("web")
            >>> views = app.stream("views", fields={"page": "string", "site": "string"})
            >>> pages = views.group_by("site", "page").aggregate(n="count(*)")
            >>> pages = pages.named("pages", group="web")
            >>> sites = pages.group_by("site").aggregate(pages="count(*)", n="sum(n)")
            >>> [each.name for each in sites.plan.reads]
            ['pages']
        """
        if self.name is None or self.group is None:
            raise SpecError(
                "groups that others read need a name, and a group to share a query",
                code="SPEC_MISSING_KEY",
                hint='Write .named("days", group="traffic") before .group_by(…).',
            )
        return begun(self.declared, self.name, names, computed, group=self.group)

    def named(self, name: str, *, group: str | None = None) -> Groups:
        """Give the groups their name in the project, as a product, in place of one of that name.

        Args:
            name: The product's name.
            group: Products of one group share a query, and may read each other.
        """
        made = replace(self, name=name, group=group or self.group)
        self.declared.add_product(made._document(name))
        return made

    def sink(
        self,
        *sinks: str | Sink,
        name: str | None = None,
        group: str | None = None,
        **kinds: Unpack[SinkMap],
    ) -> Groups:
        """Send the groups on, and give them their place in the app.

        Args:
            *sinks: The name of a sink, or a kind with its options, as a map.
            name: The product's name; by default the relation's and what it is grouped by, such
                as `views_by_page`. It takes the place of a product of that name.
            group: Products of one group share a query, and may read each other.
            **kinds: Sinks by their kind, such as `files={"path": "out"}`; that of a package as a
                map, `{"its_kind": {}}`.

        Raises:
            SpecError: No sink is given, or one of a name that the app does not have.
            ProjectErrors: With every problem.

        Example:
            >>> import joinery as jn
            >>> app = jn.App("web")
            >>> views = app.stream("views", fields={"page": "string"})
            >>> views.group_by("page").aggregate(n="count(*)").sink(files={"path": "out"})
            <groups views_by_page of views>
        """
        found = sinks_given(sinks, kinds, needing="the groups need")
        self.declared.check_sinks(found)
        made = replace(self, sinks=tuple(found))
        return made.named(name or self.name or self._default_name, group=group)

    @property
    def spec(self) -> ProductSpec:
        """What is declared so far."""
        return self._document(self.name or self._default_name).spec

    @property
    def plan(self) -> PlannedProduct:
        """The plan of the product.

        Raises:
            ProjectErrors: With every problem of the app.
        """
        mine = self.spec
        spec = self.declared.spec()
        others = tuple(each for each in spec.products if each.name != mine.name)
        plan = build_plan(replace(spec, products=(*others, mine)))
        return next(each for each in plan.products if each.name == mine.name)

    def explain(self) -> Explanation:
        """Return the plan as text, `.to_mermaid()` and `.to_html()`."""
        return explain(self.plan, ())

    @property
    def _default_name(self) -> str:
        names = [name for each in self.by for name in ([each] if isinstance(each, str) else each)]
        return f"{self.relation}_by_{'_'.join(names)}" if names else f"{self.relation}_total"

    def _document(self, name: str) -> Document:
        return aggregate(
            name,
            self.relation,
            by=self.by or None,
            window=self.in_window or None,
            where=self.where,
            values=self.values or None,
            emit=self.emitted,
            sink=self.sinks or None,
            group=self.group,
        )

    def _with(self, made: Groups) -> Groups:
        """Return groups that go on from here, without a place yet; what cannot be is refused."""
        made = replace(made, name=None, sinks=())
        made._document(self.relation)
        return made

    def _repr_html_(self) -> str:
        """Return the picture and the text, or what is wrong, as a notebook shows them."""
        return picture_of(self.explain)

    def __repr__(self) -> str:
        return f"<groups {self.name or self._default_name} of {self.relation}>"


def begun(
    declared: Declarations,
    relation: str,
    names: Iterable[str | Fields],
    computed: Mapping[str, str],
    *,
    where: str | None = None,
    group: str | None = None,
) -> Groups:
    """Return groups of a relation by names, and by expressions under names.

    Raises:
        ProjectErrors: One of them is not allowed.
    """
    by = (*listed(names), *({name: text} for name, text in computed.items()))
    made = Groups(declared, relation, by=by, where=where, group=group)
    made._document(relation)
    return made
