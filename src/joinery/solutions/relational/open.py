"""Opens `rdbms-store`: the driver over the database that the options name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.solutions.relational.postgres import PostgresState, postgres_reader
from joinery.solutions.relational.sqlite import SqliteState, sqlite_reader
from joinery.solutions.stored.crew import crew_of
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.reading import Task
from joinery.solutions.stored.state import JoinState, StateReader, StoreSolution

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

FILE = "rdbms-store.db"
_SQLITE = "sqlite:///"


def rdbms_store(
    products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the solution `rdbms-store`; without `database` it keeps a SQLite file.

    Raises:
        SpecError: The database is none that it knows.
        StoreError: The database cannot be used.
    """
    limit = place.max_document_bytes
    state, reader = open_state(
        products, str(options.get("database", "")), str(options.get("schema") or "joinery"), place
    )
    team = crew_of(Task(products, reader, limit), options.get("processes"))
    return StoreDriver(products, state, max_document_bytes=limit, team=team)


def open_state(
    products: Sequence[Product], database: str, schema: str, place: SolutionPlace
) -> tuple[JoinState, Callable[[], StateReader]]:
    """Return the join state in the database of a URL, and what opens it elsewhere to be read.

    An empty URL is a file in the checkpoint.
    """
    query, owner = place.query, place.owner
    if database.startswith(("postgresql://", "postgres://")):
        return (
            PostgresState(products, database, schema=schema, name=query, owner=owner),
            partial(postgres_reader, products, database, schema=schema, name=query),
        )
    path = _path(database, place)
    return (
        SqliteState(products, path, name=query, owner=owner),
        partial(sqlite_reader, products, path, query),
    )


def _path(database: str, place: SolutionPlace) -> Path:
    if not database:
        return place.folder / FILE
    if database.startswith(_SQLITE) and len(database) > len(_SQLITE):
        path = place.project / Path(database.removeprefix(_SQLITE)).expanduser()
        return path.absolute()
    raise SpecError(
        'option "database" of "rdbms-store" names no database that it knows',
        detail=f"It begins with {database.partition(':')[0][:20]}:.",
        hint="Write sqlite:///path, or postgresql://user:password@host:port/database.",
        code="SPEC_VALUE",
    )
