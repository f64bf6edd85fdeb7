"""Where a database of MySQL or MariaDB is, by its URL, and how its server is trusted.

Invariant: no message holds a password.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from joinery.errors import SpecError

_PORT = 3306
_SSL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
_VERIFYING = ("verify_ca", "verify_identity")
_PRESENTED = ("ssl-cert", "ssl-key")


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
        ssl_cert: The file of the certificate that we present, in PEM; empty for none.
        ssl_key: The file of its key.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    ssl_mode: str
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""

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
        presented = [next(iter(given.pop(each, ())), "") for each in _PRESENTED]
        unsaid = "verify_ca" if authority else "required" if any(presented) else "preferred"
        mode = next(iter(given.pop("ssl-mode", ())), unsaid).lower()
        if mode not in _SSL_MODES or given:
            wrong = next(iter(given), f"ssl-mode={mode}")
            raise AddressError(
                f'the URL of a database of MySQL cannot have "{wrong}"',
                hint=f"It may have ssl-mode={', ssl-mode='.join(_SSL_MODES)},"
                " ssl-ca, ssl-cert and ssl-key.",
            )
        _check_authority(mode, authority)
        _check_presented(mode, presented)
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
            ssl_ca=_file(authority),
            ssl_cert=_file(presented[0]),
            ssl_key=_file(presented[1]),
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


def _check_presented(mode: str, files: Sequence[str]) -> None:
    """Refuse a certificate without its key, and one that would not be presented."""
    if any(files) and not all(files):
        lacking = next(name for name, file in zip(_PRESENTED, files, strict=True) if not file)
        raise AddressError(
            f"the URL of a database of MySQL has no {lacking}",
            hint="A certificate that we present needs both: &ssl-cert=FILE&ssl-key=FILE, in PEM.",
        )
    if any(files) and mode in ("disabled", "preferred"):
        raise AddressError(
            f"the URL of a database of MySQL has ssl-cert, and ssl-mode={mode} asks for no TLS",
            hint="Write ssl-mode=required, or ssl-mode=verify_identity with ssl-ca.",
        )


def _file(name: str) -> str:
    return str(Path(name).absolute()) if name else ""


def _is_number(host: str) -> bool:
    """Return whether a host is an address of IP, and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
