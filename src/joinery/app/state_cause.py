"""Whose fault a difference is, by what the state of the product's run says beside the logs.

| by the logs | the state has | cause |
| the fault of the sink | what the sink holds | `joinery`: the logs give another document |
| not known, since they are gone | what the database has | `sink` |

The run had come past all that was compared, so a state of later is no older than the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from joinery.app.kept import query_of
from joinery.audit.verdict import Difference, same
from joinery.errors import JoineryError
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec

_ASKED = 500
"""So many documents are looked up in the state; a tenth of a second each."""


def by_state(spec: ProjectSpec, product: Product, wrong: Sequence[Difference]) -> list[Difference]:
    """Return differences with the causes that the state of their run proves.

    Args:
        spec: The project.
        product: Whose documents.
        wrong: Their causes are those that the logs prove.
    """
    from joinery.spark.recovery.state_reader import StateReader

    if not any(map(_is_asked, wrong)):
        return [*wrong]
    try:
        with StateReader(spec, query_of(spec, product)) as state:
            return judged(wrong, lambda key: state.document(product.name, key)[0])
    except JoineryError:  # There is no such state, as in a store of join state.
        return [*wrong]


def judged(wrong: Sequence[Difference], document: Callable[[str], str | None]) -> list[Difference]:
    """Return differences with the causes that a state proves.

    Args:
        wrong: Their causes are those that the logs prove.
        document: Returns what the state has under a key.
    """
    asked = {id(each) for each in islice(filter(_is_asked, wrong), _ASKED)}
    return [_judged(each, document(each.key)) if id(each) in asked else each for each in wrong]


def _is_asked(wrong: Difference) -> bool:
    return wrong.cause in ("sink", "unknown")


def _judged(wrong: Difference, state: str | None) -> Difference:
    if wrong.cause == "sink" and same(state, wrong.held):
        return replace(
            wrong,
            cause="joinery",
            why="the state of its run has what the sink holds, and the logs give another document"
            if wrong.held is not None
            else "the state of its run lacks it, and the logs give it",
        )
    if wrong.cause == "unknown" and same(state, wrong.expected):
        why = "the state of its run has it right"
        return replace(wrong, cause="sink", why=f"{wrong.why}; {why}" if wrong.why else why)
    return wrong
