"""Lowers what a Pattern keeps and makes: what it knows of a row, its steps, the object of a match.

Everything here follows from the plan alone; nothing depends on the rest of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from joinery.expression.match_read import MatchRead
from joinery.expression.typed import Expression
from joinery.model.type import DataType, Field, Struct, quoted
from joinery.plan.match_program import Ending, Passing, Step, Taking, Trying
from joinery.plan.pattern import PatternForm, Variable
from joinery.semantics.matcher import MOST_STEPS
from joinery.solutions.spark_state.assembler import (
    Address,
    AggregateColumn,
    Assembler,
    OrderColumn,
    ScopeName,
    Slot,
    Sql,
)
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.group_program import LateProgram
from joinery.solutions.spark_state.pattern_program import (
    NONE,
    Pattern,
    ReadProgram,
    Rule,
    RulesProgram,
    RuleUse,
    StepProgram,
    TestProgram,
)


@dataclass(frozen=True, slots=True)
class KeptRow:
    """What a Pattern keeps of a row.

    Attributes:
        assembler: What makes it of a row as products see it.
        columns: Where a column of the relation is in it.
        computed: Where the value of an expression is.
        ruled: What makes all of it of what that has made and of the rules that the row sees, since
            what is computed may read them; None where there are no rules.
    """

    assembler: Assembler
    columns: Mapping[str, int]
    computed: Mapping[Expression, int]
    ruled: Assembler | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """What it has, in order."""
        return (self.ruled or self.assembler).type.fields

    def column(self, place: int) -> Sql:
        """Return what reads one of its values."""
        field = self.fields[place]
        return Sql(field.name, (ScopeName(field.name, place, field.type),), field.type)


def kept_row(name: str, row: Sequence[Slot], form: PatternForm) -> KeptRow:
    """Return what a Pattern keeps of a row.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What it looks for.
    """
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
    if form.rules:
        return _ruled_row(name, row, form)
    read = form.computed
    computed = [*(each.expression for each in form.by), *read]
    columns = [each for each in slots if each in _columns_read(form)]
    made = _row_of(name, row, form, columns, computed)
    first = len(form.by) + len(columns)
    return KeptRow(
        made,
        {each: len(form.by) + place for place, each in enumerate(columns)},
        {each: first + place for place, each in enumerate(read)},
    )


def _ruled_row(name: str, row: Sequence[Slot], form: PatternForm) -> KeptRow:
    """Return what a Pattern keeps of a row, and what it makes of that with its rules."""
    read, at = form.computed, len(form.by)
    joined = {pair.parent for each in form.rules for pair in each.on}
    seen = _columns_read(form).union(joined, *(each.references for each in read))
    columns = [slot.name for slot in row if slot.name in seen]
    comes = _row_of(name, row, form, columns, [each.expression for each in form.by])
    own = tuple(Slot(each.name, each.type) for each in comes.type.fields)
    inputs = tuple(Slot(each.name, each.type) for each in form.rules)
    kept = [*columns, *(each.name for each in form.rules)]
    types = [each.type for each in comes.type.fields[at:]] + [each.type for each in form.rules]
    scope = {each: (at + i, kind) for i, (each, kind) in enumerate(zip(kept, types, strict=True))}
    steps = tuple(sql_over(each, scope) for each in read)
    fields = [*(each.type for each in (*own, *inputs)), *(each.type for each in steps)]
    ruled = Assembler(
        name=f"{name}/ruled",
        own=own,
        inputs=inputs,
        steps=steps,
        where=None,
        order=(),
        output=tuple(range(len(fields))),
        type=Struct(tuple(Field(f"c{i}", each) for i, each in enumerate(fields))),
    )
    first = at + len(kept)
    places = {each: place for each, (place, _) in scope.items()}
    return KeptRow(comes, places, {each: first + i for i, each in enumerate(read)}, ruled)


def _row_of(
    name: str,
    row: Sequence[Slot],
    form: PatternForm,
    columns: Sequence[str],
    computed: Sequence[Expression],
) -> Assembler:
    """Return what makes of a row what comes to a Pattern: `by`, columns, then what is computed.

    Args:
        name: The product.
        row: The relation's columns as products see them.
        form: What it looks for.
        columns: Those of the row that come along.
        computed: `by`, and what else is computed.
    """
    slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
    steps = tuple(sql_over(each, slots) for each in computed)
    at = len(form.by)
    made = [len(row) + place for place in range(len(steps))]
    output = (*made[:at], *(slots[each][0] for each in columns), *made[at:])
    types = [row[each].type if each < len(row) else steps[each - len(row)].type for each in output]
    order = [OrderColumn(sql_over(each.expression, slots), each.descending) for each in form.order]
    order += [OrderColumn(_own(each, *slots[each]), descending=False) for each in form.relation.key]
    return Assembler(
        name=f"{name}/rows",
        own=tuple(row),
        inputs=(),
        steps=steps,
        where=None,
        order=tuple(order),
        output=output,
        type=Struct(tuple(Field(f"c{i}", each) for i, each in enumerate(types))),
    )


def _own(name: str, place: int, kind: DataType) -> Sql:
    return Sql(quoted(name), (ScopeName(name, place, kind),), kind)


def _columns_read(form: PatternForm) -> frozenset[str]:
    """Return the columns that are kept: time, key, and those of conditions that read others."""
    times = {form.relation.time} if form.relation.time is not None else set[str]()
    conditions = [
        each.condition.references
        for each in form.variables
        if each.condition is not None and not form.is_of_row(each)
    ]
    return frozenset({*times, *form.relation.key}).union(*conditions)


def _step(step: Step) -> StepProgram:
    match step:
        case Taking(variable, following):
            return StepProgram("take", variable=variable, next=following)
        case Passing(following):
            return StepProgram("pass", next=following)
        case Trying(first, other):
            return StepProgram("try", next=first, other=other)
        case Ending(matched):
            return StepProgram("matched" if matched else "failed")
        case _:
            assert_never(step)


def test_of(
    name: str, variable: Variable, form: PatternForm, kept: KeptRow
) -> tuple[TestProgram, Assembler | None]:
    """Return what a row must be for a variable, with the assembler whose place is still to be set.

    Args:
        name: The product.
        variable: Whose rows.
        form: What the product looks for.
        kept: What is kept of a row.
    """
    condition = variable.condition
    if condition is None:
        return TestProgram(), None
    if condition in kept.computed and form.is_of_row(variable):
        return TestProgram(column=kept.computed[condition]), None
    own = tuple(Slot(each.name, each.type) for each in kept.fields)
    reads = [place for place, each in enumerate(form.reads) if each.name in condition.references]
    inputs = tuple(Slot(form.reads[each].name, form.reads[each].type) for each in reads)
    scope = {each: (place, kept.fields[place].type) for each, place in kept.columns.items()}
    scope |= {slot.name: (len(own) + i, slot.type) for i, slot in enumerate(inputs)}
    assembler = Assembler(
        name=f"{name}/{variable.name}",
        own=own,
        inputs=inputs,
        steps=(),
        where=sql_over(condition, scope),
        order=(),
        output=(),
        type=Struct(()),
    )
    return TestProgram(reads=tuple(reads)), assembler


def read_of(read: MatchRead, form: PatternForm, kept: KeptRow) -> ReadProgram:
    """Return how a value is read of a match."""
    names = [each.name for each in form.variables]
    variable = names.index(read.variable) if read.variable else NONE
    if read.argument is None:
        return ReadProgram("rows", variable, NONE, None)
    place = kept.computed[read.argument]
    match read.function:
        case "first" | "last" | "prev":
            return ReadProgram(read.function, variable, place, None)
        case _:
            aggregate = AggregateColumn(read.function, kept.column(place), None, read.type)
            return ReadProgram("aggregate", variable, place, aggregate)


def found_assembler(name: str, form: PatternForm) -> Assembler:
    """Return what makes the object of a match of its key and what is read of it."""
    own = tuple(Slot(each.name, each.type) for each in form.key.fields)
    inputs = tuple(Slot(each.name, each.type) for each in form.reads)
    scope = {slot.name: (place, slot.type) for place, slot in enumerate([*own, *inputs])}
    steps = tuple(sql_over(each.expression, scope) for each in form.fields)
    first = len(own) + len(inputs)
    return Assembler(
        name=name,
        own=own,
        inputs=inputs,
        steps=steps,
        where=None,
        order=(),
        output=(*range(len(own)), *(first + place for place in range(len(steps)))),
        type=form.output,
    )


def pattern_node(
    name: str,
    form: PatternForm,
    row: Sequence[Slot],
    *,
    relation: int,
    product: int,
    late: LateProgram | None,
    rules: Sequence[int],
    add: Callable[[Assembler], int],
) -> Pattern:
    """Return the node that keeps a product's rows and matches; its level is still to be set.

    Args:
        name: The product.
        form: What it looks for.
        row: The relation's columns as products see them.
        relation: The relation's place in the program.
        product: The product's.
        late: What becomes of rows that come late.
        rules: The nodes that keep its rules.
        add: Adds an assembler to the program and returns its place.
    """
    kept, time = kept_row(name, row, form), form.relation.time
    made = [test_of(name, each, form, kept) for each in form.variables]
    tests = (test if own is None else replace(test, assembler=add(own)) for test, own in made)
    return Pattern(
        name=name,
        level=0,
        relation=relation,
        input=add(kept.assembler),
        by=len(form.by),
        time=NONE if time is None else kept.columns[time],
        by_time=form.by_time,
        key=tuple(kept.columns[each] for each in form.relation.key),
        steps=tuple(map(_step, form.program.steps)),
        first=form.program.first,
        tests=tuple(tests),
        reads=tuple(read_of(each, form, kept) for each in form.reads),
        absent=NONE if form.absent is None else form.absent,
        within_micros=-1 if form.within_us is None else form.within_us,
        past_last=form.after == "past_last",
        most_rows=-1 if form.searched_rows is None else form.searched_rows,
        most_tests=MOST_STEPS,
        assembler=add(found_assembler(name, form)),
        product=product,
        late=late,
        rules=_rules_of(form, kept, rules, add),
    )


def _rules_of(
    form: PatternForm, kept: KeptRow, targets: Sequence[int], add: Callable[[Assembler], int]
) -> RulesProgram | None:
    if kept.ruled is None:
        return None
    uses = [
        RuleUse(
            target,
            Address(
                tuple(kept.columns[pair.parent] for pair in rule.on),
                tuple(pair.type for pair in rule.on),
            ),
        )
        for rule, target in zip(form.rules, targets, strict=True)
    ]
    return RulesProgram(add(kept.ruled), tuple(uses))


def rule_assembler(name: str, form: PatternForm, place: int, row: Sequence[Slot]) -> Assembler:
    """Return what makes of a row of a rule what a pattern's rows see.

    Args:
        name: The product.
        form: What it looks for.
        place: Which of its rules.
        row: The columns of the rule's relation as products see them.
    """
    rule = form.rules[place]
    places = {slot.name: index for index, slot in enumerate(row)}
    return Assembler(
        name=f"{name}/{rule.name}",
        own=tuple(row),
        inputs=(),
        steps=(),
        where=None,
        order=(),
        output=tuple(places[each.name] for each in rule.type.fields),
        type=rule.type,
    )


def rule_node(name: str, form: PatternForm, place: int, *, relation: int, target: int) -> Rule:
    """Return the node that keeps the rows of a rule; its level is still to be set.

    Args:
        name: The product.
        form: What it looks for.
        place: Which of its rules.
        relation: The place of the pattern's relation in the program.
        target: The Pattern's.
    """
    bounded = form.within_us is not None and form.by_time
    kept = (form.within_us or 0) + form.emit.allowed_us + form.emit.retention_us
    rule = f"{name}/{form.rules[place].name}"
    return Rule(rule, 0, target, place, relation, kept if bounded else NONE)
