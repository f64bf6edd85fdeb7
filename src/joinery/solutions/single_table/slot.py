"""Which generic index finds the rows of a relation by which of its columns.

A relation needs a slot for each set of columns that edges join on, other than its primary
key. Two needs of one relation are in conflict, and those of different relations are not,
since the values of a slot carry relation and columns. So the conflicts of each relation are a
clique, and as many slots do as the relation with the most needs has.

Invariant: a need keeps its slot forever; a slot is given to a need only while no other need
of the same relation ever had it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from joinery.errors import SpecError

MOST = 20
Need = tuple[str, tuple[str, ...]]


class TooManySlotsError(SpecError):
    """A relation is joined by more sets of columns than a table has indexes for."""

    code = "SPEC_SLOTS"


def assign(needs: Collection[Need], given: Mapping[Need, int]) -> dict[Need, int]:
    """Return the slots, counted from 1, of all needs, those already `given` as they are.

    Raises:
        TooManySlotsError: One would be above `MOST`.

    Example:
        >>> assign([("star", ("repo",)), ("star", ("user",)), ("repo", ("owner",))], {})
        {('repo', ('owner',)): 1, ('star', ('repo',)): 1, ('star', ('user',)): 2}
        >>> assign([("star", ("at",))], {("star", ("repo",)): 1})
        {('star', ('repo',)): 1, ('star', ('at',)): 2}
    """
    slots = dict(given)
    for need in sorted(set(needs) - slots.keys()):
        taken = {slot for (relation, _), slot in slots.items() if relation == need[0]}
        slots[need] = next(slot for slot in range(1, len(taken) + 2) if slot not in taken)
        if slots[need] > MOST:
            raise _too_many(need[0], [columns for name, columns in slots if name == need[0]])
    return slots


def slot_name(slot: int) -> str:
    """Return the name of an index, and of the attribute that it is over."""
    return f"GSI_{slot}"


def _too_many(relation: str, columns: Collection[tuple[str, ...]]) -> TooManySlotsError:
    told = ", ".join(sorted("(" + ", ".join(each) + ")" for each in columns))
    return TooManySlotsError(
        f'relation "{relation}" needs more than the {MOST} indexes of a DynamoDB table',
        detail=f"It is joined by {told}.",
        hint="Give some of its products another `table`, or join on the primary key.",
    )
