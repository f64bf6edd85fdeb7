"""`joinery source`: databases whose logs are captured: told of, read again, paused and given up."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joinery.text.columns import aligned

if TYPE_CHECKING:
    from joinery.capture.spool import SpoolFolder
    from joinery.project.kind import SourceSpec
    from joinery.project.product import ProjectSpec

source = typer.Typer(
    no_args_is_help=True, help="Begin, inspect, pause and drop the capture of databases."
)
File = Annotated[
    Path,
    typer.Option("--file", metavar="FILE", help="The project file, or a folder of such files."),
]
Name = Annotated[str, typer.Argument(metavar="SOURCE", help="Its name in the project file.")]
_FILE = Path("joinery.yaml")
_BOUNDED = "until then joinery capture may take the log, so that the server need not keep it"
_UNBOUNDED = (
    "the server keeps that log without a limit (max_slot_wal_keep_size is -1): let joinery capture"
    " run until then, which takes it and obeys max_wal"
)


@source.command()
def status(
    names: Annotated[list[str] | None, typer.Argument(metavar="SOURCE", help="Only these.")] = None,
    file: File = _FILE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how far the logs of databases are captured, and what their slots retain."""
    from joinery.capture.state import state_of
    from joinery.cli.capture import captured_sources
    from joinery.project.load import load_spec
    from joinery.spark.batch.captures import database_of

    spec = load_spec(file)
    states = []
    for each in captured_sources(spec, names or ()):
        database, spool = database_of(spec, each)
        states.append(state_of(each.name, database, spool))
    if as_json:
        sys.stdout.write(f"{json.dumps([each.to_json() for each in states])}\n")
        return
    for state in states:
        sys.stdout.write("\n".join((*aligned(state.rows()), "")))


@source.command()
def begin(
    name: Name,
    file: File = _FILE,
) -> None:
    """Have a database retain its log from now on, so that its tables can be exported."""
    from joinery.capture.sql import lsn_text
    from joinery.cli.capture import captured_sources
    from joinery.cli.project import warnings_once
    from joinery.project.load import load_spec
    from joinery.spark.batch.exports import begin_source

    spec = load_spec(file)
    (chosen,) = captured_sources(spec, (name,))
    database, begun = begin_source(spec, chosen, on_warning=warnings_once())
    _note(spec, "begin", name)
    since = datetime.fromtimestamp(begun.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    place = "" if begun.lsn is None else f", {lsn_text(begun.lsn)}"
    sys.stdout.write(
        f'slot "{database.slot}" keeps the log of {database.shown} from {since}{place} on\n'
        "now export the tables to Parquet, then: joinery run --bootstrap-from parquet FOLDER\n"
        f"{_UNBOUNDED if begun.unbounded else _BOUNDED}\n"
    )


@source.command()
def drop(
    name: Name,
    file: File = _FILE,
) -> None:
    """Remove a source's slot, publication and spool; the database stops retaining its log."""
    from joinery.capture.state import drop_source
    from joinery.cli.capture import captured_sources
    from joinery.project.load import load_spec
    from joinery.spark.batch.captures import database_of

    spec = load_spec(file)
    (chosen,) = captured_sources(spec, (name,))
    database, spool = database_of(spec, chosen)
    found = drop_source(database, spool)
    if not found:
        slot = f'no slot and no publication "{database.slot}", ' if _has_slot(chosen) else ""
        sys.stdout.write(f'there was nothing to drop of source "{name}": {slot}no {spool.path}\n')
        return
    _note(spec, "drop", name, ", ".join(found))
    sys.stdout.write(f"removed {', '.join(found)}; joinery run --rebuild reads the tables again\n")


@source.command("read-again")
def read_again(
    name: Name,
    file: File = _FILE,
) -> None:
    """Read the tables of a source again in full, beside its log; new products may need it."""
    from joinery.cli.capture import captured_sources
    from joinery.project.load import load_spec
    from joinery.spark.batch.captures import database_of, read_source_again

    spec = load_spec(file)
    (chosen,) = captured_sources(spec, (name,))
    database, _ = database_of(spec, chosen)
    tables = read_source_again(spec, chosen)
    if not tables:
        sys.stdout.write(
            f'the tables of source "{name}" were not read yet: joinery run reads them\n'
        )
        return
    _note(spec, "read-again", name, ", ".join(tables))
    sys.stdout.write(
        f"{', '.join(tables)} of {database.shown} will be read again, alongside the log, while"
        " joinery run or joinery capture is active; joinery source status shows when that is done\n"
    )


@source.command()
def pause(
    name: Name,
    file: File = _FILE,
) -> None:
    """Pause the capture of a source, also in later runs; the slot retains the log."""
    from joinery.delivery.control import who

    spec, chosen, spool = _spool(file, name)
    if not spool.pause(who()):
        paused = spool.paused
        sys.stdout.write(
            f'source "{name}" is paused already{f" by {paused.by}" if paused else ""}\n'
        )
        return
    _note(spec, "pause", name)
    kept = "meanwhile" if _has_slot(chosen) else "for as long as it is set to"
    sys.stdout.write(
        f'source "{name}" is paused, and its database keeps its log {kept};'
        f" joinery source resume {name} continues\n"
    )


@source.command()
def resume(
    name: Name,
    file: File = _FILE,
) -> None:
    """Resume a paused capture where it stopped."""
    spec, _, spool = _spool(file, name)
    if spool.resume():
        _note(spec, "resume", name)
        sys.stdout.write(f'source "{name}" is no longer paused\n')
    else:
        sys.stdout.write(f'source "{name}" was not paused\n')


def _has_slot(source: SourceSpec) -> bool:
    """Return whether the database keeps its log for a source until that has it."""
    return source.kind == "postgres"


def _note(spec: ProjectSpec, verb: str, source: str, told: str = "") -> None:
    """Write down who did what to a source."""
    from joinery.delivery.action_log import ActionLog

    ActionLog(spec.checkpoint).note(f"source {verb}", (source,), told)


def _spool(file: Path, name: str) -> tuple[ProjectSpec, SourceSpec, SpoolFolder]:
    from joinery.cli.capture import captured_sources
    from joinery.project.load import load_spec
    from joinery.spark.batch.captures import database_of

    spec = load_spec(file)
    (chosen,) = captured_sources(spec, (name,))
    return spec, chosen, database_of(spec, chosen)[1]
