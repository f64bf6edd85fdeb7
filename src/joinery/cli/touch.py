"""`joinery touch`: documents sent again though nothing changed."""

from __future__ import annotations

import sys
from pathlib import Path

from joinery.app.document_product import only_product
from joinery.app.touch import TouchError, touch
from joinery.cli.ending import DONE, FAILED
from joinery.project.load import load_spec


def run_touch(file: Path, key: str, product: str, *, every: bool, timeout: str) -> int:
    """Send the documents again whose keys begin so; return 1 where some were not.

    Raises:
        ProjectErrors: The project is wrong.
        TouchError: No document is meant, or it cannot be sent again.
    """
    if bool(key) == every:
        raise TouchError(
            "it is not said which documents are to be sent again",
            hint="Name the key, or the values that it begins with; or --all.",
        )
    name = product or only_product(load_spec(file), "joinery touch", "Write --product P.")
    found = touch(file, name, key if key else (), wait=timeout)
    sys.stdout.write(f"{found}\n")
    sys.stderr.writelines(f"{each}\n" for each in found.notes)
    return DONE if found.sent == found.found else FAILED
