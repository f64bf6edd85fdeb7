"""All documents of a product as the state of its run has them, or some of them, for Python."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile
from typing import Any

from joinery.app.document_product import unknown_product
from joinery.app.logs import WhyError
from joinery.app.project import ProjectLike, project_of
from joinery.app.state import query_of, refuse_untold
from joinery.expression.python_value import MISFITS, reader
from joinery.model.type import WHOLE_NUMBERS, Field, Struct
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.project.quantity import given_share
from joinery.semantics.render import document_json

_NAMED = "joinery state"
_SPELLED = {*WHOLE_NUMBERS, "boolean", "float", "double"}
"""The types of whose values a text is the JSON."""


@dataclass(frozen=True, slots=True)
class StateDocument:
    """A document as the state of a run has it.

    Attributes:
        key: The columns of its key.
        document: It; None where it is refused.
        version: Under which it was sent; None where the state does not tell it.
        refused: Why it is a dead letter; empty where it was sent.
    """

    key: Mapping[str, Any]
    document: Mapping[str, Any] | None
    version: int | None = None
    refused: str = ""


def state_documents(
    project: ProjectLike,
    product: str,
    *,
    key: object = (),
    batch: int | None = None,
    sample: str = "",
) -> Iterator[StateDocument]:
    """Yield the documents of a product as the state of its run has them, in no order.

    They are those that its sinks hold, if nobody else writes there. It reads the files of the
    checkpoint, beside a run or without one, writes none, and holds few documents in memory.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: Of any form but `outbox`.
        key: Only documents whose keys begin with these values: one, or several in order; a text
            is taken as `joinery state --key` takes it.
        batch: After which batch of the run, of its last hundred or so; None for the last one.
        sample: A share of them, such as `1%`; the same keys each time.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: There is no such product, or what is asked does not fit it.
        StateReadError: There is no such state, or it is that of another plan.
        RunError: Java is missing.
    """
    found = state_lines(project, product, key=key, batch=batch, sample=sample)
    return (_read(line) for lines in found for line in lines.splitlines())


def state_lines(
    project: ProjectLike,
    product: str,
    *,
    key: object = (),
    batch: int | None = None,
    sample: str = "",
) -> Generator[bytes]:
    """Return the same as lines of the `files` sink, many at a time; see `state_documents`."""
    from joinery.spark.recovery.state_reader import StateReader

    spec = project_of(project).spec
    query = _query(spec, product)
    plan = next(each for each in query if each.name == product)
    refuse_untold(plan, _NAMED)
    prefix = key_prefix(plan, key)
    share = given_share(sample, WhyError)
    state = StateReader(spec, query, batch)

    def lines() -> Generator[bytes]:
        with state:
            yield from state.lines(product, prefix, share)

    return lines()


def _query(spec: ProjectSpec, name: str) -> list[Product]:
    if name not in [each.name for each in spec.products]:
        raise unknown_product(spec, name, _NAMED)
    return query_of(spec, name)


def key_prefix(plan: Product, key: object) -> dict[str, str]:
    """Return the first columns of a product's key and their values, as JSON.

    Args:
        plan: The product's.
        key: One value, or several in order; or a text, which has them with commas, or is the JSON
            array of them.

    Raises:
        WhyError: There are more of them than such columns, or one is not of its type.

    Example:
        >>> key_prefix(plan, "de,42")  # doctest: +SKIP
        {'country': '"de"', 'number': '42'}
    """
    columns = [*takewhile(lambda each: not isinstance(each.type, Struct), plan.key.fields)]
    values = _values(key, len(columns))
    if len(values) > len(columns):
        names = ", ".join(each.name for each in columns)
        raise WhyError(
            f'the key of product "{plan.name}" does not begin with {len(values)} columns',
            detail=f"It begins with {names}." if names else "It is made of the keys of two rows.",
        )
    return {
        each.name: _json(plan.name, each, value)
        for each, value in zip(columns, values, strict=False)
    }


def _values(key: object, columns: int) -> Sequence[object]:
    if not isinstance(key, str):
        return key if isinstance(key, list | tuple) else [key]
    if key.startswith("["):
        with suppress(ValueError):
            return list(json.loads(key, parse_float=Decimal))
    return key.split(",") if columns > 1 else [key]


def _json(product: str, column: Field, value: object) -> str:
    """Return a value as JSON; texts stand for numbers and truth values, too."""
    kind = str(column.type)
    try:
        told = json.loads(value) if isinstance(value, str) and kind in _SPELLED else value
        return "null" if told is None else document_json(reader(column.type)(told), column.type)
    except MISFITS:
        raise WhyError(
            f'the key of product "{product}" has {column.name} as {kind}, which "{value}" is not'
        ) from None


def _read(line: bytes) -> StateDocument:
    told = json.loads(line, parse_float=Decimal)
    return StateDocument(
        told["key"], told.get("value"), told.get("version"), told.get("refused", "")
    )
