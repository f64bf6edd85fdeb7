"""What a source that is a PostgreSQL database may be told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args

from joinery.project.kind import SourceSpec
from joinery.project.option import (
    Option,
    Target,
    declared,
    options,
    options_of,
    plain,
    text,
)
from joinery.project.product import ProjectSpec
from joinery.project.quantity import duration_ms, size_bytes
from joinery.project.reader import Reader
from joinery.project.tree import ListTree, MapTree, Tree

SPOOL = ".joinery/spool"
KEEP = "24h"
_SLOT = re.compile(r"[a-z0-9_]{1,63}")
_SCHEMA = "public"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolSpec:
    """Where the changes of a database are kept.

    Attributes:
        path: A folder, relative to the project's; each source has its own below it.
        keep_ms: How long change files are kept at least.
    """

    path: str = SPOOL
    keep_ms: int = 86_400_000

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Return what a project file holds."""
        keep = duration_ms(given.get("keep", KEEP))
        assert keep is not None  # checked
        return cls(path=given.get("path", SPOOL), keep_ms=keep)


Beyond = Literal["warn", "stop", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WalLimit:
    """How much of its log a database may keep for a source.

    Attributes:
        bytes: What is above is too much.
        then: Warn; or stop the capture, which keeps the slot; or drop the slot, too.
    """

    bytes: int
    then: Beyond = "warn"

    @classmethod
    def of(cls, given: str | int | Mapping[str, str | int]) -> Self:
        """Return what a project file holds: a size, or a map."""
        told = {"size": given} if isinstance(given, str | int) else dict(given)
        most = size_bytes(str(told["size"]))
        assert most is not None  # checked
        return cls(bytes=most, then=cast(Beyond, told.get("then", "warn")))


def table_of(topic: str) -> str:
    """Return the table that a relation reads by its topic, with its schema.

    Example:
        >>> table_of("customer"), table_of("shop.customer")
        ('public.customer', 'shop.customer')
    """
    return topic if "." in topic else f"{_SCHEMA}.{topic}"


def tables_option(named: str, example: str) -> Option:
    """Return the option that names tables.

    Args:
        named: How one is named, such as `schema.table`.
        example: One.
    """

    def check(reader: Reader, tree: Tree, part: str) -> None:
        _check_tables(reader, tree, part, named, example)

    shape = {
        "type": "array",
        "items": {"type": "string"},
        "description": f"The tables, as {named}; by default those that relations read.",
    }
    return Option(shape, tuple, check)


def _check_tables(reader: Reader, tree: Tree, part: str, named: str, example: str) -> None:
    if not isinstance(tree, ListTree):
        reader.shape(tree, part, "a list of tables", f"Write tables: [{example}].")
        return
    for each in tree.items:
        name = reader.text(each, part)
        if set(name) & set("*?,/\\") or name.startswith(".") or name.count(".") > 1:
            message = f'{part} cannot have "{name}": each is one table'
            reader.refuse("SPEC_VALUE", message, each.mark.value, hint=f"Write {named}.")


def _check_slot(reader: Reader, tree: Tree, part: str) -> None:
    name = reader.text(tree, part)
    if name and not _SLOT.fullmatch(name):
        hint = "Use at most 63 of a to z, 0 to 9 and _."
        reader.refuse("SPEC_VALUE", f'{part} cannot be "{name}"', tree.mark.value, hint=hint)


def _check_spool(reader: Reader, tree: Tree, part: str) -> None:
    if not isinstance(tree, MapTree):
        reader.shape(tree, part, "a map", f"Write spool: {{path: {SPOOL}}}.")
        return
    found = reader.named(tree, part, _SPOOL_KEYS)
    if "path" in found:
        reader.text(found["path"], f'"path" of {part}')
    if "keep" in found:
        reader.duration_ms(found["keep"], f'"keep" of {part}')


def _check_wal(reader: Reader, tree: Tree, part: str) -> None:
    if not isinstance(tree, MapTree):
        reader.size_bytes(tree, part)
        return
    found = reader.named(tree, part, _WAL_KEYS)
    if "size" in found:
        reader.size_bytes(found["size"], f'"size" of {part}')
    else:
        hint = "Write max_wal: {size: 10 GiB, then: stop}."
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "size"', tree.mark.value, hint=hint)
    if "then" in found:
        reader.word(found["then"], f'"then" of {part}', get_args(Beyond))


_SPOOL_KEYS: Mapping[str, Any] = {
    "path": {
        "type": "string",
        "default": SPOOL,
        "description": "The folder; each source has its own below it.",
    },
    "keep": {
        "$ref": "#/$defs/duration",
        "default": KEEP,
        "description": "How long change files are kept at least; longer, where a query has not"
        " applied them.",
    },
}
_WAL_KEYS: Mapping[str, Any] = {
    "size": {
        "$ref": "#/$defs/size",
        "description": "How much it may be.",
    },
    "then": {
        "enum": list(get_args(Beyond)),
        "default": "warn",
        "description": "What happens above: a warning; the end of the capture, with the slot"
        " left; or the end of both.",
    },
}
SPOOL_OPTION = Option(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": _SPOOL_KEYS,
        "description": f"Where change files are kept, and how long; by default"
        f" `{{path: {SPOOL}, keep: {KEEP}}}`.",
    },
    lambda given: SpoolSpec.of(plain(given)),
    _check_spool,
)
_WAL = Option(
    {
        "anyOf": [
            {"$ref": "#/$defs/size"},
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["size"],
                "properties": _WAL_KEYS,
            },
        ],
        "description": "How much of its log the database may keep for the slot, and what then:"
        " `{size: 10 GiB, then: warn}`, `stop` or `drop`; a size alone warns.",
    },
    lambda given: WalLimit.of(plain(given)),
    _check_wal,
)
_TABLES = tables_option("schema.table", "public.customer")


