"""`joinery state`: the documents that the state of a run has, as lines of the files sink."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from joinery.app.document_product import only_product
from joinery.app.state_documents import state_lines
from joinery.app.state_rows import row_lines
from joinery.app.state_sizes import state_sizes
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
    name = _product(file, product)
    found = state_lines(file, name, key=asked, batch=batch, sample=sample)
    with closing(found):
        for lines in found:
            sys.stdout.buffer.write(lines)
        sys.stdout.flush()
    return DONE


def run_state_rows(file: Path, product: str, key: str, *, batch: int | None) -> int:
    """Print the rows of one document as the state of its run has them, a line each.

    Args:
        file: The project file or folder.
        product: The product; empty for the only one.
        key: The document's.
        batch: After which batch; None for the last one.

    Raises:
        ProjectErrors: The project is wrong.
        WhyError: What is asked does not fit the product.
        StateReadError: There is no such state.
    """
    for line in row_lines(file, _product(file, product), key, batch=batch):
        sys.stdout.write(line)
    return DONE


def run_state_sizes(file: Path, product: str, *, batch: int | None) -> int:
    """Print how much state the nodes of a product's query keep, as a table.

    Args:
        file: The project file or folder.
        product: The product; empty for the only one.
        batch: After which batch; None for the last one.

    Raises:
        ProjectErrors: The project is wrong.
        WhyError: There is no such product, or there are several.
        StateReadError: There is no such state.
    """
    sys.stdout.write(f"{state_sizes(file, _product(file, product), batch=batch)}\n")
    return DONE


def _product(file: Path, named: str) -> str:
    return named or only_product(load_spec(file), "joinery state", "Write joinery state P.")
