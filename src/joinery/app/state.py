"""What the state of a run says of a document, for Python."""

from __future__ import annotations

from joinery.app.document_product import asked_product
from joinery.app.logs import WhyError, asked_key
from joinery.app.project import ProjectLike, project_of
from joinery.app.why import RECORDS, why
from joinery.errors import RunError
from joinery.model.change import Key
from joinery.plan.build import examine
from joinery.plan.history import HistoryForm
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.search import SearchForm
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all
from joinery.provenance.answer import Why
from joinery.provenance.in_state import InState
from joinery.provenance.told import asked_text, keys_meant
from joinery.semantics.personal import masked
from joinery.semantics.render import key_json


def state(
    project: ProjectLike,
    product: str,
    key: object,
    *,
    batch: int | None = None,
    records: int = RECORDS,
) -> InState:
    """Return a document as the state of its run has it, beside what the logs tell of it.

    It reads the files of the checkpoint, beside a run or without one, and writes none. A document
    that the state has right, and a sink wrong, was altered in the sink, or is still to be sent.

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
        RunError: Java is missing, or the logs cannot be read and would have to tell the key.
    """
    from joinery.spark.recovery.state_reader import StateReader

    spec = project_of(project).spec
    plan = asked_product(spec, product, "--state")
    refuse_untold(plan, "--state")
    with StateReader(spec, query_of(spec, product), batch) as reader:
        logs, values, unread = _logs(project, plan, key, reader.batch, records)
        document, refused = reader.document(product, key_json(values, plan.key))
    return InState(
        product=product,
        key=asked_text(values, [each.type for each in plan.key.fields]),
        document=None if document is None else masked(document),
        refused=refused,
        batch=reader.batch,
        logs=logs,
        unread=unread,
    )


def refuse_untold(product: Product, asked: str) -> None:
    """Refuse a product whose state does not tell all that its sinks hold.

    Args:
        product: The product's plan.
        asked: The command or option that asks.

    Raises:
        WhyError: It is one.
    """
    match product.form:
        case OutboxForm():
            why = "sends rows as events, which no state holds"
        case HistoryForm(known=str()):
            why = "has known_at, and its state has only what is known by now"
        case SearchForm(retroactive=False):
            why = "has retroactive: false, and its state does not have the documents"
        case _ if any(each.personal is not None for each in product.relations):
            why = "has personal columns"
        case _:
            return
    raise WhyError(f'{asked} does not cover product "{product.name}" yet: it {why}')


def query_of(spec: ProjectSpec, product: str) -> list[Product]:
    """Return all products of the query of one, which the project has."""
    plan, problems, _ = examine(spec)
    raise_all(problems)
    assert plan is not None
    query = next(each.query for each in plan.products if each.name == product)
    return [each for each in plan.products if each.query == query]


def _logs(
    project: ProjectLike, product: Product, key: object, batch: int, records: int
) -> tuple[Why | None, Key, str]:
    """Return what the logs tell, the key that is meant, and why the two cannot be compared.

    Raises:
        WhyError: They tell nothing, and would have to tell which key is meant.
        RunError: The same, of logs that cannot be read.
    """
    try:
        logs = why(project, product.name, key, batch=batch, records=records)
    except (WhyError, RunError) as error:
        if (only := _only_key(product, key)) is None:
            raise
        return None, only, error.message
    if logs.gone:
        return logs, logs.values, f"that of {', '.join(logs.gone)} no longer has all that was read"
    left = f"--records left out some of {', '.join(logs.left)}" if logs.left else ""
    return logs, logs.values, left


def _only_key(product: Product, key: object) -> Key | None:
    """Return the key of the root that is meant; None where only the logs tell that."""
    if not isinstance(product.form, DocumentForm):
        return None
    root = product.root.relation
    text = asked_key(root.name, {each.name: each.type for each in product.key.fields}, key)
    meant = keys_meant(root, text)
    return meant[0] if meant is not None and len(meant) == 1 else None
