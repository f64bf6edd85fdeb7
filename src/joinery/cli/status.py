"""`joinery status` and `joinery top`: how products stand, from what their runs have written.

Invariant: nothing is asked but files beside the checkpoint, so an answer takes no server, no
Spark and no Java, and changes nothing but the outlines in the user's cache.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from joinery.cli.ending import DONE, FOUND
from joinery.errors import SpecError
from joinery.observe.kept_outline import load_outline
from joinery.observe.outline import Outline
from joinery.observe.status import outline_status
from joinery.observe.status_text import status_lines

_SHOWN = 20
_REDRAWN_S = 1.0


class StatusProductError(SpecError):
    """A command names a product that the project does not have."""

    code = "STATUS_PRODUCT"


def run_status(file: Path, names: Sequence[str], *, as_json: bool, check: bool, every: bool) -> int:
    """Print how products stand; with `check`, return 3 where one wants attention."""
    found = outline_status(_outline(file, names), names)
    if as_json:
        sys.stdout.write(f"{json.dumps(found.to_json(), ensure_ascii=False, indent=2)}\n")
    else:
        shown = len(found.products) if every or names else _SHOWN
        sys.stdout.writelines(
            f"{line}\n" for line in status_lines(found, shown, detailed=bool(names))
        )
    return FOUND if check and found.wants_attention else DONE


def run_top(file: Path, names: Sequence[str]) -> int:
    """Show how products stand, drawn again each second until Ctrl-C; once without a terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    project, console = _outline(file, names), Console()
    if not console.is_terminal:
        return run_status(file, names, as_json=False, check=False, every=False)
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                lines = status_lines(outline_status(project, names), max(1, console.height - 6))
                text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
                live.update(text, refresh=True)
                time.sleep(_REDRAWN_S)
    except KeyboardInterrupt:
        return DONE


def _outline(file: Path, names: Sequence[str]) -> Outline:
    project = load_outline(file)
    for name in names:
        if name not in project.queries:
            from joinery.project.load import load_spec

            near = get_close_matches(name, project.queries, 1)
            guess = f"Did you mean {near[0]}? " if near else ""
            raise StatusProductError(
                load_spec(file).why_no_query(name)
                or f'there is no product or stream "{name}" to run',
                hint=f"{guess}Known: {', '.join(project.queries)}. Another project: --file FILE.",
            )
    return project
