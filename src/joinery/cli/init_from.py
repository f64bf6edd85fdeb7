"""`joinery init --from`: a project that keeps documents of the tables of a database."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from joinery.capture.postgres import PostgresDatabase, check_server
from joinery.capture.spool import CaptureError
from joinery.cli.init import (
    PROJECT_FILE,
    SCHEMA,
    InitError,
    refuse_standing,
    say_next,
    write_new,
)
from joinery.cli.project import DONE
from joinery.clients.postgres import shown
from joinery.errors import ProjectErrors
from joinery.onboarding.postgres_catalog import read_database
from joinery.onboarding.proposal import Proposal, propose
from joinery.onboarding.proposal_text import VARIABLE, Origin, project_text, without_password
from joinery.plan.build import examine
from joinery.project.load import load_parts
from joinery.project.schema import schema_text

_DATABASES = ("postgresql://", "postgres://")
_ENVIRONMENT = "SPEC_ENVIRONMENT"


def run_init_from(folder: Path, url: str, schemas: Sequence[str]) -> int:
    """Write a project that keeps documents of the tables of a database.

    Args:
        folder: Where it is written; nothing that stands there is overwritten.
        url: The database.
        schemas: Those that are looked at; all where none is named.

    Raises:
        JoineryError: The database does not answer or offers nothing, or a file cannot be written.
    """
    if not url.startswith(_DATABASES):
        raise InitError(
            "tables cannot be read from there",
            hint="Write --from postgresql://user:password@host:5432/database.",
        )
    refuse_standing(folder, (PROJECT_FILE, SCHEMA))
    database = read_database(url, schemas)
    proposal = propose(database.tables, database.unreadable)
    if not proposal.relations:
        raise InitError(
            f"no table of {shown(url)} can become a relation",
            detail="; ".join(proposal.left_out),
        )
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", database.name)
    text = project_text(proposal, Origin(name, shown(url), url))
    _check(folder / PROJECT_FILE, text)
    write_new(folder, {PROJECT_FILE: text, SCHEMA: schema_text()})
    _tell(proposal, url)
    say_next(folder, "joinery check && joinery explain && joinery run")
    return DONE


def _check(file: Path, text: str) -> None:
    """Refuse a text that is no project, which only a name unheard of could make it."""
    spec, problems = load_parts(file, instead={str(file): text})
    told = [each for each in problems if each.code != _ENVIRONMENT]
    if spec is not None and not told:
        told = list(examine(spec)[1])
    if told:
        raise ProjectErrors(tuple(told))


def _tell(proposal: Proposal, url: str) -> None:
    """Say what is in the project, what is not, and what its database still lacks."""
    documents = ", ".join(each.name for each in proposal.products)
    sys.stdout.write(f"\n{len(proposal.relations)} relations; documents: {documents}\n")
    notes = [f"{relation}: {each}" for relation, found in proposal.notes.items() for each in found]
    for each in (*(f"left out: {each}" for each in proposal.left_out), *notes, _lack(url)):
        if each:
            sys.stderr.write(f"warning: {each}\n")
    if without_password(url) != url:
        sys.stdout.write(
            f"The password is not written: export {VARIABLE}=… first, or PGPASSWORD.\n"
        )


def _lack(url: str) -> str:
    """Return why changes cannot be captured yet; nothing where they can."""
    try:
        check_server(PostgresDatabase(url, "", ()))
    except CaptureError as error:
        return f"{error.message}; {error.hint}"
    return ""
