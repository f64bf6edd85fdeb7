"""Connections to MySQL and MariaDB, whose errors never show the password.

Invariant: no message holds a password.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from joinery.errors import RunError, needs_extra

if TYPE_CHECKING:
    import pymysql

_CONNECT_S = 10
_ANSWER_S = 60
_PORT = 3306
_SSL_MODES = ("disabled", "preferred", "required")
_UNREACHED = "Check its URL, and that it is up."

CLIENT_ERRORS = range(2000, 3000)
"""Numbers of the driver's own errors: the server was not reached, or is gone."""


class MysqlError(RunError):
    """A server of MySQL or MariaDB refuses, or cannot be asked; `number` is its own."""

    def __init__(self, message: str, *, number: int = 0, detail: str = "", hint: str = "") -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.number = number


@dataclass(frozen=True, slots=True)
class MysqlAddress:
    """Where a database is, and as whom we go there.

    Attributes:
        ssl_mode: One of disabled, preferred, required.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    ssl_mode: str

    @classmethod
    def of(cls, url: str) -> MysqlAddress:
        """Return what a URL tells.

        Raises:
            MysqlError: It asks for a `ssl-mode` that is not there.

        Example:
            >>> MysqlAddress.of("mysql://ada:engine@db/shop").shown
            'db:3306/shop'
        """
        parts = urlsplit(url)
        given = parse_qs(parts.query)
        mode = next(iter(given.pop("ssl-mode", ())), "preferred").lower()
        if mode not in _SSL_MODES or given:
            wrong = next(iter(given), f"ssl-mode={mode}")
            raise MysqlError(
                f'the URL of a database of MySQL cannot have "{wrong}"',
                hint=f"It may have ssl-mode={', ssl-mode='.join(_SSL_MODES)}.",
            )
        return cls(
            host=parts.hostname or "localhost",
            port=parts.port or _PORT,
            user=unquote(parts.username or "root"),
            password=unquote(parts.password or ""),
            database=unquote(parts.path.lstrip("/")),
            ssl_mode=mode,
        )

    @property
    def shown(self) -> str:
        """Host, port and name, for messages."""
        return f"{self.host}:{self.port}/{self.database}"


class MysqlLink:
    """A connection whose statements each stand alone.

    Args:
        address: Where, and as whom.

    Raises:
        MysqlError: The driver is missing, or the server does not let us in.
    """

    def __init__(self, address: MysqlAddress) -> None:
        with needs_extra("mysql", "MySQL needs the package pymysql", MysqlError):
            import pymysql
        self._failures = (pymysql.Error, OSError)
        secured: dict[str, Any] = {"ssl_disabled": True}
        if address.ssl_mode == "required":
            secured = {"ssl": {"check_hostname": False, "verify_mode": "none"}}
        self._address = address
        try:
            self._link: pymysql.Connection[Any] = pymysql.connect(
                host=address.host,
                port=address.port,
                user=address.user,
                password=address.password,
                database=address.database,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                read_timeout=_ANSWER_S,
                charset="utf8mb4",
                # So that definitions are shown in one way, whatever the server's settings.
                init_command="set session sql_mode = '', session sql_quote_show_create = 1",
                **secured,
            )
        except self._failures as error:
            raise self._failure(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, also one that is broken."""
        with suppress(*self._failures):
            self._link.close()

    def rows(self, statement: str, *given: object) -> list[tuple[Any, ...]]:
        """Return what a statement gives.

        Raises:
            MysqlError: The server refuses it, or is gone.
        """
        try:
            with self._link.cursor() as cursor:
                cursor.execute(statement, given or None)
                return list(cursor.fetchall())
        except self._failures as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> MysqlError:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        said = str(error.args[-1] if error.args else type(error).__name__).splitlines()[0]
        if self._address.password:
            said = said.replace(self._address.password, "…")
        return MysqlError(
            f"could not query the database {self._address.shown}",
            number=number,
            detail=said,
            hint=_UNREACHED if number in CLIENT_ERRORS else "",
        )
