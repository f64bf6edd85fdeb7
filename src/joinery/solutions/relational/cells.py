"""Rows to tuples of cells and back, converting only the columns that need it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from joinery.engine.rows import values_reader
from joinery.engine.table import RowTable
from joinery.model.change import Row
from joinery.model.type import DataType, Field
from joinery.solutions.relational.value import Convert, probe

Cells = tuple[Any, ...]
Values = tuple[Any, ...]
ConvertOf = Callable[[DataType], Convert | None]


def cells_of(fields: Sequence[Field], to_cell: ConvertOf) -> Callable[[Row], Cells]:
    """Return the function from a row to the cells of `fields`."""
    read = values_reader([each.name for each in fields])
    odd = [(at, convert) for at, each in enumerate(fields) if (convert := to_cell(each.type))]
    return (lambda row: _converted(read(row), odd)) if odd else read


def values_to_cells(
    fields: Sequence[Field], to_cell: ConvertOf
) -> Callable[[Values], Cells] | None:
    """Return the function from values of `fields` to cells; None where they are the same."""
    odd = [(at, convert) for at, each in enumerate(fields) if (convert := to_cell(each.type))]
    return (lambda values: _converted(values, odd)) if odd else None


def probe_cells(
    fields: Sequence[Field], to_cell: ConvertOf
) -> Callable[[Iterable[Values]], list[Cells]]:
    """Return the function from join values to cells, without those that no row can equal."""
    near = [(at, convert) for at, each in enumerate(fields) if (convert := probe(each.type))]
    convert = values_to_cells(fields, to_cell)

    def cells(values: Iterable[Values]) -> list[Cells]:
        if near:
            values = [_converted(each, near) for each in values]
            values = [each for each in values if None not in each]
        return list(values) if convert is None else [convert(each) for each in values]

    return cells


def rows_from(
    fields: Sequence[Field], from_cell: ConvertOf
) -> Callable[[Iterable[Cells]], list[dict[str, Any]]]:
    """Return the function from tuples of cells to rows."""
    names = [each.name for each in fields]
    odd = [(each.name, convert) for each in fields if (convert := from_cell(each.type))]

    def rows(found: Iterable[Cells]) -> list[dict[str, Any]]:
        built = [dict(zip(names, cells, strict=False)) for cells in found]
        for name, convert in odd:
            for row in built:
                if row[name] is not None:
                    row[name] = convert(row[name])
        return built

    return rows


def table_from(
    fields: Sequence[Field], from_cell: ConvertOf
) -> Callable[[Sequence[Cells]], RowTable]:
    """Return the same, with rows that are made when they are asked for."""
    names = [each.name for each in fields]
    odd = {each.name: convert for each in fields if (convert := from_cell(each.type))}
    return lambda found: RowTable(names, found, odd)


def _converted(values: Values, odd: Sequence[tuple[int, Convert]]) -> Cells:
    cells = list(values)
    for at, convert in odd:
        if cells[at] is not None:
            cells[at] = convert(cells[at])
    return tuple(cells)
