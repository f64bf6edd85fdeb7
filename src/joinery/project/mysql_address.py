"""Where a database of MySQL or MariaDB is, by its URL, and how its server is trusted.

Invariant: no message holds a password.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from joinery.errors import SpecError

_PORT = 3306
_SSL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
_VERIFYING = ("verify_ca", "verify_identity")


class AddressError(SpecError):
    """The URL of a database has an option that is not there, or options that do not go together."""

    code = "SPEC_VALUE"


@dataclass(frozen=True, slots=True)
class MysqlAddress:
    """Where a database is, and as whom we go there.

    Attributes:
        ssl_mode: One of disabled, preferred, required, verify_ca, verify_identity.
        ssl_ca: The file of the certificates that the server's is verified by, in PEM; empty where
            it is not verified.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    ssl_mode: str
    ssl_ca: str = ""

    @classmethod
    def of(cls, url: str) -> MysqlAddress:
        """Return what a URL tells.

        Raises:
            AddressError: It has an option that is not there, or options that do not go together.

        Example:
            >>> MysqlAddress.of("mysql://ada:engine@db/shop").shown
            'db:3306/shop'
        """
        parts = urlsplit(url)
        given = parse_qs(parts.query, keep_blank_values=True)  # a blank one must not mean no TLS
        blank = next((name for name, values in given.items() if "" in values), "")
        if blank:
            raise AddressError(
                f'the URL of a database of MySQL has an empty "{blank}"',
                hint="Give it a value, or leave it out: a variable in the URL may not be set.",
            )
        authority = next(iter(given.pop("ssl-ca", ())), "")
        unsaid = "verify_ca" if authority else "preferred"  # as MySQL's own client
        mode = next(iter(given.pop("ssl-mode", ())), unsaid).lower()
        if mode not in _SSL_MODES or given:
            wrong = next(iter(given), f"ssl-mode={mode}")
            raise AddressError(
                f'the URL of a database of MySQL cannot have "{wrong}"',
                hint=f"It may have ssl-mode={', ssl-mode='.join(_SSL_MODES)}, and ssl-ca.",
            )
        _check_authority(mode, authority)
        if mode == "verify_identity" and _is_number(parts.hostname or ""):
            raise AddressError(
                "the URL of a database of MySQL has ssl-mode=verify_identity and no host name",
                detail="The log is read from a host whose name is verified.",
                hint="Write the name that its certificate is for, or ssl-mode=verify_ca.",
            )
        return cls(
            host=parts.hostname or "localhost",
            port=parts.port or _PORT,
            user=unquote(parts.username or "root"),
            password=unquote(parts.password or ""),
            database=unquote(parts.path.lstrip("/")),
            ssl_mode=mode,
            ssl_ca=str(Path(authority).absolute()) if authority else "",
        )

    @property
    def shown(self) -> str:
        """Host, port and name, for messages."""
        return f"{self.host}:{self.port}/{self.database}"


def _check_authority(mode: str, authority: str) -> None:
    """Refuse a file of certificates that would not be used, and a mode that lacks one."""
    if mode in _VERIFYING and not authority:
        raise AddressError(
            f"the URL of a database of MySQL has ssl-mode={mode} and no ssl-ca",
            hint="Add &ssl-ca=FILE: the certificates that the server's is verified by, in PEM.",
        )
    if authority and mode not in _VERIFYING:
        raise AddressError(
            f"the URL of a database of MySQL has ssl-ca, and ssl-mode={mode} does not use it",
            hint=f"Write ssl-mode={' or ssl-mode='.join(_VERIFYING)}.",
        )


def _is_number(host: str) -> bool:
    """Return whether a host is an address of IP, and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
