"""What a vault may be told: where the keys of subjects are kept, and under what secret."""

from __future__ import annotations

from dataclasses import field, replace

from joinery.project.kind import Options
from joinery.project.kinds import VAULTS
from joinery.project.option import check_options, options, text
from joinery.project.part import Part, key, made_of, part
from joinery.project.reader import Reader
from joinery.project.tree import MapTree, Tree
from joinery.project.value import TEXT, At

SHORTEST_MASTER = 32
_EXAMPLE = 'Write vault: {sqlite: {path: vault.db}, master: "${JOINERY_MASTER_KEY}"}.'


@options
class SqliteVaultOptions:
    """`{sqlite: {path: vault.db}}`."""

    path: str = text("The file.")


@options
class PostgresVaultOptions:
    """`{postgres: {url: postgresql://…, schema: joinery_vault}}`."""

    url: str = text(
        "The database.", examples=["postgresql://user:password@host:5432/name"], secret=True
    )
    schema: str = text("The schema of its tables.", default="joinery_vault")


def _read_master(at: At, tree: Tree) -> str:
    master = at.reader.text(tree, at.part)
    if len(master) < SHORTEST_MASTER:
        message = f"{at.part} is shorter than {SHORTEST_MASTER} characters"
        hint = "Make one with: openssl rand -base64 48."
        at.reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    return master


@part
class VaultSpec(Part):
    """Where the keys of subjects are.

    Attributes:
        kind: `sqlite` or `postgres`.
        options: Those of the kind.
        master: The secret that wraps all keys.
    """

    kind: str
    options: Options = field(default=(), repr=False)
    master: str = key(
        replace(TEXT, read=_read_master).told(examples=["${JOINERY_MASTER_KEY}"]),
        "The secret that wraps the keys, 32 characters or more; take it from the environment.",
        default="",
        needed=True,
        hint=_EXAMPLE,
        secret=True,
    )


def read_vault(reader: Reader, tree: Tree) -> VaultSpec | None:
    """Return the vault of a project: a kind with its options, and the master key beside."""
    if not isinstance(tree, MapTree):
        reader.shape(tree, '"vault"', "a map with one kind, and master", _EXAMPLE)
        return None
    entries = reader.entries(tree, '"vault"')
    kinds = [each for each in entries if each.name != "master"]
    for each in kinds:
        if each.name not in VAULTS:
            message = f'"vault" has no kind "{each.name}"'
            reader.unknown(message, each.name, [*VAULTS.names(), "master"], each.place)
            return None
    if len(kinds) != 1:
        reader.shape(tree, '"vault"', "one kind, and master", _EXAMPLE)
        return None
    what = f'"{kinds[0].name}" of "vault"'
    known = VAULTS.known(kinds[0].name)
    assert known is not None  # all kinds are ours
    check_options(reader, kinds[0], what, known)
    return made_of(
        reader,
        {each.name: each.value for each in entries},
        '"vault"',
        VaultSpec,
        place=tree.mark.value,
        kind=kinds[0].name,
        options=reader.options(kinds[0].value, what),
    )
