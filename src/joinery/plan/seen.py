"""`seen(column, for => '1d')` in the filter of a stream: read, and taken out of the condition.

What is left names a column, of the same length as the call, so that places in it are those of
the user's own text.
"""

from __future__ import annotations

from dataclasses import dataclass

from joinery.expression.token import tokens_of
from joinery.project.quantity import span_of

SEEN = "__seen"
"""The name that stands for the call in the condition."""


@dataclass(frozen=True, slots=True)
class SeenCall:
    """One call of `seen`.

    Attributes:
        column: Of the event.
        for_us: How far apart two events may be, exclusively.
        condition: The filter's text with `SEEN` in the call's place.
        problem: Why it is no such call; then the rest means nothing.
    """

    column: str = ""
    for_us: int = 0
    condition: str = ""
    problem: str = ""


def read_seen(text: str) -> SeenCall | None:
    """Return the call of `seen` in a condition, None where there is none.

    Raises:
        ExpressionError: A character begins no token.

    Example:
        >>> call = read_seen("not seen(id, for => '1d')")
        >>> (call.column, call.for_us, call.condition.rstrip()) if call else None
        ('id', 86400000000, 'not __seen')
    """
    tokens = tokens_of(text)
    starts = [
        at
        for at, each in enumerate(tokens[:-1])
        if each.word == "seen" and tokens[at + 1].value == "("
    ]
    if not starts:
        return None
    if len(starts) > 1:
        return SeenCall(problem='a filter may use "seen" only once')
    call = tokens[starts[0] : starts[0] + 8]
    written = [each.word or each.value for each in call]
    whole = len(call) == 8 and [written[at] for at in (3, 4, 5, 7)] == [",", "for", "=>", ")"]
    if not whole or call[2].kind not in ("name", "quoted") or call[6].kind != "string":
        return SeenCall(problem='"seen" takes a column and a duration')
    length = span_of(call[6].value)
    for_us = None if length is None else length.elapsed_us
    if not for_us:
        return SeenCall(problem=f'"{call[6].value}" is not a duration above zero')
    start, end = call[0].start, call[-1].end
    condition = text[:start] + SEEN.ljust(end - start) + text[end:]
    return SeenCall(call[2].value, for_us, condition)
