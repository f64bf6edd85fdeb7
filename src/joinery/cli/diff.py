"""`joinery diff`: the documents in sinks against the database that they come from."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from joinery.app.diff import diff
from joinery.audit.error import DiffError
from joinery.cli.ending import DONE, FAILED, FOUND, WRONG
from joinery.cli.status_arguments import names_a_project


def run_diff(
    file: Path,
    products: Sequence[str],
    *,
    database: str,
    sample: str,
    rate: str,
    resume: bool,
    repair: bool,
    wait: str,
    as_json: bool,
) -> int:
    """Compare, and print what was found.

    Returns:
        0; 3 where documents differ; 1 where a sink could not be read; 2 where one of the products
        that are named cannot be compared, or nothing was.

    Raises:
        ProjectErrors: The project is wrong.
        DiffError: Nothing can be compared.
    """
    found = diff(
        file,
        *products,
        database=database,
        sample=sample,
        rate=per_second(rate),
        resume=resume,
        repair=repair,
        wait=wait,
    )
    if as_json:
        sys.stdout.write(f"{json.dumps(found.to_json(), ensure_ascii=False, indent=2)}\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in found.lines())
    if found.differ:
        return FOUND
    if any(each.failed for each in found.refused):
        return FAILED
    refused = {each.product for each in found.refused}
    return WRONG if refused.intersection(products) or not found.parts else DONE


def refuse_arguments(given: Sequence[str]) -> None:
    """Refuse arguments without an option, since one may be a product or a file.

    Raises:
        DiffError: There is one.
    """
    if not given:
        return
    first = given[0]
    option = "--file" if names_a_project(first) or Path(first).exists() else "--product"
    raise DiffError(
        f'diff takes no argument "{first}" without an option', hint=f"Use {option} {first}."
    )


def per_second(rate: str) -> float | None:
    """Return how many documents a second a rate allows; None where it sets no bound.

    Raises:
        DiffError: It is not a rate.
    """
    if not rate:
        return None
    try:
        found = float(rate.removesuffix("/s"))
    except ValueError:
        found = 0.0
    if found <= 0:
        raise DiffError(f'"{rate}" is not a rate', hint="Write it as 100/s.")
    return found
