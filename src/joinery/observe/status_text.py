"""How products stand, as text: a line each, and one more for each reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from joinery.model.moment import second_text
from joinery.observe.hot_keys import hot_text
from joinery.text.columns import aligned
from joinery.text.figure import counted_text, seconds_text, share_text, size_text

if TYPE_CHECKING:
    from joinery.model.frontier import SourceFrontier
    from joinery.model.marks import KeptMarks
    from joinery.observe.status import ProductStatus, ProjectStatus, State

MARKS: Mapping[State, str] = {
    "failed": "✗",
    "gone": "✗",
    "unknown": "?",
    "waiting": "◐",
    "silent": "◐",
    "behind": "◐",
    "paused": "‖",
    "live": "●",
}
"""What stands before some states, for those who look down a column."""
_HEADER = (
    "product",
    "state",
    "fresh",
    "behind",
    "docs/s",
    "sent",
    "cost",
    "on disk",
    "dead",
)
_PLACES = 8
_NUMBERS = range(2, len(_HEADER))


def status_lines(found: ProjectStatus, shown: int, *, detailed: bool = False) -> Iterator[str]:
    """Yield the status of a project, a line per product and one more for each reason.

    Args:
        found: What is shown.
        shown: The most products that are shown; those that want attention are the first.
        detailed: Whether it is shown how far they have come in their sources, and what people did
            last to them.
    """
    products = found.products[:shown]
    urgent = sum(each.wants_attention for each in found.products)
    yield f"{found.project}   {counted_text(len(found.products), 'product')}   {_urgent(urgent)}"
    if products:
        table = aligned([_HEADER, *map(_row, products)], right=_NUMBERS)
        yield f"  {next(table)}"
        for line, each in zip(table, products, strict=True):
            yield f"{MARKS.get(each.state, ' ')} {line}"
            yield from _reasons(each)
            if detailed:
                yield from (f"    {line}" for line in frontier_lines(each))
                yield from (f"    {action}" for action in each.actions)
    if hidden := len(found.products) - len(products):
        yield f"… {hidden} more: joinery status --all"
    kept = {each.query: each.marks for each in products if each.marks is not None}
    yield from (f"{query}: {marks_text(each)}" for query, each in sorted(kept.items()))
    yield from (f"warning: {each}" for each in found.warnings)


def marks_text(marks: KeptMarks) -> str:
    """Return the marks of a query in words.

    Example:
        >>> from joinery.model.marks import KeptMarks
        >>> marks_text(KeptMarks(count=2, batch=881, at=1.5, bytes=61_200_000))
        '2 marks, the newest of batch 881 (1970-01-01 00:00:01Z); 61.2 MB'
    """
    count, at = counted_text(marks.count, "mark"), second_text(marks.at)
    return f"{count}, the newest of batch {marks.batch} ({at}); {size_text(marks.bytes)}"


def frontier_lines(status: ProductStatus) -> Iterator[str]:
    """Yield up to where a product shows everything, by source."""
    for each in status.frontiers:
        yield frontier_text(each)
    if status.frontiers and status.held_by:
        yield f"documents of the last changes may not be sent yet ({status.held_by})"


def frontier_text(frontier: SourceFrontier) -> str:
    """Return up to where everything of a source is applied, in words.

    Example:
        >>> from joinery.model.frontier import SourceFrontier
        >>> frontier_text(SourceFrontier(source="db", sure="exact", place="0/A8", committed_at=1.5))
        'shows db up to 0/A8 (exact), last committed at 1970-01-01 00:00:01Z'
        >>> frontier_text(SourceFrontier(source="log", sure="read", read={"a": ("a/0/7",)}))
        'shows log up to a/0/7'
    """
    source, at = frontier.source, frontier.committed_at
    match frontier.sure:
        case "exact" | "sound":
            committed = "" if at is None else f", last committed at {second_text(at)}"
            return f"shows {source} up to {frontier.place} ({frontier.sure}){committed}"
        case "probable":
            assert at is not None, "a heartbeat has a time"
            return f"shows {source} up to the heartbeat of {second_text(at)} (probable)"
        case "read":
            if not frontier.read:
                return f"has read nothing of {source} yet"
            places = list(dict.fromkeys(one for each in frontier.read.values() for one in each))
            hidden = len(places) - _PLACES + sum(frontier.more.values())
            more = f" and {hidden:,} more" if hidden > 0 else ""
            return f"shows {source} up to {', '.join(places[:_PLACES])}{more}"


def _reasons(status: ProductStatus) -> Iterator[str]:
    if status.because and status.state != "ended":
        yield f"    because {status.because}"
    if status.hint:
        yield f"    hint: {status.hint}"
    if status.rebuild:
        yield f"    {status.rebuild}"
    for each in status.missed:
        yield f"    {each}"
    if hot := hot_text(status.hot_keys):
        yield f"    {hot}"


def _row(status: ProductStatus) -> tuple[str, ...]:
    if not status.told:
        return (status.product, status.state, *("-",) * (len(_HEADER) - 2))
    return (
        status.product,
        status.state,
        "-" if status.fresh_s is None else seconds_text(status.fresh_s),
        _behind(status),
        f"{status.per_second:,.0f}",
        f"{status.documents:,}",
        share_text(status.cost),
        "-" if status.state_bytes is None else size_text(status.state_bytes),
        f"{status.dead:,}",
    )


def _behind(status: ProductStatus) -> str:
    if status.bytes_left and not status.rows_left:
        return size_text(status.bytes_left)
    return f"{status.rows_left:,}"


def _urgent(count: int) -> str:
    if not count:
        return "nothing needs attention"
    return f"{count} {'needs' if count == 1 else 'need'} attention"
