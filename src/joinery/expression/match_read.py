"""What an expression reads of a match in the making, lifted out of it.

`sum(A.x * 2)` becomes a `MatchRead` of the variable `A` over the columns of its rows, whose
expression is the user's text without the prefix `A.`, and a placeholder in its place. `A.x` alone
means `last(A.x)`; in the condition of `A` itself it is the row under test, and so a plain column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from joinery.expression.aggregate import EMBED_AGGREGATES
from joinery.expression.lift import Lifted, Span, cut, rebuilt
from joinery.expression.problem import ExpressionError, nearest_hint, type_error
from joinery.expression.syntax import Call, Member, Name, Star, Syntax, children, free_names
from joinery.expression.typed import Expression
from joinery.model.type import LONG, DataType

Build = Callable[[str, Mapping[str, DataType]], Expression]

PREV = "prev"
_PLACED = ("first", "last")
READ_FUNCTIONS = (*_PLACED, PREV, "count", "sum", "min", "max", "avg")
_FUNCTIONS = frozenset({*READ_FUNCTIONS, *EMBED_AGGREGATES})


@dataclass(frozen=True, slots=True)
class MatchRead:
    """A value kept over the rows of a match, or of the row before the one under test.

    Attributes:
        name: The placeholder under which expressions read it (`__read_0` …).
        variable: Whose rows it is over; empty for all rows of the match, and for `prev`.
        function: One of `READ_FUNCTIONS`.
        argument: Over the relation's columns; None counts rows.
        type: The type of the result.
    """

    name: str
    variable: str
    function: str
    argument: Expression | None
    type: DataType

    @property
    def follows_match(self) -> bool:
        """Whether it depends on what the match has taken so far."""
        return self.function != PREV


@dataclass(frozen=True, slots=True)
class MatchScope:
    """What an expression over a match may name beside its own scope.

    Attributes:
        variables: Those of the match.
        columns: Of the relation's rows.
        own: The variable whose condition it is; None outside of conditions.
        rules: Those of the columns that are rows of other relations.
    """

    variables: Collection[str]
    columns: Mapping[str, DataType]
    own: str | None = None
    rules: Collection[str] = ()


def lift_reads(
    text: str, tree: Syntax, scope: MatchScope, known: Collection[MatchRead], build: Build
) -> tuple[Lifted, tuple[MatchRead, ...]]:
    """Return the expression `text`, parsed as `tree`, with what it reads of a match apart.

    Args:
        text: The expression as written.
        tree: Its syntax.
        scope: What it may name.
        known: What other expressions of the product read, whose placeholders are used again.
        build: Builds the arguments.
    """
    lifter = _Lifter(text, scope, build, {_facts(each): each for each in known})
    found = lifter.changed(tree)
    lifted = Lifted(found, cut(text, lifter.cuts), ())
    return lifted, tuple(lifter.reads.values())


def _facts(read: MatchRead) -> tuple[object, ...]:
    return read.variable, read.function, read.argument


class _Lifter:
    """One expression: what it reads, and where its text is replaced."""

    def __init__(
        self,
        text: str,
        scope: MatchScope,
        build: Build,
        known: Mapping[tuple[object, ...], MatchRead],
    ) -> None:
        self._text, self._scope, self._build = text, scope, build
        self._known = dict(known)
        self.reads: dict[str, MatchRead] = {}
        self.cuts: list[tuple[Span, str]] = []

    def changed(self, node: Syntax) -> Syntax:
        """Return a node in which names stand for what is read."""
        if isinstance(node, Call) and node.function in _FUNCTIONS:
            return self._placed(self._read(node), node)
        if isinstance(node, Member) and isinstance(node.base, Name):
            variable = node.base.name
            if variable in self._scope.variables and variable == self._scope.own:
                self.cuts.append(((node.base.start, node.name_start), ""))
                return Name(node.name, node.name_start, node.end)
            if variable in self._scope.variables:
                span = node.name_start, node.end
                return self._placed(self._made(variable, "last", self._inner(span, ())), node)
        return rebuilt(node, self.changed)

    def _placed(self, read: MatchRead, node: Call | Member) -> Name:
        self.cuts.append(((node.start, node.end), read.name))
        return Name(read.name, node.start, node.end)

    def _made(
        self,
        variable: str,
        function: str,
        argument: Expression | None,
        kind: DataType | None = None,
    ) -> MatchRead:
        kind = kind or (LONG if argument is None else argument.type)
        made = MatchRead(f"__read_{len(self._known)}", variable, function, argument, kind)
        made = self._known.setdefault(_facts(made), made)
        self.reads[made.name] = made
        return made

    def _read(self, call: Call) -> MatchRead:
        name = call.function
        if name not in READ_FUNCTIONS:
            hint = nearest_hint(name, READ_FUNCTIONS) or f"Known: {', '.join(READ_FUNCTIONS)}."
            raise _problem(f'"{name}" is not kept over the rows of a match', call, hint)
        if call.distinct or call.filter is not None or len(call.arguments) != 1:
            raise _problem(f'"{name}" of a match takes one argument, and no other words', call)
        (argument,) = call.arguments
        if name == PREV:
            return self._previous(call, argument)
        if isinstance(argument, Star):
            if name != "count":
                raise _problem(f'"{name}" needs a column', call, f"Write {name}(A.column).")
            return self._made("", name, None)
        if isinstance(argument, Name) and argument.name in self._scope.variables:
            if name != "count":
                variable = argument.name
                raise _problem(
                    f'"{name}" needs a column', call, f"Write {name}({variable}.column)."
                )
            return self._made(argument.name, name, None)
        variable, value = self._over(call, argument)
        return self._made(variable, name, value, self._type(name, value, call))

    def _previous(self, call: Call, argument: Syntax) -> MatchRead:
        if self._scope.own is None:
            raise _problem('"prev" can only be used in conditions, which look at one row', call)
        if any(each.name in self._scope.variables for each in free_names(argument)):
            raise _problem(
                '"prev" reads the row before, whatever it is', call, "Write prev(column)."
            )
        if any(each.name in self._scope.rules for each in free_names(argument)):
            raise _problem(
                '"prev" reads columns of the row before, and no rules', call, "Write prev(column)."
            )
        return self._made("", PREV, self._inner(call.spans[0], ()))

    def _over(self, call: Call, argument: Syntax) -> tuple[str, Expression]:
        """Return the variable that an argument is over, and the argument without its name."""
        prefixes = list(_prefixes(argument, self._scope.variables))
        named = {each for each, _ in prefixes}
        loose = [each for each in free_names(argument) if each.name not in named]
        if len(named) != 1 or loose:
            shown = sorted(named)
            message = f'"{call.function}" reads the rows of a variable'
            if loose:
                message += f', and "{loose[0].name}" is none'
            if len(named) > 1:
                message = f'"{call.function}" reads one variable, and this {" and ".join(shown)}'
            variable = next(iter(named or self._scope.variables), "A")
            hint = f"Write {call.function}({variable}.column)."
            raise _problem(message, call, hint)
        spans = [span for _, span in prefixes]
        return named.pop(), self._inner(call.spans[0], spans)

    def _inner(self, span: Span, removed: Collection[Span]) -> Expression:
        shifted = [((start - span[0], end - span[0]), "") for start, end in removed]
        try:
            return self._build(cut(self._text[slice(*span)], shifted), self._scope.columns)
        except ExpressionError as problem:
            problem.offset += span[0]
            raise

    def _type(self, name: str, value: Expression, call: Call) -> DataType:
        if name in _PLACED:
            return value.type
        function = EMBED_AGGREGATES[name]
        if not function.takes(value.type):
            told = f'"{name}" needs {function.needs}, and this is {value.type}'
            raise type_error(told, offset=call.spans[0][0])
        return function.of_group(value.type)


def _prefixes(node: Syntax, variables: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Yield the variables in front of columns, with the spans of `A.`."""
    if isinstance(node, Member) and isinstance(node.base, Name) and node.base.name in variables:
        yield node.base.name, (node.base.start, node.name_start)
    for child in children(node):
        yield from _prefixes(child, variables)


def _problem(message: str, call: Call, hint: str = "") -> ExpressionError:
    return ExpressionError(message, code="PLAN_PATTERN", offset=call.start, hint=hint)
