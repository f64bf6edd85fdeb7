"""`joinery state`: the documents that the state of a run has, as lines of the files sink."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from joinery.app.logs import WhyError
from joinery.app.state_documents import state_lines
from joinery.cli.ending import DONE
from joinery.project.load import load_spec


def run_state_documents(
    file: Path, product: str, key: str | None, *, batch: int | None, sample: str
) -> int:
    """Print the documents of a product as the state of its run has them, a line each.

    Args:
        file: The project file or folder.
        product: The product; empty for the only one.
        key: What their keys begin with; None for all.
        batch: After which batch; None for the last one.
        sample: A share of them; empty for all.

    Raises:
        ProjectErrors: The project is wrong.
        WhyError: What is asked does not fit the product.
        StateReadError: There is no such state.
    """
    asked = () if key is None else key
    found = state_lines(file, product or _only(file), key=asked, batch=batch, sample=sample)
    with closing(found):
        for lines in found:
            sys.stdout.buffer.write(lines)
        sys.stdout.flush()
    return DONE


def _only(file: Path) -> str:
    names = [each.name for each in load_spec(file).products]
    if len(names) == 1:
        return names[0]
    raise WhyError(
        "which product?",
        detail=f"The project has {', '.join(names) or 'none'}.",
        hint=f"Write joinery state {names[0]}." if names else "",
    )
