"""What `rdbms-store` takes: a database, in which `rdbms-trigger` keeps the same tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from joinery.errors import SpecError
from joinery.project.option import count, options, text

if TYPE_CHECKING:
    from joinery.plan.product import Product
    from joinery.solutions.choose import SolutionPlace
    from joinery.solutions.stored.state import JoinState, StateReader, StoreSolution

POSTGRES = ("postgresql://", "postgres://")
_SQLITE = "sqlite:///"


@options
class DatabaseOptions:
    """A database of rows, by URL; without one a SQLite file beside the checkpoint."""

    solution: ClassVar[str]

    database: str = text(
        "The database; by default an SQLite file next to the checkpoint.",
        default="",
        pattern=r"^(postgres(ql)?|sqlite)://",
        examples=["postgresql://user:password@host:5432/name", "sqlite:///path/to/file"],
        secret=True,
    )
    schema: str = text("The schema of the tables, in PostgreSQL.", default="joinery")

    @property
    def in_postgres(self) -> bool:
        """Whether the database is in PostgreSQL."""
        return self.database.startswith(POSTGRES)

    @property
    def server(self) -> str | None:
        """The kind of server that is paid for by the hour, as prices name it."""
        return "database" if self.in_postgres else None

    def refuse(self, products: Sequence[Product]) -> None:
        """Refuse products of a query for which the database could not have tables.

        Raises:
            SpecError: The URL is neither that of a file nor of PostgreSQL.
            StoreError: It cannot name a table or a column.
        """
        query = products[0].query
        if self.in_postgres:
            from joinery.solutions.relational import postgres

            postgres.named_tables(products, self.schema, query)
        else:
            from joinery.solutions.relational import sqlite

            if self.database:
                self.path()
            sqlite.named_tables(products, query)

    def file(self, place: SolutionPlace) -> Path:
        """Return the SQLite file of a query.

        Raises:
            SpecError: The URL is neither that of a file nor of PostgreSQL.
        """
        if not self.database:
            return place.folder / f"{self.solution}.db"
        return (place.project / Path(self.path()).expanduser()).absolute()

    def path(self) -> str:
        """Return the path in the URL of a SQLite file, as written.

        Raises:
            SpecError: It is no such URL.
        """
        if self.database.startswith(_SQLITE) and len(self.database) > len(_SQLITE):
            return self.database.removeprefix(_SQLITE)
        raise SpecError(
            f'option "database" of "{self.solution}" does not name a database that it can use',
            detail=f"It begins with {self.database.partition(':')[0][:20]}:.",
            hint="Write sqlite:///path, or postgresql://user:password@host:port/database.",
            code="SPEC_VALUE",
        )


@options
class RdbmsStoreOptions(DatabaseOptions):
    """`{rdbms-store: {database: postgresql://host/name, schema: joinery}}`."""

    solution = "rdbms-store"

    processes: int | None = count(
        "Processes that assemble documents; by default one per processor, up to 4.", default=None
    )

    def make(self, products: Sequence[Product], place: SolutionPlace) -> StoreSolution:
        """Return the solution of a query, its database ready.

        Raises:
            SpecError: The database is none that it knows.
            StoreError: The database cannot be used.
        """
        from joinery.solutions.stored.crew import crew_of
        from joinery.solutions.stored.driver import StoreDriver
        from joinery.solutions.stored.reading import Task

        limit = place.max_document_bytes
        state, reader = self._opened(products, place)
        team = crew_of(Task(products, reader, limit), self.processes)
        return StoreDriver(products, state, max_document_bytes=limit, team=team)

    def _opened(
        self, products: Sequence[Product], place: SolutionPlace
    ) -> tuple[JoinState, Callable[[], StateReader]]:
        """Return the join state, and what opens it in another process to be read."""
        query, owner = place.query, place.owner
        if self.in_postgres:
            from joinery.solutions.relational.postgres import PostgresState, postgres_reader

            where = {"schema": self.schema, "name": query}
            return (
                PostgresState(products, self.database, **where, owner=owner),
                partial(postgres_reader, products, self.database, **where),
            )
        from joinery.solutions.relational.sqlite import SqliteState, sqlite_reader

        path = self.file(place)
        return (
            SqliteState(products, path, name=query, owner=owner),
            partial(sqlite_reader, products, path, query),
        )
