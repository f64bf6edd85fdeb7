"""`joinery status` and `joinery top`: how products stand, from what their runs have written.

Invariant: nothing is asked but files beside the checkpoint, so an answer takes no server, no
Spark and no Java, and changes nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from joinery.cli.columns import aligned
from joinery.cli.project import DONE, FOUND
from joinery.errors import SpecError
from joinery.observe.figure import counted_text, seconds_text, share_text, size_text
from joinery.observe.hot_keys import hot_text
from joinery.observe.status import (
    MARKS,
    ProductStatus,
    ProjectStatus,
    known_products,
    project_status,
)
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

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
_NUMBERS = range(2, len(_HEADER))
_SHOWN = 20
_REDRAWN_S = 1.0


class StatusProductError(SpecError):
    """A command names a product that the project does not have."""

    code = "STATUS_PRODUCT"


def run_status(file: Path, names: Sequence[str], *, as_json: bool, check: bool, every: bool) -> int:
    """Print how products stand; with `check`, return 3 where one wants attention."""
    found = project_status(_spec(file, names), names)
    if as_json:
        sys.stdout.write(f"{json.dumps(found.to_json(), ensure_ascii=False, indent=2)}\n")
    else:
        shown = len(found.products) if every or names else _SHOWN
        sys.stdout.writelines(f"{line}\n" for line in status_lines(found, shown))
    return FOUND if check and found.wants_attention else DONE


def run_top(file: Path, names: Sequence[str]) -> int:
    """Show how products stand, drawn again each second until Ctrl-C; once without a terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    spec, console = _spec(file, names), Console()
    if not console.is_terminal:
        return run_status(file, names, as_json=False, check=False, every=False)
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                lines = status_lines(project_status(spec, names), max(1, console.height - 6))
                text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
                live.update(text, refresh=True)
                time.sleep(_REDRAWN_S)
    except KeyboardInterrupt:
        return DONE


def _spec(file: Path, names: Sequence[str]) -> ProjectSpec:
    spec = load_spec(file)
    known = known_products(spec)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            guess = f"Did you mean {near[0]}? " if near else ""
            raise StatusProductError(
                f'there is no product or stream "{name}" to run',
                hint=f"{guess}Known: {', '.join(known)}. Another project: --file FILE.",
            )
    return spec


def status_lines(found: ProjectStatus, shown: int) -> Iterator[str]:
    """Yield the status of a project, a line per product and one more for each reason.

    Args:
        found: What is shown.
        shown: The most products that are shown; those that want attention are the first.
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
    if hidden := len(found.products) - len(products):
        yield f"… {hidden} more: joinery status --all"
    yield from (f"warning: {each}" for each in found.warnings)


def _reasons(status: ProductStatus) -> Iterator[str]:
    if status.because and status.state != "ended":
        yield f"    because {status.because}"
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
