"""What a source that is a database of MySQL or MariaDB may be told."""

from __future__ import annotations

import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

from joinery.project.kind import SourceSpec
from joinery.project.mysql_address import AddressError, MysqlAddress
from joinery.project.option import Option, Target, count, declared, options, options_of, text
from joinery.project.postgres import SPOOL_OPTION, SpoolSpec, tables_option
from joinery.project.product import ProjectSpec
from joinery.project.reader import Reader
from joinery.project.tree import Tree

SCHEMES = ("mysql", "mariadb")
_FIRST_SERVER_ID = 1 << 31
_TABLES: Option = tables_option("database.table", "shop.customer")


def database_in(url: str) -> str:
    """Return the database that a URL names; empty where it names none.

    Example:
        >>> database_in("mysql://ada:engine@db:3306/my%2Dshop?ssl-mode=required")
        'my-shop'
    """
    return unquote(urlsplit(url).path.lstrip("/"))


def table_in_database(url: str, topic: str) -> str:
    """Return the table that a topic names, in the database of a URL where it names none.

    Example:
        >>> table_in_database("mysql://db/shop", "customer"), table_in_database("", "crm.customer")
        ('shop.customer', 'crm.customer')
    """
    return topic if "." in topic else f"{database_in(url)}.{topic}"


def _check_url(reader: Reader, tree: Tree, part: str) -> None:
    url = reader.text(tree, part)
    if not url:
        return
    try:
        parts = urlsplit(url)
        known = parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port or 1) > 0
        database = unquote(parts.path.lstrip("/"))
    except ValueError:  # a port that is none
        known, database = False, ""
    if not known or not database or "/" in database:
        hint = "Write mysql://user:password@host:3306/database."
        reader.refuse(
            "SPEC_VALUE", f"{part} does not name a MySQL database", tree.mark.value, hint=hint
        )
        return
    try:
        MysqlAddress.of(url)
    except AddressError as error:
        reader.refuse(
            error.code, error.message, tree.mark.value, detail=error.detail, hint=error.hint
        )


@options
class MysqlSourceOptions:
    """`{mysql: {url: mysql://…}}`."""

    url: str = text(
        "The database, of MySQL or MariaDB; `?ssl-mode=` may be `disabled`, `preferred`,"
        " `required`, and with `&ssl-ca=FILE` `verify_ca` or `verify_identity`;"
        " `&ssl-cert=FILE&ssl-key=FILE` is what we present.",
        examples=["mysql://user:password@host:3306/name"],
        secret=True,
        check=_check_url,
    )
    tables: tuple[str, ...] = declared(_TABLES, default=())
    server_id: int | None = count(
        "The number by which the server knows the capture among its replicas; it must be unique;"
        " by default derived from the names of the project and the source.",
        default=None,
    )
    spool: SpoolSpec = declared(SPOOL_OPTION, default=SpoolSpec())

    def target(self, topic: str, folder: Path) -> Target:
        """Return a table."""
        return Target("mysql", self.url, self.table_of(topic))

    def table_of(self, topic: str) -> str:
        """Return the table that a relation reads by its topic, with its database."""
        return table_in_database(self.url, topic)


def mysql_options(source: SourceSpec) -> MysqlSourceOptions:
    """Return the options of a source of kind `mysql`."""
    return options_of(MysqlSourceOptions, dict(source.options), 'source "mysql"')


def replica_of(spec: ProjectSpec, source: SourceSpec) -> str:
    """Return the name of what reads a source's log: of the project and the source.

    Example:
        >>> from joinery.project.run import RunSpec
        >>> shop = ProjectSpec("My Shop", run=RunSpec())
        >>> replica_of(shop, SourceSpec("db", "mysql", (("url", "x"),)))
        'joinery_my_shop_db'
    """
    name = f"joinery_{spec.name}_{source.name}".lower()
    return "".join(each if each.isascii() and each.isalnum() else "_" for each in name)


def server_id_of(spec: ProjectSpec, source: SourceSpec) -> int:
    """Return the number by which the server knows us: the one that is given, else one of the name.

    Those that people give to servers are small; ours has its highest bit.
    """
    made = _FIRST_SERVER_ID | zlib.crc32(replica_of(spec, source).encode())
    return mysql_options(source).server_id or made
