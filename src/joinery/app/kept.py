"""What the state of a run says of a document, for Python."""

from __future__ import annotations

import json

from joinery.app.document_product import asked_product
from joinery.app.logs import WhyError, asked_key
from joinery.app.project import ProjectLike, project_of
from joinery.app.why import RECORDS, why
from joinery.model.type import WHOLE_NUMBERS, Atomic, DataType, Decimal, Struct
from joinery.plan.build import examine
from joinery.plan.product import DocumentForm, Product
from joinery.plan.search import SearchForm
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all
from joinery.provenance.answer import Why
from joinery.provenance.kept import Kept
from joinery.provenance.row_maker import RowForm
from joinery.provenance.told import key_text, keys_meant
from joinery.semantics.json_text import json_line, read_json
from joinery.semantics.personal import masked

_NUMBERS = (*WHOLE_NUMBERS, "float", "double", "boolean")


def kept(
    project: ProjectLike,
    product: str,
    key: object,
    *,
    batch: int | None = None,
    records: int = RECORDS,
) -> Kept:
    """Return a document as the state of its run has it, beside what the logs tell of it.

    It reads the checkpoint's files, beside a run or without one, and disturbs none; a document
    that the state has right, and a sink wrong, was altered in the sink.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: One with a `root`, or an `aggregate`, a `fold`, a `history`, a `pattern` or a
            `search`.
        key: The document's; see `why`.
        batch: After which batch of the run, of its last hundred or so; None for the last one.
        records: How many records of a topic are read at most.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: The product is of another form, or there is no such key.
        StateReadError: There is no such state, or it is that of another plan.
        RunError: Java is missing, or the logs cannot be read.
    """
    from joinery.spark.recovery.state_reader import StateReader

    spec = project_of(project).spec
    plan = asked_product(spec, product)
    if not isinstance(plan.form, DocumentForm | RowForm | SearchForm):
        raise WhyError(f'--state does not cover product "{product}" yet, which {plan.form.does}')
    if any(each.personal is not None for each in plan.relations):
        raise WhyError(f'--state does not cover product "{product}" yet: it has personal columns')
    with StateReader(spec, query_of(spec, plan), batch) as state:
        logs, unread = _logs(project, plan, key, state.batch, records)
        text = logs.key if logs is not None else _only_key(plan, key) or ""
        document, refused = state.document(product, _key_json(plan.key, text))
    told = None if document is None else masked(document)
    return Kept(product, text, told, refused, state.batch, logs, unread)


def query_of(spec: ProjectSpec, product: Product) -> list[Product]:
    """Return all products of the query of one."""
    plan, problems, _ = examine(spec)
    raise_all(problems)
    assert plan is not None
    query = next(each.query for each in plan.products if each.name == product.name)
    return [each for each in plan.products if each.query == query]


def _logs(
    project: ProjectLike, product: Product, key: object, batch: int, records: int
) -> tuple[Why | None, str]:
    """Return what the logs tell, and why that cannot be compared; None where they tell nothing.

    Raises:
        WhyError: They tell nothing, and would have to tell which key is meant.
    """
    try:
        logs = why(project, product.name, key, batch=batch, records=records)
    except WhyError as error:
        if _only_key(product, key) is None:
            raise
        return None, error.message
    if logs.gone:
        return logs, f"that of {', '.join(logs.gone)} no longer has all that was read"
    return logs, f"--records left out some of {', '.join(logs.left)}" if logs.left else ""


def _only_key(product: Product, key: object) -> str | None:
    """Return the key of the root that is meant, as text; None where only the logs tell that."""
    if not isinstance(product.form, DocumentForm):
        return None
    root = product.root.relation
    text = asked_key(root.name, {each.name: each.type for each in product.key.fields}, key)
    meant = keys_meant(root, text)
    return key_text(root, meant[0]) if meant is not None and len(meant) == 1 else None


def _key_json(key: Struct, text: str) -> str:
    """Return a key as a JSON object of its columns.

    Args:
        key: The columns.
        text: As `map_key_text` has it.
    """
    if len(key.fields) > 1:
        values = [json_line(each) for each in read_json(text)]
    else:
        values = [text if _is_bare(key.fields[0].type, text) else json.dumps(text)]
    pairs = zip(key.fields, values, strict=True)
    return f"{{{', '.join(f'{json.dumps(each.name)}: {value}' for each, value in pairs)}}}"


def _is_bare(kind: DataType, text: str) -> bool:
    """Return whether the text of a value is that of its JSON."""
    match kind:
        case Atomic(name):
            return name in _NUMBERS
        case Decimal():
            return True
        case _:
            return text.startswith("{")
