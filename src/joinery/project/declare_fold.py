"""Folds from Python: the log, its state, and what each kind of event makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from joinery.errors import SpecError, suggesting, suggesting_methods
from joinery.project.argument import RelationLike, relation_name
from joinery.project.declare import product_of
from joinery.project.declare_embed import Document, objects_of
from joinery.project.form import FoldSpec, read_when
from joinery.project.read import raise_all
from joinery.project.reader import Reader
from joinery.project.tree import tree_of
from joinery.project.value import At

if TYPE_CHECKING:
    from collections.abc import Sequence

    from joinery.project.typing import EmitMap, ExpectMap, Fields, Sinks, Solution


@suggesting_methods
@dataclass(frozen=True, slots=True, repr=False)
class Folded(Document):
    """A product that folds events, under construction; every method returns a new one."""

    def when(
        self, kind: str, assigned: Mapping[str, str] | None = None, /, **computed: str
    ) -> Self:
        """Return this with what one more kind of event makes of the state.

        Args:
            kind: What has happened, as the log's column of kinds says it.
            assigned: Columns of the state, and what they become: expressions over the state
                before the event, and over the event: `event.amount`.
            computed: Further columns.

        Raises:
            JoineryError: The kind is there already.

        Example:
            >>> made = fold("n", "event", sequence="version", state={"n": "long = 0"})
            >>> made.when("Counted", n="n + 1").spec.form.when
            (('Counted', (('n', 'n + 1'),)),)
        """
        spec = self.spec.form
        assert isinstance(spec, FoldSpec)  # as `fold` has made it
        if kind in dict(spec.when):
            message = f'there is a "{kind}" under when already'
            raise SpecError(message, code="SPEC_DUPLICATE_KEY")
        reader = Reader()
        read = read_when(
            At(reader, "when", f'product "{self.spec.name}"'),
            tree_of({kind: {**(assigned or {}), **computed}}),
        )
        raise_all(tuple(reader.problems))
        folded = replace(spec, when=(*spec.when, *read))
        return replace(self, spec=replace(self.spec, form=folded))


@suggesting
def fold(
    name: str,
    relation: RelationLike,
    *,
    sequence: str,
    state: Mapping[str, str],
    by: Fields | None = None,
    kind: str | None = None,
    when: Mapping[str, Mapping[str, str]] | None = None,
    wait: str | None = None,
    emit: EmitMap | None = None,
    sink: Sinks | None = None,
    group: str | None = None,
    solution: Solution | None = None,
    ready: Sequence[str] | None = None,
    expect: ExpectMap | None = None,
) -> Folded:
    """Return a product of the state that events of a log make, key by key.

    Args:
        name: The product's name.
        relation: The log: a relation that is `append`.
        sequence: The column with an event's number, which counts from 1 in each key.
        state: The columns of the state: `{"balance": "decimal(18,2) = 0"}`.
        by: Whose events have one state; None is all of them.
        kind: The column that says what has happened; by default `type`.
        when: What events of a kind make of the state; `.when(…)` adds more.
        wait: How long events wait for numbers that are missing before theirs; by default `1m`.
        emit: When states are sent; `settle` alone.
        sink: As for `jn.document`.
        group: Products of one group share a query, and read the log once.
        solution: As for `jn.document`.
        ready: As for `jn.document`.
        expect: As for `jn.document`.

    Raises:
        ProjectErrors: With every problem.

    Example:
        >>> account = fold(
        ...     "account", "entry", by=["id"], sequence="no", state={"sum": "long = 0"}
        ... ).when("Deposited", sum="sum + event.amount")
        >>> account.spec.form.state[0].initial
        '0'
    """
    parts: dict[str, object] = {"fold": relation_name(relation), "by": by, "sequence": sequence}
    parts |= {"kind": kind, "state": state, "when": when, "wait": wait, "emit": emit}
    parts |= {"sink": sink, "group": group, "solution": solution}
    parts |= {"ready": ready, "expect": expect}
    return Folded(product_of(name, parts), objects_of(relation))
