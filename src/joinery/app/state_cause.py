"""Whose fault a difference is, by what the state of the product's run says beside the logs.

Where the logs blame the sink and the state has what the sink holds, the run has made it so: the
cause is `joinery`, if the logs up to the batch of that state give another document. They are read
once more for it, since the run goes on, and a document may be again what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from joinery.app.logs import Logs
from joinery.app.state import query_of
from joinery.app.why import RECORDS
from joinery.audit.key import KeyTexts
from joinery.audit.verdict import Difference, same
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import JoineryError
from joinery.observe.frontier import Frontier
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.provenance.documents_log import DocumentsLog

_ASKED = 500
"""The most documents that are looked up in the state, at a tenth of a second each."""

Documents = Mapping[str, str | None]
"""Documents by their keys, as JSON texts; None where there is none."""


def by_state(
    spec: ProjectSpec, product: Product, wrong: Sequence[Difference]
) -> tuple[list[Difference], str]:
    """Return differences with the causes that the state of their run proves, and a note.

    Args:
        spec: The project.
        product: Whose documents.
        wrong: Their causes are those that the logs prove.
    """
    from joinery.spark.recovery.state_reader import StateReader

    asked = [each.key for each in wrong if each.cause in ("sink", "unknown")][:_ASKED]
    found = dict[str, str | None]()
    if not asked:
        return [*wrong], ""
    try:
        with StateReader(spec, query_of(spec, product.name)) as state:
            for key in asked:
                found[key], _ = state.document(product.name, key)
        return judged(wrong, found, lambda keys: _told(spec, product, state.batch, keys)), ""
    except (JoineryError, OSError) as error:
        told = error.message if isinstance(error, JoineryError) else str(error)
        return [*wrong], f"causes are those that the logs prove: {told}"


def _told(spec: ProjectSpec, product: Product, batch: int, keys: Sequence[str]) -> Documents:
    """Return what the logs up to a batch give; nothing where they do not tell all."""
    checkpoint = QueryPaths.of(spec.checkpoint, product.query).checkpoint
    logs = Logs.of(spec, product, records=RECORDS, frontier=Frontier.read(checkpoint, batch))
    if logs.gone or logs.left:
        return {}
    texts = KeyTexts(product.root.relation)
    named = {texts.key(each): each for each in keys}
    log = DocumentsLog(product, named, max_document_bytes=spec.run.max_document_bytes)
    log.tell(logs.changes)
    return {named[key]: text for key, text in log.texts.items()}


def judged(
    wrong: Sequence[Difference],
    state: Documents,
    told: Callable[[Sequence[str]], Documents],
) -> list[Difference]:
    """Return differences with the causes that a state proves.

    Args:
        wrong: Their causes are those that the logs prove.
        state: What it has, of the keys that were looked up.
        told: Returns what the logs up to that state give, of those keys of which they tell.
    """
    held = [each.key for each in wrong if each.cause == "sink" and _holds(state, each, each.held)]
    logs = told(held) if held else {}
    blamed = {key for key in held if key in logs and not same(logs[key], state[key])}
    return [_judged(each, state, each.key in blamed) for each in wrong]


def _judged(wrong: Difference, state: Documents, blamed: bool) -> Difference:
    if blamed:
        has = "lacks it, too" if wrong.held is None else "has what the sink holds"
        why = f"the state of its run {has}, and the logs give another document"
        return replace(wrong, cause="joinery", why=why)
    if wrong.cause == "unknown" and _holds(state, wrong, wrong.expected):
        why = "the state of its run has it right: it was not sent, or the sink was altered"
        return replace(wrong, why=f"{wrong.why}; {why}" if wrong.why else why)
    return wrong


def _holds(state: Documents, wrong: Difference, text: str | None) -> bool:
    return wrong.key in state and same(state[wrong.key], text)
