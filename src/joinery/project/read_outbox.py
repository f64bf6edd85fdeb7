"""Reads the outbox of a product: the relation whose inserted rows are sent as events."""

from __future__ import annotations

from joinery.project import grammar
from joinery.project.product import OutboxSpec
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Tree


def read_outbox(reader: Reader, tree: Tree, what: str) -> tuple[str, OutboxSpec]:
    """Return the relation and the columns of `outbox`: a name, or a map with a relation.

    Args:
        reader: Takes the problems.
        tree: What stands under `outbox`.
        what: The product, for the problems.
    """
    part = f'"outbox" of {what}'
    if not isinstance(tree, MapTree):
        return reader.text(tree, part), OutboxSpec()
    found = reader.named(tree, part, grammar.OUTBOX)
    if "relation" not in found:
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "relation"', tree.mark.value)
    texts = {
        name: reader.text(found[name], f'"{name}" of {part}')
        for name in ("relation", "key", "value")
        if name in found
    }
    default = OutboxSpec()
    headers = default.headers
    if "headers" in found:
        entries = reader.entries(found["headers"], f'"headers" of {part}')
        headers = tuple((each.name, _column(reader, each, part)) for each in entries)
    outbox = OutboxSpec(
        key=texts.get("key", default.key), value=texts.get("value", default.value), headers=headers
    )
    return texts.get("relation", ""), outbox


def _column(reader: Reader, entry: Entry, part: str) -> str:
    return reader.text(entry.value, f'header "{entry.name}" of {part}')
