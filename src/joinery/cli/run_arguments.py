"""The arguments of `joinery run`, and which of them go together.

Bad ones are refused before anything starts.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import SpecError
from joinery.project.captured import CAPTURED
from joinery.project.quantity import duration_ms

if TYPE_CHECKING:
    from joinery.project.product import ProjectSpec

_DEFAULT = Path("joinery.yaml")
_LEFT_OUT = "Leave --bootstrap-from out: the capture reads them before it follows the log."


class RunArgumentError(SpecError):
    """The arguments of `run` cannot go together."""

    code = "RUN_ARGUMENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """What `joinery run` was asked.

    Attributes:
        file: The project file or folder.
        once: Read what there is, then end.
        until_closed: With `once`: then treat every log as ended.
        wait: With `once`: a duration, the longest wait for anything that is away.
        products: The products to run; empty means all.
        solution: Overrides the products' own.
        real_time: Use Spark's real-time mode instead of micro-batches.
        rebuild: Read everything again, then take the place of what is there.
        restored: Go on from a checkpoint that is older than what was sent from it.
        bootstrap_from: Where state comes from: the sources, the tables of a database in bulk, an
            export of them in Parquet, or the checkpoint of another solution.
        export: The folder of the export.
        settings: `dotted.key=value`, put into the project file.
        master: Spark's master.
    """

    file: Path
    once: bool = False
    until_closed: bool = False
    wait: str | None = None
    products: tuple[str, ...] = ()
    solution: str | None = None
    real_time: bool = False
    rebuild: bool = False
    restored: bool = False
    bootstrap_from: str | None = None
    export: Path | None = None
    settings: tuple[str, ...] = ()
    master: str | None = None


def check_arguments(arguments: RunArguments) -> None:
    """Refuse arguments that cannot go together, whatever the project is.

    Raises:
        RunArgumentError: Two of them, or one and its value, make no sense.
    """
    if arguments.real_time and arguments.once:
        raise RunArgumentError("--real-time never ends, so it cannot be combined with --once")
    if arguments.until_closed and not arguments.once:
        raise RunArgumentError("--until-closed says how --once ends, so it needs --once")
    if arguments.until_closed and arguments.rebuild:
        raise RunArgumentError(
            "--until-closed cannot be combined with --rebuild",
            hint="Rebuild first, then run --once --until-closed.",
        )
    if arguments.wait is not None and not arguments.once:
        raise RunArgumentError("--wait limits how long --once waits, so it needs --once")
    if arguments.wait is not None and duration_ms(arguments.wait) is None:
        raise RunArgumentError(
            f'--wait needs a duration, not "{arguments.wait}"', hint="Write one such as 5m or 90s."
        )
    if arguments.bootstrap_from not in (None, "source", "database", "parquet", "checkpoint"):
        raise RunArgumentError(
            f'join state cannot come from "{arguments.bootstrap_from}"',
            hint="Use --bootstrap-from source, database, parquet FOLDER or checkpoint.",
        )
    if arguments.bootstrap_from == "parquet" and arguments.export is None:
        raise RunArgumentError(
            "--bootstrap-from parquet needs the folder of an export",
            hint="Write --bootstrap-from parquet FOLDER.",
        )
    if arguments.restored and arguments.bootstrap_from is not None:
        raise RunArgumentError("--restored cannot be combined with --bootstrap-from")
    if arguments.restored and arguments.rebuild:
        raise RunArgumentError("--rebuild needs no checkpoint, so it needs no --restored")
    if arguments.real_time and arguments.rebuild:
        raise RunArgumentError(
            "--rebuild works in micro-batches, so it cannot be combined with --real-time"
        )


def check_bulk_start(arguments: RunArguments, spec: ProjectSpec) -> None:
    """Refuse to take the tables of a database at once where no source is one.

    Raises:
        RunArgumentError: None of the project's sources has tables that can be taken so.
    """
    kinds = {each.kind for each in spec.sources}
    match arguments.bootstrap_from:
        case "database" if kinds.isdisjoint(CAPTURED):
            raise RunArgumentError(
                "no source of the project is a database",
                hint="Use --bootstrap-from source; it reads the sources from their beginning.",
            )
        case "parquet" if "mysql" in kinds and "postgres" not in kinds:
            raise RunArgumentError(
                "tables of MySQL cannot be loaded from an export yet", hint=_LEFT_OUT
            )
        case "parquet" if "postgres" not in kinds:
            raise RunArgumentError(
                "no source of the project is a PostgreSQL database",
                detail="In Kafka and in files, nothing says where in the log an export belongs.",
                hint="Put its rows into the log, before the changes: see docs/rebuild.md.",
            )


def dead_letters_command(arguments: RunArguments) -> str:
    """Return the command that lists the dead letters of a run."""
    file = "" if arguments.file == _DEFAULT else f" --file {shlex.quote(str(arguments.file))}"
    return f"joinery dlq list{file}{' --real-time' if arguments.real_time else ''}"
