"""Connections to MySQL and MariaDB, whose errors never show the password.

Invariant: no message holds a password.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from joinery.errors import RunError, needs_extra
from joinery.project.mysql_address import MysqlAddress

if TYPE_CHECKING:
    import pymysql

_CONNECT_S = 10
_ANSWER_S = 60
_UNREACHED = "Check its URL, and that it is up."
_CERTIFICATE = (
    "Check that ssl-ca in its URL is the file of the authority that signed it, and for"
    " ssl-mode=verify_identity that it is for the host in the URL."
)

CLIENT_ERRORS = range(2000, 3000)
"""Numbers of the driver's own errors: the server was not reached, or is gone."""


class MysqlError(RunError):
    """A server of MySQL or MariaDB refuses, or cannot be asked; `number` is its own."""

    def __init__(self, message: str, *, number: int = 0, detail: str = "", hint: str = "") -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.number = number


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
        secured = _secured(address)
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

    @property
    def encrypted(self) -> bool:
        """Whether it goes over TLS."""
        [(_, cipher)] = self.rows("show session status like 'Ssl_cipher'")
        return bool(cipher)

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

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Yield what a statement gives, as it comes; no other one may be asked meanwhile.

        Raises:
            MysqlError: The server refuses it, or is gone.
        """
        from pymysql.cursors import SSCursor

        try:
            with self._link.cursor(SSCursor) as cursor:
                cursor.execute(statement)
                yield from cursor
        except self._failures as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> MysqlError:
        if isinstance(refused := _cause(error), ssl.SSLCertVerificationError):
            return MysqlError(
                f"the certificate of the database {self._address.shown} is not accepted",
                detail=f"It could not be verified: {refused.verify_message.rstrip('.')}.",
                hint=_CERTIFICATE,
            )
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


def _secured(address: MysqlAddress) -> dict[str, Any]:
    """Return what the driver is told about TLS."""
    match address.ssl_mode:
        case "disabled":
            return {"ssl_disabled": True}
        case "preferred":
            return {}  # the driver asks for TLS where the server has it
        case "required":
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        case _:
            context = _verifying(address)
    if address.ssl_cert:
        _present(context, address)
    return {"ssl": context}


def _present(context: ssl.SSLContext, address: MysqlAddress) -> None:
    """Have the server shown our certificate."""
    try:
        # An empty password keeps OpenSSL from asking for one on the terminal.
        context.load_cert_chain(address.ssl_cert, address.ssl_key, password="")
    except OSError as error:  # an SSLError is one
        why = error.strerror or type(error).__name__
        raise MysqlError(
            f"could not read the certificate {address.ssl_cert} with its key: {why}",
            hint="Set ssl-cert and ssl-key in the URL to files in PEM, the key without a password.",
        ) from error


def _verifying(address: MysqlAddress) -> ssl.SSLContext:
    """Return what accepts only a server whose certificate is verified."""
    try:
        context = ssl.create_default_context(cafile=address.ssl_ca)
    except OSError as error:  # an SSLError is one
        why = error.strerror or type(error).__name__
        raise MysqlError(
            f"could not read certificates from {address.ssl_ca}: {why}",
            hint="Set ssl-ca in the URL of the database to a file of certificates in PEM.",
        ) from error
    # The server's own tool leaves out extensions that this asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = address.ssl_mode == "verify_identity"
    return context


def _cause(error: Exception) -> object:
    """Return what the driver took for a failure to connect."""
    return getattr(error, "original_exception", error)
