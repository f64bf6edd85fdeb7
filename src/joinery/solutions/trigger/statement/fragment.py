"""A piece of SQL and the condition under which the expression it stands for fails.

Joinery's expressions give null as a whole where a part of them fails, and a part that is not
reached cannot fail. SQL has no such failure, so a piece carries the condition beside it.

Invariant: evaluating `sql` or `fails` never raises, whatever the row holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LONGEST = 60_000


class UntranslatableError(Exception):
    """What a declaration asks for has no faithful SQL in a dialect; the text says what."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A scalar.

    Attributes:
        sql: Its value, in parentheses where it needs them.
        fails: True, in SQL, where computing it fails; empty where it never does.
    """

    sql: str
    fails: str = ""

    def __post_init__(self) -> None:
        if len(self.sql) + len(self.fails) > _LONGEST:
            raise UntranslatableError("an expression whose statement would be too long")

    def guarded(self) -> str:
        """Return its value, null where it fails."""
        return f"(CASE WHEN {self.fails} THEN NULL ELSE {self.sql} END)" if self.fails else self.sql


def either(*conditions: str) -> str:
    """Return the condition that one of `conditions` holds; empty ones never do."""
    known = [each for each in conditions if each]
    return f"({' OR '.join(known)})" if len(known) > 1 else "".join(known)


def both(first: str, second: str) -> str:
    """Return the condition that both hold; empty where the second never does."""
    return f"({first} AND {second})" if second else ""


def eager(
    arguments: Sequence[Fragment], sql: str, fails: str = "", *, backward: bool = False
) -> Fragment:
    """Return a function over arguments that are looked at in turn until one is null.

    Args:
        arguments: In the order of the call.
        sql: Its value, null where one of the arguments is.
        fails: When the function itself fails; null where one of the arguments is.
        backward: The last argument is looked at first.
    """
    told = fails
    for each in arguments if backward else reversed(arguments):
        told = either(each.fails, both(f"{each.sql} IS NOT NULL", told) if told != fails else told)
    return Fragment(sql, told)
