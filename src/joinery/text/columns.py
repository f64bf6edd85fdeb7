"""Columns of plain text, for a terminal and a pipe alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows as lines whose columns stand below one another, two spaces apart.

    Args:
        rows: All with the same number of columns.
        right: The columns that end at the same place instead of beginning there.

    Example:
        >>> list(aligned([("name", "n"), ("a", "10")], right=[1]))
        ['name   n', 'a     10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            part.rjust(width) if at in right else part.ljust(width)
            for at, (part, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()
