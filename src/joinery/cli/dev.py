"""`joinery dev`: the real servers that a project needs, on this machine, by one command."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joinery.cli.ending import DONE, FAILED, one_line
from joinery.errors import JoineryError

if TYPE_CHECKING:
    from joinery.dev.service import Service

dev = typer.Typer(no_args_is_help=True, help="Start, stop and inspect a project's local servers.")
Folder = Annotated[
    Path, typer.Option("--folder", metavar="DIR", help="Where their data and logs are kept.")
]
Services = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SERVICE",
        help="postgres, kafka, connect, registry, opensearch, redis, dynamodb, mariadb.",
    ),
]
_FOLDER = Path(".joinery/dev")
_MIB = 1 << 20


@dev.command()
def up(services: Services = None, folder: Folder = _FOLDER) -> None:
    """Start servers: PostgreSQL, Kafka and Connect with Debezium, or those named."""
    from joinery.artifact import ArtifactError
    from joinery.dev.development import DevelopmentStack
    from joinery.dev.service import ServiceError

    _tell_fetching()
    stack = DevelopmentStack(folder)
    began_at = time.monotonic()
    try:
        started = stack.up(services or (), lambda each: _say(f"starting {each.name}\n"))
    except (ArtifactError, ServiceError) as error:
        raise typer.Exit(_tell_failure(error)) from None
    _say(f"\n{_addresses(started)}\nAll ready after {time.monotonic() - began_at:.1f} s.\n")
    _say(f"For ${{NAME}} in project files: set -a; . {_shown(stack.env)}; set +a\n")


@dev.command()
def down(
    services: Services = None,
    folder: Folder = _FOLDER,
    wipe: Annotated[bool, typer.Option("--wipe", help="Also delete their data and logs.")] = False,
) -> None:
    """Stop all servers, or those named."""
    from joinery.dev.development import DevelopmentStack

    stopped = DevelopmentStack(folder).down(
        services or (), lambda each: _say(f"stopping {each.name}\n"), wipe=wipe
    )
    if not stopped:
        _say("Nothing was started here.\n")


@dev.command()
def capture(
    name: Annotated[
        str, typer.Argument(help="The connector's name; topics are NAME.SCHEMA.TABLE.")
    ],
    tables: Annotated[
        list[str], typer.Argument(metavar="SCHEMA.TABLE", help="The tables to capture.")
    ],
    database: Annotated[
        str,
        typer.Option(
            "--database", metavar="URL", help="The database; the local PostgreSQL by default."
        ),
    ] = "",
    folder: Folder = _FOLDER,
) -> None:
    """Have Debezium capture tables in addition to those it captures already."""
    from joinery.dev.capture_tables import capture_tables
    from joinery.dev.development import DevelopmentStack
    from joinery.onboarding.postgres_catalog import read_tables

    stack = DevelopmentStack(folder)
    worker = stack.service("connect")
    url = database or stack.service("postgres").address
    named = [str(each.name) for each in read_tables(url, tables)]
    fresh = capture_tables(worker, name, database=url, tables=named)
    for table in named:
        _say(f"{name}.{table}{'' if table in fresh else ' was captured before'}\n")


@dev.command()
def status(
    folder: Folder = _FOLDER,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Show what runs, where, and how much memory it uses; exit with 1 if a server is not ready."""
    from joinery.dev.development import DevelopmentStack
    from joinery.dev.service import State

    rows = [_row(each) for each in DevelopmentStack(folder).known()]
    if as_json:
        _say(f"{json.dumps(rows)}\n")
    elif rows:
        _print_table(rows)
    else:
        _say("Nothing was started here: joinery dev up.\n")
    raise typer.Exit(DONE if all(row["state"] == State.READY.value for row in rows) else FAILED)


def _row(service: Service) -> dict[str, object]:
    return {
        "service": service.name,
        "state": service.state.value,
        "pid": service.pid,
        "memory_mib": service.resident_bytes // _MIB,
        "addresses": dict(service.addresses),
        "log": str(service.log),
    }


def _print_table(rows: list[dict[str, object]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("service", "state", "pid", "MiB", "address", "log", box=None, pad_edge=False)
    for row in rows:
        addresses = row["addresses"]
        where = ", ".join(addresses.values()) if isinstance(addresses, dict) else ""
        cells = (row["service"], row["state"], row["pid"] or "", row["memory_mib"] or "", where)
        table.add_row(*map(str, cells), _shown(Path(str(row["log"]))))
    # Wide where nobody looks, so that no address is broken in two.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def _addresses(services: list[Service]) -> str:
    return "".join(f"{k}={v}\n" for each in services for k, v in each.addresses.items())


def _tell_failure(error: JoineryError) -> int:
    """Write the error as one line, below it the end of the server's log."""
    tail, error.detail = error.detail, ""
    sys.stderr.write(f"{one_line(error)}\n")
    sys.stderr.write("".join(f"  | {line}\n" for line in tail.splitlines()))
    return FAILED


def _tell_fetching() -> None:
    """Show what is fetched: it takes a while."""
    log = logging.getLogger("joinery.artifact")
    log.addHandler(logging.StreamHandler(sys.stdout))
    log.setLevel(logging.INFO)


def _shown(path: Path) -> str:
    """Return a path as short as it can be told from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
