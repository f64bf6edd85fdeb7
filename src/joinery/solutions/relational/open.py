"""Opens `rdbms-store`: the driver over the database that the options name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.engine.driver import StoreDriver
from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.solutions.relational.postgres import PostgresState
from joinery.solutions.relational.sqlite import SqliteState
from joinery.solutions.store import JoinState, StoreSolution

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
    database = options.get("database", "")
    state = open_state(products, str(database), str(options.get("schema") or "joinery"), place)
    return StoreDriver(products, state, max_document_bytes=place.max_document_bytes)


def open_state(
    products: Sequence[Product], database: str, schema: str, place: SolutionPlace
) -> JoinState:
    """Return the join state in the database of a URL; an empty one is a file in the checkpoint."""
    if not database:
        return SqliteState(products, place.folder / FILE, name=place.query, owner=place.owner)
    if database.startswith(_SQLITE) and len(database) > len(_SQLITE):
        path = place.project / Path(database.removeprefix(_SQLITE)).expanduser()
        return SqliteState(products, path.absolute(), name=place.query, owner=place.owner)
    if database.startswith(("postgresql://", "postgres://")):
        return PostgresState(products, database, schema=schema, name=place.query, owner=place.owner)
    raise SpecError(
        'option "database" of "rdbms-store" names no database that it knows',
        detail=f"It begins with {database.partition(':')[0][:20]}:.",
        hint="Write sqlite:///path, or postgresql://user:password@host:port/database.",
        code="SPEC_VALUE",
    )