def _check_url(reader: Reader, tree: Tree, part: str) -> None:
    """Refuse the URL of something else; settings such as `host=db dbname=shop` are none."""
    scheme, url, _ = reader.text(tree, part).partition("://")
    if url and scheme not in ("postgresql", "postgres"):
        hint = "Write postgresql://user:password@host:5432/database."
        reader.refuse(
            "SPEC_VALUE", f"{part} does not name a PostgreSQL database", tree.mark.value, hint=hint
        )


@options
class PostgresSourceOptions:
    """`{postgres: {url: postgresql://…}}`."""

    url: str = text(
        "The database.",
        examples=["postgresql://user:password@host:5432/name"],
        secret=True,
        check=_check_url,
    )
    tables: tuple[str, ...] = declared(_TABLES, default=())
    slot: str = text(
        "The replication slot, and the publication; by default `joinery_` and the names of the"
        " project and the source.",
        default="",
        check=_check_slot,
    )
    spool: SpoolSpec = declared(SPOOL_OPTION, default=SpoolSpec())
    max_wal: WalLimit | None = declared(_WAL, default=None)

    def target(self, topic: str, folder: Path) -> Target:
        """Return a table."""
        return Target("postgres", self.url, table_of(topic))


def postgres_options(source: SourceSpec) -> PostgresSourceOptions:
    """Return the options of a source of kind `postgres`."""
    return options_of(PostgresSourceOptions, dict(source.options), 'source "postgres"')


def slot_of(spec: ProjectSpec, source: SourceSpec) -> str:
    """Return the name of a source's slot and publication.

    Example:
        >>> from joinery.project.run import RunSpec
        >>> shop = ProjectSpec("My Shop", run=RunSpec())
        >>> slot_of(shop, SourceSpec("db", "postgres", (("url", "x"),)))
        'joinery_my_shop_db'
    """
    name = f"joinery_{spec.name}_{source.name}".lower()
    return postgres_options(source).slot or re.sub(r"[^a-z0-9_]", "_", name)[:63]
