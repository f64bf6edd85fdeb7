"""What a vault may be told: where the keys of subjects are kept, and under what secret."""

from __future__ import annotations

from joinery.project.kinds import VAULTS
from joinery.project.option import check_options, options, text
from joinery.project.product import VaultSpec
from joinery.project.reader import Reader
from joinery.project.tree import MapTree, Tree

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
    part = f'"{kinds[0].name}" of "vault"'
    known = VAULTS.known(kinds[0].name)
    assert known is not None  # all kinds are ours
    check_options(reader, kinds[0], part, known)
    master = _master(reader, tree)
    return VaultSpec(kinds[0].name, reader.options(kinds[0].value, part), master)


def _master(reader: Reader, tree: MapTree) -> str:
    value = tree.get("master")
    if value is None:
        message = '"vault" needs "master"'
        reader.refuse("SPEC_MISSING_KEY", message, tree.mark.value, hint=_EXAMPLE)
        return ""
    master = reader.text(value, '"master" of "vault"')
    if len(master) < SHORTEST_MASTER:
        message = f'"master" of "vault" is shorter than {SHORTEST_MASTER} characters'
        hint = "Make one with: openssl rand -base64 48."
        reader.refuse("SPEC_VALUE", message, value.mark.value, hint=hint)
    return master
