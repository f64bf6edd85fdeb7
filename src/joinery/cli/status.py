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
from joinery.cli.status_arguments import StatusArguments
from joinery.delivery.action_log import LoggedAction
from joinery.errors import SpecError
from joinery.model.moment import second_text, seconds_of
from joinery.observe.kept_outline import load_outline
from joinery.observe.outline import Outline
from joinery.observe.status import outline_status
from joinery.observe.status_text import status_lines
from joinery.operate.actions import project_actions
from joinery.text.columns import aligned

_SHOWN = 20
_REDRAWN_S = 1.0


class StatusProductError(SpecError):
    """A command names a product that the project does not have."""

    code = "STATUS_PRODUCT"


class StatusOptionError(SpecError):
    """Options of `joinery status` do not go together, or one says no length of time."""

    code = "STATUS_OPTION"


def run_status(asked: StatusArguments) -> int:
    """Print the status of products, what they did, or what people did; return the exit code.

    With `check` it is 3 where a product wants attention.

    Raises:
        StatusProductError: There is no such product.
        StatusOptionError: What is asked does not go together.
    """
    match [name for name in ("check", "actions", "history") if getattr(asked, name)]:
        case [] | ["check"]:
            return _tell_status(asked)
        case ["actions"]:
            return _tell_actions(asked)
        case ["history"]:
            return _tell_history(asked)
        case several:
            raise StatusOptionError(
                "joinery status shows one thing at a time",
                hint=f"Use one of --{' and --'.join(several)}.",
            )


def _tell_status(asked: StatusArguments) -> int:
    file, names = asked.file, asked.products
    found = outline_status(_outline(file, names), names)
    if asked.as_json:
        sys.stdout.write(f"{json.dumps(found.to_json(), ensure_ascii=False, indent=2)}\n")
    else:
        shown = len(found.products) if asked.every or names else _SHOWN
        sys.stdout.writelines(
            f"{line}\n" for line in status_lines(found, shown, detailed=bool(names))
        )
    return FOUND if asked.check and found.wants_attention else DONE


def _tell_actions(asked: StatusArguments) -> int:
    """Print what people did to a project, or to some of its products, the newest first."""
    done = project_actions(_outline(asked.file, asked.products), asked.products)
    if asked.as_json:
        told = [each.to_json() for each in done]
        sys.stdout.write(f"{json.dumps(told, ensure_ascii=False, indent=2)}\n")
        return DONE
    shown = done if asked.every else done[:_SHOWN]
    rows = [(_when(each), each.verb, ", ".join(each.about), each.by, each.told) for each in shown]
    if rows:
        header = ("at", "action", "of", "by", "")
        sys.stdout.writelines(f"{line}\n" for line in aligned([header, *rows]))
    else:
        sys.stdout.write("no action is on record\n")
    if hidden := len(done) - len(shown):
        sys.stdout.write(f"… {hidden} more: joinery status --actions --all\n")
    return DONE


def _tell_history(asked: StatusArguments) -> int:
    """Print what products did, one after the other."""
    from joinery.observe.history import history_lines, product_minutes
    from joinery.project.quantity import given_duration_ms

    since_s = given_duration_ms(asked.since, StatusOptionError) / 1000
    project = _outline(asked.file, asked.products)
    names = asked.products or tuple(project.queries)
    if asked.as_json:
        told = {
            each: [minute.to_json() for minute in product_minutes(project, each, since_s)]
            for each in names
        }
        sys.stdout.write(f"{json.dumps(told, ensure_ascii=False, indent=2)}\n")
        return DONE
    shown = names if asked.every or asked.products else names[:_SHOWN]
    for each in shown:
        lines = history_lines(each, product_minutes(project, each, since_s), since_s)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    if hidden := len(names) - len(shown):
        sys.stdout.write(f"… {hidden} more: joinery status --history --all\n")
    return DONE


def _when(done: LoggedAction) -> str:
    return second_text(seconds_of(done.at))


def run_top(file: Path, names: Sequence[str]) -> int:
    """Show how products stand, drawn again each second until Ctrl-C; once without a terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    project, console = _outline(file, names), Console()
    if not console.is_terminal:
        return run_status(StatusArguments(file=file, products=tuple(names)))
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
