"""Declared columns that a capture does not have, as after one was dropped or renamed.

The server's catalogue is asked, not the log: a change may leave out a column that is there, such as
a large value that did not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from joinery.model.warning import RunWarning

_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table that is there.

    Attributes:
        captured: Those whose values are in the log.
        generated: Those that the server computes, and leaves out of its log.
        no_moments: Those with a date or a time of day, and their type.
    """

    captured: frozenset[str]
    generated: frozenset[str] = frozenset()
    no_moments: Mapping[str, str] = field(default_factory=dict)


def gone_warnings(
    source: str, declared: Mapping[str, Collection[str]], found: Mapping[str, TableColumns]
) -> Iterator[RunWarning]:
    """Yield a warning for each declared column that its table does not have, or not in the log.

    Args:
        source: The name of the source.
        declared: By table, the columns that relations declare.
        found: By table that is there, its columns.
    """
    for table, columns in sorted(found.items()):
        names = declared.get(table, ())
        others = sorted(columns.captured - {*names})
        for each in sorted({*names} - columns.captured):
            if each in columns.generated:
                yield _generated(each, table, source)
            else:
                yield _gone(each, table, source, others)


def _gone(column: str, table: str, source: str, others: Collection[str]) -> RunWarning:
    near = get_close_matches(column, others, n=1, cutoff=_ALIKE)
    instead = f" It has {near[0]}, which no relation declares." if near else ""
    return RunWarning(
        code="WARN_COLUMN_GONE",
        about=f'column "{column}" of table {table}',
        message=f'table {table} has no column "{column}", which a relation declares',
        detail="Rows that were read with it keep its last value, and it is null in all"
        f" others.{instead}",
        hint=f"Correct the relation, then {_anew(source)}.",
    )


def _generated(column: str, table: str, source: str) -> RunWarning:
    about = f'column "{column}" of table {table}'
    return RunWarning(
        code="WARN_COLUMN_GONE",
        about=about,
        message=f"{about} is generated, and the database's log leaves it out",
        detail="It is null in documents, or what it was when the row was first read.",
        hint=f"Compute it in the relation (derive), or remove it there, then {_anew(source)}.",
    )


def _anew(source: str) -> str:
    return f"run joinery source read-again {source} and joinery run --rebuild"
