"""From a declared fold to its plan: numbers, kinds and state resolved, expressions typed.

Invariant: every problem is reported at the word that causes it, and what follows from a problem
is not reported again.
"""

from __future__ import annotations

from collections.abc import Mapping

from joinery.expression.coercion import integral
from joinery.expression.evaluate import EvaluationError, compile_typed
from joinery.expression.typed import Expression
from joinery.model.type import STRING, DataType, parse_type
from joinery.plan.build_aggregate import build_by
from joinery.plan.context import Context
from joinery.plan.fold import EVENT, FoldForm, StateColumn, Transition, assignable, assigned
from joinery.plan.relation import Computed, Relation
from joinery.project.form import FoldSpec
from joinery.project.mark import Path
from joinery.project.product import ProductSpec


def build_fold(
    context: Context,
    product: ProductSpec,
    spec: FoldSpec,
    relations: Mapping[str, tuple[Relation, frozenset[str]]],
) -> FoldForm | None:
    """Return the plan of a fold, or None where its log is not there.

    Args:
        context: Takes the problems.
        product: The product.
        spec: What it folds.
        relations: All relations, each with the columns whose own problem is noted.
    """
    path: Path = ("products", product.name)
    name = product.root.relation
    if name not in relations:
        message = f'there is no relation "{name}"'
        place = (*path, "fold")
        context.unknown("PLAN_UNKNOWN_RELATION", message, place, name=name, known=relations)
        return None
    return _Builder(context, spec, path, relations[name]).build()


