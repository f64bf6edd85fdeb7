"""Declared columns that a captured table does not have, as after one was dropped or renamed.

The server's catalogue is asked, not the log: a change may leave out a column that is there, such as
a large value that did not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from joinery.model.warning import RunWarning

_ALIKE = 0.6


def gone_warnings(
    source: str, declared: Mapping[str, Collection[str]], found: Mapping[str, Collection[str]]
) -> Iterator[RunWarning]:
    """Yield a warning for each declared column that its table does not have.

    Args:
        source: The name of the source.
        declared: By table, the columns that relations declare.
        found: By table that is there, the columns that it has.
    """
    for table, columns in sorted(found.items()):
        names = declared.get(table, ())
        for each in sorted({*names} - {*columns}):
            others = sorted({*columns} - {*names})
            near = get_close_matches(each, others, n=1, cutoff=_ALIKE)
            instead = f" It has {near[0]}, which no relation declares." if near else ""
            yield RunWarning(
                code="WARN_COLUMN_GONE",
                about=f'column "{each}" of table {table}',
                message=f'table {table} has no column "{each}", which a relation declares',
                detail="Rows that were read with it keep its last value, and it is null in all"
                f" others.{instead}",
                hint="Correct the relation, then run joinery source read-again"
                f" {source} and joinery run --rebuild.",
            )
