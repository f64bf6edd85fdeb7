"""The rows of a document as the state of its run has them, for Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joinery.app.document_product import document_product
from joinery.app.logs import WhyError
from joinery.app.project import ProjectLike, project_of
from joinery.app.state import query_of, refuse_untold
from joinery.app.state_documents import key_prefix
from joinery.model.change import Change
from joinery.model.type import Struct
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.provenance.answer import Answering, Part
from joinery.provenance.document_log import DocumentLog
from joinery.provenance.told import Naming, key_text
from joinery.semantics.render import document_json

_NAMED = "joinery state --rows"


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row of a document as the state of a run has it.

    Attributes:
        path: The part of the document that it is: `orders[0].buyer`; `(root)` for its root.
        relation: Of the row.
        key: The columns of its key.
        row: Those of its columns that some product of the query needs.
        position: That of the source; None where it has none.
        hidden: Whether the part is `hidden`, so that only values show it.
    """

    path: str
    relation: str
    key: Mapping[str, Any]
    row: Mapping[str, Any]
    position: int | None
    hidden: bool


def state_rows(
    project: ProjectLike, product: str, key: object, *, batch: int | None = None
) -> list[StateRow]:
    """Return the rows that a document is made of as the state of its run has them, from the root.

    It reads the files of the checkpoint, beside a run or without one, and writes none. Of each
    node's state it reads only the entries under the keys of these rows. Empty where the state has
    no row for the root.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: One with a `root`.
        key: The document's; as `state_documents` takes it, with all columns.
        batch: After which batch of the run, of its last hundred or so; None for the last one.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: There is no such product, its rows cannot be found by their keys, or the key is
            not that of a document.
        StateReadError: There is no such state, or it is that of another plan.
        RunError: Java is missing.
    """
    return [
        StateRow(
            part.path,
            part.relation,
            change.key,
            change.after or {},
            change.position,
            part.hidden,
        )
        for part, _, change in _rows(project, product, key, batch)
    ]


def row_lines(
    project: ProjectLike, product: str, key: object, *, batch: int | None = None
) -> Iterator[str]:
    """Yield the same as lines of JSON."""
    for part, relation, change in _rows(project, product, key, batch):
        row = change.after or {}
        told = {
            "part": json.dumps(part.path, ensure_ascii=False),
            "relation": json.dumps(part.relation, ensure_ascii=False),
            "key": document_json(change.key, Struct(relation.key_fields())),
            "row": document_json(row, Struct(tuple(c for c in relation.columns if c.name in row))),
            "position": json.dumps(part.position),
            "hidden": json.dumps(part.hidden),
        }
        yield "{" + ",".join(f'"{name}":{value}' for name, value in told.items()) + "}\n"


def _rows(
    project: ProjectLike, name: str, key: object, batch: int | None
) -> list[tuple[Part, Relation, Change]]:
    from joinery.spark.recovery.state_reader import StateReader

    spec = project_of(project).spec
    plan = document_product(spec, name, _NAMED)
    refuse_untold(plan, _NAMED)
    prefix = key_prefix(plan, key)
    if len(prefix) < len(plan.key.fields):
        raise WhyError(
            f"{_NAMED} shows one document, and needs all columns of its key",
            detail=f'The key of product "{name}" is {", ".join(f.name for f in plan.key.fields)}.',
            hint="Write --key with all of them, with commas or as a JSON array.",
        )
    with StateReader(spec, query_of(spec, name), batch) as state:
        changes = state.rows(name, prefix)
    return parts_of(plan, changes, spec.run.max_document_bytes)


def parts_of(
    plan: Product, changes: Sequence[Change], most_bytes: int | None
) -> list[tuple[Part, Relation, Change]]:
    """Return the rows with their parts of the document, which is put together of them once more."""
    if not changes:
        return []
    root, *below = changes
    log = DocumentLog(plan, tuple(root.key.values()), max_document_bytes=most_bytes)
    log.tell([*below, root])  # The document is made once, when its root is there.
    why = Answering(plan, log, Naming()).answer(None, ordered="position", read={}, left={}, gone={})
    relations = {each.name: each for each in plan.relations}
    rows = {
        (each.relation, key_text(relations[each.relation], tuple(each.key.values()))): each
        for each in changes
    }
    return [(part, relations[part.relation], rows[part.relation, part.key]) for part in why.parts]
