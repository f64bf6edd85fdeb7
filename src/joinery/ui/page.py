"""The pages as HTML.

Invariant: whatever comes from a project, a run or a document is escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from joinery._version import __version__
from joinery.dead_letters.dead_letter import DeadLetter
from joinery.delivery.action_log import LoggedAction
from joinery.model.moment import moment_text
from joinery.model.status import QueryStatus
from joinery.observe.history_file import Minute
from joinery.observe.hot_keys import hot_text
from joinery.observe.kept_letters import KeptLetters
from joinery.observe.status import STATES, ProductStatus
from joinery.observe.status_text import MARKS, marks_text
from joinery.text.figure import counted_text, seconds_text, share_text, size_text
from joinery.ui.chart import bucketed, path_of
from joinery.ui.fleet import Fleet, Standing
from joinery.ui.table import Table
from joinery.ui.tables import (
    SORTS,
    action_table,
    batch_table,
    chosen,
    clock_text,
    counter_table,
    dead_letter_table,
    fleet_table,
    frontier_table,
    hot_key_table,
    minute_table,
    relation_table,
    warning_table,
)

_SORTED = {
    "": "what needs attention",
    "product": "name",
    "fresh": "the least fresh",
    "behind": "the furthest behind",
    "rate": "documents per second",
    "sent": "documents sent",
    "cost": "cost",
    "size": "state size",
    "dead": "dead letters",
}


@dataclass(frozen=True, slots=True)
class Pages:
    """Makes the pages.

    Attributes:
        templates: Jinja's environment.
    """

    templates: Any

    @classmethod
    def open(cls, *, acting: bool = False, asking: bool = False) -> Pages:
        """Return what makes the pages; Jinja must be installed.

        Args:
            acting: Whether they lead to what can be done.
            asking: Whether they lead to why a document looks the way it does.
        """
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        templates = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        templates.globals["version"] = __version__
        templates.globals.update(acting=acting, asking=asking)
        templates.filters["address"] = lambda text: quote(str(text), safe="")
        templates.filters["moment"] = moment_text
        return cls(templates)

    def fleet(self, fleet: Fleet, *, text: str, attention: bool, sort: str, query: str) -> str:
        """Return the page of all products; see `tables.chosen`."""
        snapshot = fleet.snapshot()
        products = chosen(snapshot, text=text, attention=attention, sort=sort)
        return self.render(
            "fleet.html",
            projects=[each.slug for each in fleet.places],
            summary=_summary([each.status for each in snapshot.products]),
            at=clock_text(snapshot.at),
            products=[_shown(each) for each in products],
            hidden=len(snapshot.products) - len(products),
            table=fleet_table(()),
            warnings=warning_table(snapshot),
            text=text,
            attention=attention,
            sort=sort if sort in SORTS else "",
            sorts=_SORTED,
            links=_SortLinks(text, attention),
            query=f"?{query}" if query else "",
        )

    def product(self, fleet: Fleet, standing: Standing) -> str:
        """Return the page of one product."""
        told, kept = fleet.told(standing), fleet.letters(standing)
        plan, minutes, letters = fleet.plan(standing), fleet.minutes(standing), _newest(kept)
        tables = _tables(told, kept, fleet.actions(standing), minutes, standing)
        return self.render(
            "product.html",
            at=clock_text(fleet.snapshot().at),
            project=standing.place.slug,
            file=str(standing.place.file),
            each=_shown(standing),
            facts=_facts(standing, told),
            reasons=None if kept is None else reasons_of(letters),
            kept=len(letters),
            paused=fleet.paused(standing) is not None,
            tables={each.name: each for each in tables},
            charts=_charts(minutes, fleet.clock()),
            warnings=() if told is None else told.warnings,
            plan=str(plan),
            drawn=not isinstance(plan, str),
        )

    def tables(self, fleet: Fleet, standing: Standing) -> list[Table]:
        """Return the tables of a product's page."""
        told, kept = fleet.told(standing), fleet.letters(standing)
        actions, minutes = fleet.actions(standing), fleet.minutes(standing)
        return _tables(told, kept, actions, minutes, standing)

    def missing(self, address: str) -> str:
        """Return the page of an address that has none."""
        return self.render("missing.html", address=address)

    def render(self, template: str, **facts: object) -> str:
        """Return a page of a template."""
        page: str = self.templates.get_template(template).render(**facts)
        return page


@dataclass(frozen=True, slots=True)
class _SortLinks:
    """The addresses of the first page in other orders."""

    text: str
    attention: bool

    def of(self, sort: str) -> str:
        asked = {"q": self.text, "attention": "1" if self.attention else "", "sort": sort}
        return "/?" + urlencode({name: value for name, value in asked.items() if value})


