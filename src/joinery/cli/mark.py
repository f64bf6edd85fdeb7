"""`joinery mark`: the state of the last batch is kept for longer, or what is kept is listed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.delivery.action_log import ActionLog
from joinery.errors import SpecError
from joinery.model.moment import second_text
from joinery.observe.outline import queries_of
from joinery.place.place import local
from joinery.project.load import load_spec
from joinery.project.marks import MarksSpec
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.mark import bytes_by_mark, has_state, mark_last, marks_of
from joinery.spark.recovery.replacement import next_checkpoint
from joinery.text.figure import counted_text, size_text

_WHAT = "a mark of state"


class MarkArgumentError(SpecError):
    """`joinery mark` names what the project does not have."""

    code = "MARK_ARGUMENT"


def run_mark(file: Path, products: Sequence[str], *, keep: int | None, listed: bool) -> int:
    """Mark the last batch of the queries of some products, or list their marks.

    Args:
        file: The project file or folder.
        products: Whose state; where empty, of all queries that have some.
        keep: How many marks of a query stay; None is as the project says.
        listed: Whether marks are listed, and none is made.

    Raises:
        ProjectErrors: The project is wrong.
        MarkArgumentError: There is no such product.
        MarkError: A query that is named has no state; or none has, where none is named.
        LocalOnlyError: A checkpoint is not on a disk.
    """
    spec = load_spec(file)
    for query, checkpoint in _checkpoints(spec, products).items():
        if not listed:
            made = mark_last(checkpoint, keep or (spec.run.marks or MarksSpec()).keep)
            ActionLog(spec.checkpoint).note("mark", (query,), f"batch {made.batch}")
            sys.stdout.write(f"{query}: the state after batch {made.batch} is kept\n")
        marks, held = marks_of(checkpoint), bytes_by_mark(checkpoint)
        for each in marks if listed else ():
            at, size = second_text(each.at_ms / 1000), size_text(held.get(each.batch, 0))
            sys.stdout.write(f"{query}: batch {each.batch}  {at}  {size}\n")
        count, size = counted_text(len(marks), "mark"), size_text(sum(held.values()))
        sys.stdout.write(f"{query}: {count}, {size} beyond what the checkpoint holds\n")
    return DONE


def _checkpoints(spec: ProjectSpec, products: Sequence[str]) -> Mapping[str, Path]:
    """Return the checkpoints of the queries that are meant, by query."""
    known = queries_of(spec)
    for each in products:
        if each not in known:
            raise MarkArgumentError(
                spec.why_no_query(each) or f'there is no product or stream "{each}" to run',
                hint=f"Known: {', '.join(known)}. Another project: --file FILE.",
            )
    queries = sorted({known[each] for each in products or known})
    found = {each: local(next_checkpoint(spec.checkpoint, each), _WHAT) for each in queries}
    some = {query: each for query, each in found.items() if has_state(each)}
    return found if products else some or found
