"""From a declared pattern to its plan: the pattern read, its conditions typed, names resolved.

Invariant: every problem is reported at the word that causes it, and what follows from a problem
is not reported again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from joinery.expression.evaluate import EvaluationError, compile_typed
from joinery.expression.match_read import MatchRead, MatchScope
from joinery.expression.problem import ExpressionError
from joinery.expression.typed import Expression
from joinery.model.type import DataType
from joinery.plan.build_aggregate import build_by
from joinery.plan.build_rule import Rules, build_rules
from joinery.plan.context import Context
from joinery.plan.join import comparable
from joinery.plan.match_program import MatchProgram, compiled
from joinery.plan.match_syntax import MatchText, before, most_rows, parse_match
from joinery.plan.pattern import START, PatternForm, Variable
from joinery.plan.relation import Computed, OrderKey, Relation
from joinery.project.emit import Emit
from joinery.project.form import PatternSpec
from joinery.project.mark import Path
from joinery.project.product import ProductSpec


def build_pattern(
    context: Context,
    product: ProductSpec,
    spec: PatternSpec,
    relations: Mapping[str, tuple[Relation, frozenset[str]]],
) -> PatternForm | None:
    """Return the plan of a pattern, or None where it cannot be read.

    Args:
        context: Takes the problems.
        product: The product.
        spec: What it looks for.
        relations: All relations, each with the columns whose own problem is noted.
    """
    path: Path = ("products", product.name)
    name = product.root.relation
    if name not in relations:
        message = f'there is no relation "{name}"'
        place = (*path, "pattern")
        context.unknown("PLAN_UNKNOWN_RELATION", message, place, name=name, known=relations)
        return None
    rules = build_rules(context, spec, path, relations[name], relations)
    return _Builder(context, spec, path, relations[name], rules, product.emit).build()


class _Builder:
    """Builds one pattern over a relation that is there."""

    def __init__(
        self,
        context: Context,
        spec: PatternSpec,
        path: Path,
        known: tuple[Relation, frozenset[str]],
        rules: Rules,
        emit: Emit,
    ) -> None:
        self.context, self.spec, self.path, self.emit = context, spec, path, emit
        self.relation, failed = known
        self.failed = failed | rules.failed
        self.rules = rules.rules
        self.columns = {each.name: each.type for each in self.relation.row.fields}
        self.seen = self.columns | {each.name: each.type for each in rules.rules}
        self.reads: list[MatchRead] = []

    def build(self) -> PatternForm | None:
        self.check_relation()
        by = build_by(self.context, self.spec.by, self.columns, self.failed, self.path)
        order = self.order()
        text = self.text()
        if text is None:
            return None
        variables = self.variables(text)
        program = self.program(text)
        fields = self.fields(text, by)
        self.check_time(text, order)
        self.check_names()
        if program is None:
            return None
        return PatternForm(
            relation=self.relation,
            by=by,
            order=order,
            variables=variables,
            program=program,
            written=" ".join(self.spec.match.split()),
            absent=None if text.absent is None else text.variables.index(text.absent),
            within_us=self.spec.within_us,
            after=self.spec.after,
            most_rows=most_rows(text.tree),
            reads=tuple(self.reads),
            fields=fields,
            emit=self.emit,
            rules=self.rules,
        )

    def refuse(self, message: str, *place: str | int, hint: str = "", key: bool = False) -> None:
        self.context.refuse("PLAN_PATTERN", message, (*self.path, *place), hint=hint, key=key)

    @property
    def rule_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.rules)

    def check_relation(self) -> None:
        relation = self.relation
        if not relation.key:
            message = f'relation "{relation.name}" has no key, which names the start of a match'
            place = (*self.path, "pattern")
            self.context.refuse("PLAN_KEY", message, place, hint="Declare its key.")
        if relation.time is None and not self.spec.order:
            message = f'rows have no order: relation "{relation.name}" has no time'
            hint = f'Name its column: "time" of relation "{relation.name}". Or write order.'
            self.refuse(message, "pattern", hint=hint)

    def order(self) -> tuple[OrderKey, ...]:
        """Return what rows are ordered by; nothing where that is the time alone."""
        found: list[OrderKey] = []
        for index, each in enumerate(self.spec.order):
            place = (*self.path, "order", index)
            made = self.context.expression(each.expression, place, self.columns, failed=self.failed)
            if made is None:
                continue
            if not comparable(made[0].type):
                message = f"rows cannot be ordered by {made[0].type}"
                hint = "Order by columns of simple types."
                self.context.refuse("PLAN_TYPE_MISMATCH", message, place, hint=hint)
            found.append(OrderKey(made[0], each.descending))
        time = self.relation.time
        timed = len(found) == 1 and found[0].expression.sql == time and not found[0].descending
        return () if timed else tuple(found)

    def text(self) -> MatchText | None:
        """Return what `match` says, or None where it cannot be read."""
        place = (*self.path, "match")
        if not self.spec.match:
            return None
        try:
            return parse_match(self.spec.match)
        except ExpressionError as error:
            error.location = self.context.place(place, self.spec.match, error.offset)
            error.declared = place
            self.context.problems.append(error)
            return None

    def program(self, text: MatchText) -> MatchProgram | None:
        place = (*self.path, "match")
        try:
            return compiled(text.tree, text.variables)
        except ExpressionError as error:
            error.location = self.context.place(place, self.spec.match, 0)
            error.declared = place
            self.context.problems.append(error)
            return None

    def variables(self, text: MatchText) -> tuple[Variable, ...]:
        defined = dict(self.spec.define)
        for name in defined:
            if name not in text.variables:
                message = f'"match" does not name the variable "{name}"'
                place = (*self.path, "define", name)
                self.context.unknown(
                    "PLAN_PATTERN", message, place, name=name, known=text.variables, key=True
                )
        for name in text.variables:
            if name in self.seen:
                other = "a column" if name in self.columns else "a rule"
                message = f'"{name}" is a variable of the pattern, and {other}'
                where = ("define", name) if name in defined else ("match",)
                self.refuse(message, *where, hint="Give the variable another name.", key=True)
        return tuple(
            Variable(name, self.condition(name, text) if name in defined else None)
            for name in text.variables
        )

    def condition(self, name: str, text: MatchText) -> Expression | None:
        place = (*self.path, "define", name)
        match = MatchScope(text.variables, self.seen, own=name, rules=self.rule_names)
        made = self.context.match_expression(
            dict(self.spec.define)[name], place, self.seen, match, self.reads, self.failed
        )
        if made is None:
            return None
        if str(made.type) != "boolean":
            message = f'"define" of "{name}" needs a boolean, and this is {made.type}'
            hint = "Compare it with something."
            self.context.refuse("PLAN_TYPE_MISMATCH", message, place, hint=hint)
        else:
            self._check_condition(name, made, text)
        return made

    def _check_condition(self, name: str, condition: Expression, text: MatchText) -> None:
        """Warn of a condition that no row can meet: it is false, or reads what comes later."""
        absent = name == text.absent
        if _is_never_true(condition):
            needed = "A match that needs such a row is never found."
            self._warn(
                name,
                f'no row is "{name}": its condition is never true',
                detail=f'"not {name}" leaves no match out.' if absent else needed,
                hint="Write what its rows are, or leave the variable out.",
            )
        if absent:
            return
        earlier = {*before(text.tree).get(name, ()), name, ""}
        read = (each for each in self.reads if each.name in condition.references)
        for variable in dict.fromkeys(each.variable for each in read):
            if variable not in earlier:
                self._warn(
                    name,
                    f'the condition of "{name}" reads "{variable}", which never comes before it',
                    detail=f'"{variable}" has no row there: its columns are null, its count is 0.',
                    hint=f'Compare the two in the condition of "{variable}".',
                )

    def _warn(self, name: str, message: str, *, detail: str, hint: str) -> None:
        place = (*self.path, "define", name)
        self.context.refuse("PLAN_PATTERN", message, place, detail=detail, hint=hint, warning=True)

    def fields(self, text: MatchText, by: Collection[Computed]) -> tuple[Computed, ...]:
        """Return what a match shows."""
        scope: dict[str, DataType] = {each.name: each.type for each in by}
        first = text.variables[0]
        elsewhere = {each: f"Name the row, such as {first}.{each}." for each in self.seen}
        made: list[Computed] = []
        for name, written in self.spec.fields:
            place = (*self.path, "fields", name)
            match = MatchScope(text.variables, self.seen, rules=self.rule_names)
            found = self.context.match_expression(
                written, place, scope, match, self.reads, self.failed, elsewhere=elsewhere
            )
            if found is not None:
                made.append(Computed(name, found))
        return tuple(made)

    def check_time(self, text: MatchText, order: Collection[OrderKey]) -> None:
        spec, relation = self.spec, self.relation
        if spec.within_us is not None and relation.time is None:
            message = f'"within" needs a time, and relation "{relation.name}" has none'
            hint = f'Name its column: "time" of relation "{relation.name}".'
            self.refuse(message, "within", hint=hint)
        if spec.within_us is not None:
            self._check_bound(order)
        elif text.absent is not None:
            message = f'"not {text.absent}" needs "within", which says until when'
            self.refuse(message, "match", hint="Write within: 10m.")
        elif self.emit.when == "closed":
            message = "a match without an end in time is never closed"
            self.refuse(message, "emit", "when", hint="Write within: 10m, or leave when out.")
        else:
            self.context.refuse(
                "PLAN_UNBOUNDED",
                'the rows of a pattern without "within" are kept forever',
                (*self.path, "match"),
                detail="Any later row may complete a match.",
                hint="Say how long after its first row a match may end, such as within: 10m.",
                warning=True,
            )

    def _check_bound(self, order: Collection[OrderKey]) -> None:
        """Warn of rows that nothing ever forgets although a match ends in time."""
        if self.relation.product is not None:
            changelog, _ = self.relation.clock
            self.context.refuse(
                "PLAN_UNBOUNDED",
                f'the rows of product "{self.relation.product.name}" are kept forever',
                (*self.path, "pattern"),
                detail="Rows of a product are never late, so any of them may still alter a match.",
                hint=f'Look for it in "{changelog.name}" itself where old rows need not be kept.',
                warning=True,
            )
        elif order and self.relation.time is not None:
            self.context.refuse(
                "PLAN_UNBOUNDED",
                'the rows of a pattern with an "order" of its own are kept forever',
                (*self.path, "order"),
                detail="Only rows in the order of their time are forgotten as time goes on.",
                hint="Leave order out where rows need not be kept.",
                warning=True,
            )

    def check_names(self) -> None:
        """Refuse an output that has the name of another."""
        taken = {START}
        for word, pairs in (("by", self.spec.by), ("fields", self.spec.fields)):
            for name, _ in pairs:
                if name in taken:
                    message = f'there are two outputs "{name}"'
                    place = (*self.path, word, name)
                    self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, place, key=True)
                taken.add(name)


def _is_never_true(condition: Expression) -> bool:
    """Return whether a condition reads nothing of any row, and is false, null, or fails."""
    if condition.references or condition.typed is None:
        return False
    try:
        return compile_typed(condition.typed)({}) is not True
    except EvaluationError:
        return True
