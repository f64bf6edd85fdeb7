"""`joinery init`: a small project that runs as it is."""

from __future__ import annotations

import sys
from pathlib import Path

from joinery.cli.report import DONE
from joinery.cli.template import FILES
from joinery.errors import SpecError
from joinery.spec.schema import schema_text


class InitError(SpecError):
    """A project cannot be written here."""

    code = "INIT"


def run_init(folder: Path) -> int:
    """Write the project into `folder`; nothing that stands there is overwritten.

    Raises:
        InitError: One of its files is there already, or the folder cannot be written.
    """
    files = {**FILES, "joinery.schema.json": schema_text()}
    standing = [name for name in files if (folder / name).exists()]
    if standing:
        raise InitError(
            f"{folder / standing[0]} is there already",
            detail="Nothing was written.",
            hint="Name an empty folder: joinery init FOLDER.",
        )
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InitError(f"could not write into {folder}: {error.strerror}") from error
    inside = "" if folder == Path() else f"cd {folder} && "
    sys.stdout.write(
        "".join(f"{folder / name}\n" for name in files)
        + f"\nNext: {inside}joinery check && joinery test && joinery run --once\n"
    )
    return DONE
