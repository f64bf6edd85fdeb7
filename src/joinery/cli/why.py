"""`joinery why`: the rows that a document is made of, what altered it last, what is not in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from joinery.app.document_product import only_product
from joinery.app.logs import WhyError
from joinery.app.state import state
from joinery.app.why import where_to, why
from joinery.cli.ending import DONE, FAILED, FOUND
from joinery.project.load import load_spec
from joinery.provenance.answer import Why
from joinery.provenance.roots import Reach
from joinery.spark.source.door_process import DoorProcess

PARTS = 30
"""How many rows are shown unless all are asked for."""
_ROOTS = 5


def run_why(
    file: Path,
    key: str,
    product: str,
    *,
    absent: str = "",
    row: str = "",
    at: str = "",
    batch: int | None = None,
    records: int,
    as_json: bool = False,
    every: bool = False,
    process: DoorProcess | None = None,
) -> int:
    """Print why a document looks as it does, or where a row goes.

    Returns:
        0; 1 where there is no document, or no document that the row goes into.

    Raises:
        ProjectErrors: The project is wrong.
        WhyError: What is asked has no answer.
    """
    if not key and not row:
        raise WhyError(
            "why needs a key, or --row RELATION:KEY",
            hint="A key that is an empty text is written as '[\"\"]', one without columns as [].",
        )
    if key and row:
        raise WhyError("why takes a key or --row RELATION:KEY, not both")
    if row and (at or absent or batch is not None):
        raise WhyError("--row cannot be combined with --at, --batch or --not")
    if at and batch is not None:
        raise WhyError("--at and --batch name two moments: use one of them")
    if row:
        return _run_row(file, row, product, records=records, as_json=as_json, process=process)
    found = why(
        file,
        product or _only(file),
        key,
        absent=absent or None,
        at=at,
        batch=batch,
        records=records,
        process=process,
    )
    if as_json:
        _write_json(found.to_json())
    else:
        told = found.absent if absent else found.text_lines(None if every else PARTS)
        sys.stdout.writelines(f"{line}\n" for line in told)
        sys.stdout.flush()
        sys.stderr.writelines(f"{line}\n" for line in small_print(found))
    return FAILED if found.document is None else DONE


def run_state(
    file: Path,
    key: str,
    product: str,
    others: Sequence[str],
    *,
    batch: int | None,
    records: int,
    as_json: bool,
) -> int:
    """Print a document as the state of its run has it, and where the logs tell otherwise.

    Args:
        file: The project file or folder.
        key: The document's.
        product: Its product; empty for the only one.
        others: The options that were given beside it and do not go with it.
        batch: After which batch; None for the last one.
        records: How many records of a topic are read at most.
        as_json: Whether to print JSON.

    Returns:
        0; 1 where there is no document, 3 where the logs tell otherwise.

    Raises:
        ProjectErrors: The project is wrong.
        WhyError: What is asked has no answer.
        StateReadError: There is no such state.
    """
    if others:
        raise WhyError(f"--state cannot be combined with {others[0]}")
    if not key:
        raise WhyError("why needs a key with --state")
    found = state(file, product or _only(file), key, batch=batch, records=records)
    if as_json:
        _write_json(found.to_json())
    else:
        sys.stdout.writelines(f"{line}\n" for line in found.text_lines())
    if found.differences:
        return FOUND
    return FAILED if found.document is None else DONE


def refuse_arguments(given: Sequence[str]) -> None:
    """Refuse arguments behind the key: one of them may be a product, or a column of the key.

    Raises:
        WhyError: There is one.
    """
    if given:
        raise WhyError(
            f'why takes one key, and no argument "{given[0]}" behind it',
            hint="Name the product with --product P; write the columns of a key as one, with"
            " commas: de,42.",
        )


def _run_row(
    file: Path,
    row: str,
    product: str,
    *,
    records: int,
    as_json: bool,
    process: DoorProcess | None,
) -> int:
    asked = [product] if product else []
    found = where_to(file, row, *asked, records=records, process=process)
    if as_json:
        _write_json([each.to_json() for each in found])
    else:
        sys.stdout.writelines(f"{line}\n" for line in _reached(found))
        sys.stdout.flush()
        for one in found[:1]:  # All are of the same logs.
            sys.stderr.writelines(f"{line}\n" for line in _unread(one.left, one.gone))
    return DONE if any(each.roots for each in found) else FAILED


def _only(file: Path) -> str:
    return only_product(load_spec(file), "why", "Use --product P.")


def small_print(found: Why) -> Iterator[str]:
    """Yield what was read for an answer, and what it may lack."""
    read = ", ".join(f"{name} {count:,}" for name, count in found.read.items())
    by = "positions" if found.ordered == "position" else "the times of files"
    yield f"read: {read}; records of different logs are in the order of {by}"
    for name, count in found.ignored.items():
        did = "update or delete" if count == 1 else "updates and deletes"
        yield f"{name} is append: {count:,} {did} in its log had no effect"
    yield from _unread(found.left, found.gone)


def _unread(left: Mapping[str, int], gone: Mapping[str, str]) -> Iterator[str]:
    """Yield what an answer may lack since it was not read, by relation."""
    for name, count in left.items():
        yield f"warning: {count:,} more records of {name} were not read; --records takes more"
    for name, what in gone.items():
        yield f"warning: the log of {name} no longer has {what}; what it contained is not shown"


def _reached(found: list[Reach]) -> Iterator[str]:
    for each in found:
        count = len(each.roots)
        named = ", ".join(each.roots[:_ROOTS]) + (", …" if count > _ROOTS else "")
        noun = "document" if count == 1 else "documents"
        by = f" by {each.path}" if each.path else ", as its root"
        yield f"{each.product}  {count:,} {noun}{by}{named and f': {named}'}"


def _write_json(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value, ensure_ascii=False, indent=2)}\n")
