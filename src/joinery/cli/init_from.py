"""`joinery init --from`: a project that keeps documents of the tables of a database."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from joinery.capture.mysql import MysqlDatabase
from joinery.capture.postgres import PostgresDatabase, check_server
from joinery.capture.spool import CaptureError
from joinery.cli.ending import DONE
from joinery.cli.init import (
    PROJECT_FILE,
    SCHEMA,
    InitError,
    refuse_standing,
    say_next,
    write_new,
)
from joinery.clients.postgres import shown
from joinery.errors import ProjectErrors
from joinery.model.table import DatabaseSchema, TableName
from joinery.onboarding import mysql_catalog, postgres_catalog
from joinery.onboarding.proposal import Proposal, propose
from joinery.onboarding.proposal_text import VARIABLE, Origin, project_text, without_password
from joinery.plan.build import examine
from joinery.project.load import load_parts
from joinery.project.schema import schema_text

POSTGRES = ("postgresql://", "postgres://")
MYSQL = ("mysql://", "mariadb://")
_ENVIRONMENT = "SPEC_ENVIRONMENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a database has, and how well it can be captured.

    Attributes:
        kind: Of the source that reads it.
        schema: Its tables.
        home: The schema whose tables need not be named with it.
        unfit: Why some of the tables cannot be captured.
        lack: Why none can yet; nothing where they can.
        unwritten: What may be set instead of the password in the URL.
    """

    kind: Literal["postgres", "mysql"]
    schema: DatabaseSchema
    home: str
    unfit: Mapping[TableName, str]
    lack: str
    unwritten: str


def run_init_from(folder: Path, url: str, schemas: Sequence[str]) -> int:
    """Write a project that keeps documents of the tables of a database.

    Args:
        folder: Where it is written; nothing that stands there is overwritten.
        url: The database.
        schemas: Those that are looked at; where none is named, all of PostgreSQL, and of MySQL
            the database of the URL.

    Raises:
        JoineryError: The database does not answer or offers nothing, or a file cannot be written.
    """
    if not url.startswith((*POSTGRES, *MYSQL)):
        raise InitError(
            "tables cannot be read from there",
            hint="Write --from postgresql://user:password@host:5432/database, or mysql://….",
        )
    refuse_standing(folder, (PROJECT_FILE, SCHEMA))
    found = _postgres(url, schemas) if url.startswith(POSTGRES) else _mysql(url, schemas)
    proposal = propose(found.schema.tables, found.unfit, found.home)
    if not proposal.relations:
        raise InitError(
            f"no table of {shown(url)} can become a relation",
            detail="; ".join(proposal.left_out),
        )
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", found.schema.name)
    text = project_text(proposal, Origin(name, shown(url), url, found.kind))
    _check(folder / PROJECT_FILE, text)
    write_new(folder, {PROJECT_FILE: text, SCHEMA: schema_text()})
    _tell(proposal, found, url)
    say_next(folder, "joinery check && joinery explain && joinery run")
    return DONE


def _postgres(url: str, schemas: Sequence[str]) -> _Found:
    schema = postgres_catalog.read_database(url, schemas)
    return _Found(
        kind="postgres",
        schema=schema,
        home="public",
        unfit={
            each: f"this user may not read it; grant select on {each}" for each in schema.unreadable
        },
        lack=_lack(lambda: check_server(PostgresDatabase(url, "", ()))),
        unwritten=", or PGPASSWORD",
    )


def _mysql(url: str, schemas: Sequence[str]) -> _Found:
    schema, database = mysql_catalog.read_database(url, schemas), MysqlDatabase(url, "", (), 0)
    unfit = {
        each.name: _lack(partial(database.check_joining, str(each.name))).removeprefix(
            f"table {each.name} "
        )
        for each in schema.tables
    }
    return _Found(
        kind="mysql",
        schema=schema,
        home=schema.name,
        unfit=unfit,
        lack=_lack(database.check_server),
        unwritten="",
    )


def _check(file: Path, text: str) -> None:
    """Refuse a text that is not a project, which only a name unheard of could make it."""
    spec, problems = load_parts(file, instead={str(file): text})
    told = [each for each in problems if each.code != _ENVIRONMENT]
    if spec is not None and not told:
        told = list(examine(spec)[1])
    if told:
        raise ProjectErrors(tuple(told))


def _tell(proposal: Proposal, found: _Found, url: str) -> None:
    """Say what is in the project, what is not, and what its database still lacks."""
    documents = ", ".join(each.name for each in proposal.products)
    sys.stdout.write(f"\n{len(proposal.relations)} relations; documents: {documents}\n")
    notes = [f"{relation}: {each}" for relation, told in proposal.notes.items() for each in told]
    for each in (*(f"left out: {each}" for each in proposal.left_out), *notes, found.lack):
        if each:
            sys.stderr.write(f"warning: {each}\n")
    if without_password(url) != url:
        sys.stdout.write(
            f"The password is not written: export {VARIABLE}=… first{found.unwritten}.\n"
        )


def _lack(check: Callable[[], None]) -> str:
    """Return why a check does not pass; nothing where it does."""
    try:
        check()
    except CaptureError as error:
        return f"{error.message}; {error.hint}"
    return ""
