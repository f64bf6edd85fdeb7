"""`joinery plan` and `joinery apply`: what the project as it is means for standing checkpoints."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.cli.ending import DONE, FOUND
from joinery.cli.project import plan_whole
from joinery.plan.product import Product
from joinery.plan.stream import outputs_of
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.text.figure import size_text

if TYPE_CHECKING:
    from joinery.spark.recovery.query_change import Outcome, QueryChange

_TOLD = 8
_SETTLED = ("unchanged", "new")


def run_plan(file: Path, *, as_json: bool) -> int:
    """Tell what a run, `apply` and a rebuild would do; nothing is changed."""
    from joinery.spark.recovery.standing import compare_all

    spec, queries = _queries(file, ())
    found = list(compare_all(spec, queries))
    if as_json:
        sys.stdout.write(json.dumps([_to_json(each) for each in found], indent=2) + "\n")
    else:
        for change in found:
            sys.stdout.writelines(f"{line}\n" for line in _lines(change))
    return DONE if all(each.outcome in _SETTLED for each in found) else FOUND


def run_apply(file: Path, names: Sequence[str]) -> int:
    """Have queries go on from their state with the products that there are now: all, or none.

    Raises:
        ApplyError: The state of one does not fit; none was changed.
        LeaseHeldError: One runs, or is rebuilt.
    """
    from joinery.spark.recovery.apply import apply_all

    spec, queries = _queries(file, names)
    done = {"carried": "its state is kept; the next run continues from it"}
    done |= {"new": "it has no checkpoint yet", "unchanged": "nothing to do"}
    for change in apply_all(spec, queries):
        carried = change.outcome == "carried"
        built = f", and builds {', '.join(new)}" if carried and (new := _added(change)) else ""
        if change.again:
            built = (
                f", reads {_read_again(change)} again, and builds {', and '.join(_built(change))}"
            )
        back = _taken_back(change) if carried else ""
        sys.stdout.write(f"{change.query}: {back}{done[change.outcome]}{built}\n")
    return DONE


def _queries(
    file: Path, names: Sequence[str]
) -> tuple[ProjectSpec, Mapping[str, tuple[Product, ...]]]:
    from joinery.spark.batch.setup import check_selected, select_queries

    spec, plan = plan_whole(load_spec(file))
    check_selected(spec, names)
    return spec, select_queries(outputs_of(plan), names)


def _lines(change: QueryChange) -> Iterator[str]:
    """Yield what is told of a query: its products, why, and what each command would do."""
    counts = [*change.products.values()]
    words = ("unchanged", "changed", "added", "removed")
    told = [f"{counts.count(each)} {each}" for each in words if each in counts]
    yield f"{change.query}: {', '.join(told)}"
    for name, what in change.products.items():
        if what != "unchanged":
            yield f"  {what:<9} {name}"
    for each in change.why[:_TOLD]:
        yield f"    {each}"
    if len(change.why) > _TOLD:
        yield f"    and {len(change.why) - _TOLD} more, which --json lists"
    yield from (f"  {line}" for line in _commands(change))
    for name, target in change.new_sinks:
        yield f"  {target} is a new sink of {name}: without run --rebuild it gets only what changes"


def _commands(change: QueryChange) -> Iterator[str]:
    match change.outcome:
        case "unchanged":
            first = f"builds {', '.join(change.unbuilt)} first, and " if change.unbuilt else ""
            yield f"run: {first}continues from its state"
        case "new":
            yield f"run: reads {', '.join(change.relations)} from the beginning"
        case "carried":
            yield "run: refuses the checkpoint (STATE_MISMATCH)"
            yield f"apply: {_carried(change)}"
        case "rebuilt":
            yield "run: refuses the checkpoint (STATE_MISMATCH), and so does apply"
            yield f"run --rebuild: {_rebuild(change)}"
        case "left":
            yield (
                "no query of this project has the name: either its products are gone, and the"
                " checkpoint stays until you delete it, or it is another project's"
            )


def _taken_back(change: QueryChange) -> str:
    """Return what was applied and will not be built after all; empty where nothing was."""
    names = ", ".join(change.taken_back)
    return f"takes back what was applied of {names} and is not built yet; " if names else ""


def _carried(change: QueryChange) -> str:
    if (first := change.hindrance) is not None:
        return f"would keep the state, and refuses for now: {first.message}. {first.hint}"
    keeps = f"{_taken_back(change)}keeps the state"
    if change.again:
        built, read = ", and ".join(_built(change)), _read_again(change)
        return f"{keeps}; the next run builds {built} first, and reads {read} again for it"
    if not (added := ", ".join(_added(change))):
        return f"{keeps}; nothing is read again, nothing is sent"
    return f"{keeps}; the next run builds {added} from it, and reads nothing again"


def _read_again(change: QueryChange) -> str:
    """Return what is read again to build what was added, and how much that is."""
    names = [name for each in change.again for name in each.relations]
    return f"{', '.join(names)} ({', '.join(_amounts(change))})"


def _amounts(change: QueryChange) -> Iterator[str]:
    if files := sum(each.files for each in change.again):
        size = size_text(sum(each.bytes for each in change.again))
        yield f"{files:,} {'file' if files == 1 else 'files'}, {size}"
    if records := sum(each.records for each in change.again):
        yield f"up to {records:,} records"
    if not (files or records):
        yield "nothing yet"


def _built(change: QueryChange) -> Iterator[str]:
    if added := _added(change):
        yield ", ".join(added)
    if changed := [name for name, what in change.products.items() if what == "changed"]:
        yield f"{', '.join(changed)} anew"


def _added(change: QueryChange) -> list[str]:
    return [name for name, what in change.products.items() if what == "added"]


def _rebuild(change: QueryChange) -> str:
    """Return what a rebuild reads and sends again."""
    sent = change.documents
    last = f"; the last run sent {sent:,} documents of the query" if sent is not None else ""
    there = ", ".join(name for name, what in change.products.items() if what != "removed")
    return f"reads {', '.join(change.relations)} again, and sends all documents of {there}{last}"


_RUN: Mapping[Outcome, str] = {"unchanged": "continues", "new": "begins", "left": "none"}


def _to_json(change: QueryChange) -> dict[str, object]:
    rebuilt = change.outcome == "rebuilt"
    again = [name for each in change.again for name in each.relations]
    return {
        "query": change.query,
        "outcome": change.outcome,
        "products": dict(change.products),
        "why": list(change.why),
        "run": _RUN.get(change.outcome, "refused"),
        "apply": change.outcome == "carried" and change.hindrance is None,
        "first": None if change.hindrance is None else change.hindrance.hint,
        "unbuilt": list(change.unbuilt),
        "taken_back": list(change.taken_back),
        "new_sinks": [{"product": name, "sink": target} for name, target in change.new_sinks],
        "reads_again": list(change.relations) if rebuilt else again,
        "documents_sent": change.documents,
    }