def _summary(products: list[ProductStatus]) -> list[str]:
    """Return how many products there are, and how they stand."""
    states = Counter(each.state for each in products)
    dead = sum(bool(each.dead) for each in products)
    rate = sum(each.per_second for each in products)
    return [
        counted_text(len(products), "product"),
        *(f"{states[each]:,} {each}" for each in reversed(STATES) if states[each]),
        *([f"{dead:,} with dead letters"] if dead else ()),
        f"{rate:,.0f} documents per second",
    ]


def _shown(standing: Standing) -> dict[str, object]:
    """Return one product as a row shows it."""
    status = standing.status
    ran = status.told
    because = "" if status.state == "ended" else status.because
    hot = hot_text(status.hot_keys)
    hint = f"hint: {status.hint}" if status.hint else ""
    reasons = [f"because {because}" if because else "", hint, status.rebuild, *status.missed, hot]
    behind = f"{status.rows_left:,}"
    if status.bytes_left and not status.rows_left:
        behind = size_text(status.bytes_left)
    return {
        "project": standing.place.slug,
        "product": status.product,
        "query": status.query,
        "state": status.state,
        "kind": status.state.replace(" ", "-"),
        "mark": MARKS.get(status.state, "○"),
        "because": because,
        "hint": hint,
        "rebuild": status.rebuild,
        "missed": status.missed,
        "hot": hot,
        "reasons": [each for each in reasons if each],
        "urgent": status.wants_attention,
        "fresh": "-" if status.fresh_s is None else seconds_text(status.fresh_s),
        "behind": behind if ran else "-",
        "rate": f"{status.per_second:,.0f}" if ran else "-",
        "sent": f"{status.documents:,}" if ran else "-",
        "cost": share_text(status.cost),
        "size": "-" if status.state_bytes is None else size_text(status.state_bytes),
        "dead": f"{status.dead:,}" if ran or status.dead else "-",
    }


def _charts(minutes: list[Minute], now: float) -> list[dict[str, str]]:
    """Return the charts of a product's last day; none where nothing was sent."""
    if not minutes:
        return []
    fresh = bucketed(minutes, now, lambda each: each.fresh_s, max)
    sent = bucketed(minutes, now, lambda each: float(each.sent), lambda one, two: one + two)
    longest = bucketed(minutes, now, lambda each: each.batches.longest_s, max)
    slowest = max((each for each in longest if each is not None), default=0.0)
    stalest = max((each for each in fresh if each is not None), default=None)
    told = "not known" if stalest is None else f"at most {seconds_text(stalest)}"
    most = max((each for each in sent if each is not None), default=0.0)
    return [
        {"title": f"fresh: {told}", "path": path_of(fresh)},
        {"title": f"sent: {most:,.0f} at most in a quarter of an hour", "path": path_of(sent)},
        {"title": f"longest batch: {seconds_text(slowest)}", "path": path_of(longest)},
    ]


def _facts(standing: Standing, told: QueryStatus | None) -> list[tuple[str, str]]:
    """Return what there is to say of a product in short."""
    status = standing.status
    facts = [("query", status.query), ("project file", str(standing.place.file))]
    if told is None:
        return facts
    totals = told.products.get(status.product)
    facts += [("sends to", each) for each in (totals.targets if totals is not None else ())]
    facts += [
        ("run started", moment_text(told.began_at)),
        ("last report", moment_text(told.written_at)),
        ("tombstones sent", f"{status.tombstones:,}"),
    ]
    if status.marks is not None:
        facts.append(("earlier state", marks_text(status.marks)))
    expect = _expected(standing)
    return [*facts, ("expected", expect)] if expect else facts


def _expected(standing: Standing) -> str:
    products = {each.name: each.expect for each in standing.place.spec.products}
    expect = products.get(standing.status.product)
    if expect is None:
        return ""
    fresh = "" if expect.fresh_ms is None else seconds_text(expect.fresh_ms / 1000)
    counts = {"behind": expect.behind, "dead": expect.dead}
    told = [f"{name} at most {count:,}" for name, count in counts.items() if count is not None]
    return ", ".join([*([f"fresh within {fresh}"] if fresh else ()), *told])


def reasons_of(letters: Sequence[DeadLetter]) -> list[tuple[str, int]]:
    """Return the reasons of dead letters, with how many there are of each, the most first."""
    return Counter(each.reason for each in letters).most_common()


def _newest(kept: KeptLetters | None) -> list[DeadLetter]:
    """Return open dead letters, the newest first."""
    opened = () if kept is None else kept.open
    return sorted(opened, key=lambda each: each.time, reverse=True)


def _tables(
    told: QueryStatus | None,
    kept: KeptLetters | None,
    actions: Sequence[LoggedAction],
    minutes: Sequence[Minute],
    standing: Standing,
) -> list[Table]:
    totals = told.products.get(standing.status.product) if told is not None else None
    return [
        relation_table(told, totals),
        frontier_table(standing.status),
        counter_table(totals),
        batch_table(told),
        hot_key_table(totals),
        dead_letter_table(_newest(kept)),
        action_table(actions, () if kept is None else kept.handled()),
        minute_table(minutes),
    ]