class _Builder:
    """Builds one fold over a relation that is there."""

    def __init__(
        self,
        context: Context,
        spec: FoldSpec,
        path: Path,
        known: tuple[Relation, frozenset[str]],
    ) -> None:
        self.context, self.spec, self.path = context, spec, path
        self.relation, self.failed = known
        self.columns = {each.name: each.type for each in self.relation.row.fields}

    def build(self) -> FoldForm:
        spec = self.spec
        self.check_relation()
        if spec.sequence:
            self.check_column("sequence", spec.sequence)
        self.check_column("kind", spec.kind)
        by = build_by(self.context, spec.by, self.columns, self.failed, self.path)
        state = self.state()
        self.check_names()
        form = FoldForm(self.relation, by, spec.sequence, spec.kind, state, (), spec.wait)
        when = self.when(form)
        return FoldForm(self.relation, by, spec.sequence, spec.kind, state, when, spec.wait)

    def refuse(self, message: str, *place: str | int, hint: str = "", key: bool = False) -> None:
        self.context.refuse("PLAN_FOLD", message, (*self.path, *place), hint=hint, key=key)

    def mistyped(self, message: str, *place: str | int, hint: str) -> None:
        where = (*self.path, *place)
        self.context.refuse("PLAN_TYPE_MISMATCH", message, where, hint=hint)

    def check_relation(self) -> None:
        if not self.relation.append:
            message = f'events never change, and rows of relation "{self.relation.name}" may'
            hint = "If it is a log of events, declare it with append: true."
            if self.relation.product is not None:
                hint = "Fold a log of events, not a product."
            self.refuse(message, "fold", hint=hint)

    def check_column(self, word: str, name: str) -> None:
        if name in self.failed:
            return
        place = (*self.path, word)
        if name not in self.columns:
            message = f'relation "{self.relation.name}" has no field "{name}"'
            if word not in self.written():
                hint = "Name the column that says what happened: kind: COLUMN."
                self.context.refuse("PLAN_UNKNOWN_FIELD", message, (*self.path, "fold"), hint=hint)
                return
            self.context.unknown(
                "PLAN_UNKNOWN_FIELD", message, place, name=name, known=self.columns
            )
        elif word == "sequence" and not integral(self.columns[name]):
            message = f'"sequence" needs a whole number, and "{name}" is {self.columns[name]}'
            self.mistyped(
                message, word, hint="Derive one, such as derive: {number: cast(n as long)}."
            )
        elif word == "kind" and self.columns[name] != STRING:
            message = f'"kind" needs a text, and "{name}" is {self.columns[name]}'
            self.mistyped(
                message, word, hint=f"Derive one: derive: {{kind: cast({name} as string)}}."
            )

    def written(self) -> frozenset[str]:
        """Return the words that stand for themselves: `kind` may be left out."""
        return frozenset({"sequence"} | ({"kind"} if self.spec.kind != FoldSpec().kind else set()))

    # The state

    def state(self) -> tuple[StateColumn, ...]:
        found: list[StateColumn] = []
        for each in self.spec.state:
            kind = parse_type(each.type)
            initial = None
            if each.initial is not None:
                made = self.typed(each.initial, {}, ("state", each.name))
                initial = self.value(made, each.name, kind, ("state", each.name))
                self.check_initial(initial, each.name, kind)
            found.append(StateColumn(each.name, kind, initial))
        return tuple(found)

    def check_initial(self, initial: Expression | None, name: str, kind: DataType) -> None:
        """Refuse a value before the first event that every state would begin without."""
        if initial is None or initial.typed is None:
            return
        try:
            compile_typed(initial.typed)({})
        except EvaluationError as error:
            message = f'"{name}" of the state cannot start with the value given: {error.message}'
            self.mistyped(message, "state", name, hint=f"Write a {kind} after =.")

    def when(self, form: FoldForm) -> tuple[Transition, ...]:
        if not self.spec.when:
            hint = "Write when: {KIND: {column: expression over the state and event.column}}."
            self.refuse("no event changes the state", "fold", hint=hint)
        return tuple(self.transition(form, kind, dict(pairs)) for kind, pairs in self.spec.when)

    def transition(self, form: FoldForm, kind: str, pairs: Mapping[str, str]) -> Transition:
        types = {each.name: each.type for each in form.state}
        made: list[Computed] = []
        for name, text in pairs.items():
            place = ("when", kind, name)
            if name not in types:
                message = f'the state has no column "{name}"'
                where = (*self.path, *place)
                self.context.unknown(
                    "PLAN_UNKNOWN_FIELD", message, where, name=name, known=types, key=True
                )
                continue
            found = self.value(self.typed(text, form.scope, place), name, types[name], place)
            if found is not None:
                made.append(Computed(name, found))
        return Transition(kind, tuple(made))

    def typed(self, text: str, scope: Mapping[str, DataType], place: Path) -> Expression | None:
        elsewhere = {each: f"Write {EVENT}.{each}." for each in self.columns if scope}
        found = self.context.expression(
            text, (*self.path, *place), scope, failed=self.failed, elsewhere=elsewhere
        )
        return None if found is None else found[0]

    def value(
        self, made: Expression | None, name: str, kind: DataType, place: Path
    ) -> Expression | None:
        """Return an expression as the value of a column, or note why it cannot be."""
        if made is None:
            return None
        if not assignable(made.type, kind):
            message = f'"{name}" of the state is {kind}, and "{made.sql}" is {made.type}'
            self.mistyped(
                message, *place, hint=f"Write cast(… as {kind}), or declare another type."
            )
            return None
        return assigned(made, kind)

    def check_names(self) -> None:
        """Refuse an output that has the name of another, and one that hides the event."""
        taken: set[str] = set()
        for word, names in (
            ("by", [name for name, _ in self.spec.by]),
            ("state", [each.name for each in self.spec.state]),
        ):
            for name in names:
                place = (*self.path, word, name)
                if name in taken:
                    message = f'there are two outputs "{name}"'
                    self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, key=True)
                taken.add(name)
                if word == "state" and name == EVENT:
                    message = f'"{EVENT}" names the event, and cannot be a column of the state'
                    self.refuse(message, word, name, hint="Give it another name.", key=True)
