"""The reader of expressions: tokens to syntax tree, operator by operator as Spark binds them.

From loose to tight: or, and, not; one of between, in, like, is; comparisons (one level,
from the left); + - ||; * / % div; the signs; items, members and `::`.
"""

from __future__ import annotations

from dataclasses import replace

from joinery.expression.literal import (
    VOID,
    date_literal,
    number_literal,
    timestamp_literal,
    type_named,
)
from joinery.expression.problem import not_portable, refused
from joinery.expression.syntax import (
    Alias,
    Call,
    CastTo,
    Lambda,
    Literal,
    Member,
    Name,
    Star,
    Syntax,
)
from joinery.expression.token import RESERVED, Cursor, Token, tokens_of
from joinery.model.type import BINARY, BOOLEAN, STRING, Atomic, Decimal

_COMPARISONS = {"=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=", "!<", "!>"}
_SAME = {"==": "=", "!=": "<>", "!<": ">=", "!>": "<="}
_BITS = {"&", "|", "^", "<<", ">>", ">>>"}
_ARGUMENT_WORDS = {"from", "in", "placing", "both", "leading", "trailing", "order", "for"}


def parse(text: str) -> Syntax:
    """Return the syntax tree of `text`.

    Raises:
        ExpressionError: `text` is not one Spark SQL expression.
        NotPortableError: `text` uses syntax that only Spark's own parser reads.
    """
    return _Parser(tokens_of(text)).whole()


class _Parser(Cursor):
    """The grammar, a method per rule."""

    # -- from loose to tight

    def whole(self) -> Syntax:
        tree = self._boolean()
        if self._next.kind != "end":
            self._unexpected("the end of the expression")
        return tree

    def _boolean(self) -> Syntax:
        left = self._conjunction()
        while self._accept("or"):
            left = self._call("or", left, self._conjunction(), start=left.start)
        return left

    def _conjunction(self) -> Syntax:
        left = self._negation()
        while self._accept("and"):
            left = self._call("and", left, self._negation(), start=left.start)
        return left

    def _negation(self) -> Syntax:
        token = self._accept("not", "!")
        if token is None:
            return self._predicate()
        return self._call("not", self._negation(), start=token.start)

    def _predicate(self) -> Syntax:
        start = self._next.start
        value = self._value()
        if self._is("is"):
            return self._is_predicate(value, start)
        negated = self._is("not") and self._ahead().word in (
            "between",
            "in",
            "like",
            "ilike",
            "rlike",
            "regexp",
        )
        if negated:
            self._take()
        found = self._set_predicate(value, start)
        return self._call("not", found, start=start) if negated else found

    def _set_predicate(self, value: Syntax, start: int) -> Syntax:
        if self._accept("between"):
            low = self._value()
            self._expect("and")
            return self._call("between", value, low, self._value(), start=start)
        if self._accept("in"):
            self._expect("(")
            self._refuse_query()
            return self._call("in", value, *self._arguments(), start=start)
        if word := self._accept("like", "ilike", "rlike", "regexp"):
            return self._like(value, word, start)
        return value

    def _like(self, value: Syntax, word: Token, start: int) -> Syntax:
        if word.word in ("rlike", "regexp"):
            return self._call("rlike", value, self._value(), start=start)
        if self._is("any", "all", "some") and self._ahead().value == "(":
            raise not_portable(f"{word.word} {self._next.word}", offset=word.start)
        pattern = self._value()
        if self._accept("escape"):
            raise not_portable("a like with escape", offset=word.start)
        return self._call(word.word, value, pattern, start=start)

    def _is_predicate(self, value: Syntax, start: int) -> Syntax:
        self._expect("is")
        negated = self._accept("not") is not None
        if self._accept("distinct"):
            self._expect("from")
            same = self._call("<=>", value, self._value(), start=start)
            return same if negated else self._call("not", same, start=start)
        word = self._accept("null", "true", "false", "unknown") or self._unexpected(
            "null, true or false"
        )
        if word.word in ("null", "unknown"):
            found: Syntax = self._call("is null", value, start=start)
        else:
            truth = Literal(word.word == "true", BOOLEAN, word.start, word.end)
            found = self._call("<=>", value, truth, start=start)
        return self._call("not", found, start=start) if negated else found

    def _value(self) -> Syntax:
        start = self._next.start
        left = self._sum()
        while self._next.kind == "symbol" and self._next.value in _COMPARISONS | _BITS:
            sign = self._take()
            if sign.value in _BITS:
                raise not_portable(f"the operator {sign.value}", offset=sign.start)
            left = self._call(_SAME.get(sign.value, sign.value), left, self._sum(), start=start)
        return left

    def _sum(self) -> Syntax:
        start = self._next.start
        left, end = self._product(), self._last_end
        while sign := self._accept("+", "-", "||"):
            first, second = (start, end), self._next.start
            left = self._call(sign.value, left, self._product(), start=start)
            end = self._last_end
            left = replace(left, spans=(first, (second, end)))
        return left

    def _product(self) -> Syntax:
        start = self._next.start
        left = self._signed()
        while sign := self._accept("*", "/", "%", "div"):
            left = self._call(sign.value.lower(), left, self._signed(), start=start)
        return left

    def _signed(self) -> Syntax:
        sign = self._accept("+", "-", "~")
        if sign is None:
            return self._postfix(self._primary())
        if sign.value == "~":
            raise not_portable("the operator ~", offset=sign.start)
        if sign.value == "-" and self._next.kind == "number":
            return self._postfix(number_literal(self._take(), negative_from=sign.start))
        return self._call(f"{sign.value}x", self._signed(), start=sign.start)

    def _postfix(self, base: Syntax) -> Syntax:
        while sign := self._accept(".", "[", "::"):
            if sign.value == ".":
                base = self._member(base)
            elif sign.value == "[":
                item = self._value()
                self._expect("]")
                base = self._call("[]", base, item, start=base.start)
            else:
                base = CastTo(base, self._type(), False, base.start, self._last_end)
        return base

    def _member(self, base: Syntax) -> Syntax:
        if self._is("*"):
            raise refused("*", offset=self._next.start)
        if self._next.kind not in ("name", "quoted"):
            self._unexpected("a field's name")
        name = self._take()
        if self._is("(") and isinstance(base, Name):
            raise not_portable(f'the function "{base.name}.{name.value}"', offset=base.start)
        return Member(base, name.value, name.start, base.start, name.end)

    # -- operands

    def _primary(self) -> Syntax:
        token = self._next
        match token.kind:
            case "number":
                return number_literal(self._take())
            case "string":
                return self._string()
            case "binary":
                self._take()
                digits = token.value if len(token.value) % 2 == 0 else "0" + token.value
                return Literal(bytes.fromhex(digits), BINARY, token.start, token.end)
            case "quoted":
                return self._name()
            case "name":
                return self._word()
            case "symbol" | "end":
                if self._is("("):
                    return self._group()
                return self._unexpected("a value")

    def _string(self) -> Literal:
        first = self._take()
        text = first.value
        while self._next.kind == "string":
            text += self._take().value
        return Literal(text, STRING, first.start, self._last_end)

    def _word(self) -> Syntax:
        token = self._next
        word, following = token.word, self._ahead()
        if word in ("null", "true", "false"):
            self._take()
            kind = VOID if word == "null" else BOOLEAN
            return Literal({"null": None}.get(word, word == "true"), kind, token.start, token.end)
        if word == "case":
            return self._case()
        if word in ("cast", "try_cast") and following.value == "(":
            return self._cast()
        if following.kind == "string" and word in ("date", "timestamp"):
            self._take()
            text = self._string()
            return (date_literal if word == "date" else timestamp_literal)(text, start=token.start)
        if following.kind == "string" or (
            word == "interval" and following.kind in ("number", "name")
        ):
            raise not_portable(f"the literal {word}", offset=token.start)
        if word in RESERVED:
            self._unexpected("a value")
        if following.kind == "symbol" and following.value == "(":
            return self._function()
        return self._name()

    def _name(self) -> Syntax:
        token = self._take()
        if arrow := self._accept("->"):
            return self._lambda((token.value,), arrow, token.start)
        return Name(token.value, token.start, token.end)

    def _lambda(self, parameters: tuple[str, ...], arrow: Token, start: int) -> Lambda:
        body = self._boolean()
        return Lambda(parameters, body, start, self._last_end)

    def _group(self) -> Syntax:
        if parameters := self._parameters():
            return parameters
        opening = self._expect("(")
        self._refuse_query()
        inner = self._boolean()
        if self._is(","):
            raise not_portable("a row of values", offset=opening.start)
        self._expect(")")
        return inner

    def _parameters(self) -> Lambda | None:
        names: list[str] = []
        at = 1
        while self._ahead(at).kind in ("name", "quoted"):
            names.append(self._ahead(at).value)
            at += 1
            if self._ahead(at).value == ",":
                at += 1
        if len(names) < 2 or self._ahead(at).value != ")" or self._ahead(at + 1).value != "->":
            return None
        start = self._next.start
        self._at += at + 1
        return self._lambda(tuple(names), self._take(), start)

    def _case(self) -> Syntax:
        start = self._expect("case").start
        operand = None if self._is("when") else self._boolean()
        parts: list[Syntax] = []
        while self._accept("when"):
            parts.append(self._condition(operand))
            self._expect("then")
            parts.append(self._boolean())
        if not parts:
            self._unexpected('"when"')
        if self._accept("else"):
            parts.append(self._boolean())
        self._expect("end")
        return self._call("case", *parts, start=start)

    def _condition(self, operand: Syntax | None) -> Syntax:
        tested = self._boolean()
        return tested if operand is None else Call("=", (operand, tested), tested.start, tested.end)

    def _cast(self) -> Syntax:
        word = self._take()
        self._expect("(")
        argument = self._boolean()
        self._expect("as")
        wanted = self._type()
        self._expect(")")
        return CastTo(argument, wanted, word.word == "try_cast", word.start, self._last_end)

    def _type(self) -> Atomic | Decimal:
        token = self._next
        if token.kind != "name":
            self._unexpected("a type")
        self._take()
        sizes: list[int] = []
        if self._is("<"):
            raise not_portable(f"a cast to {token.word}", offset=token.start)
        if self._accept("("):
            sizes.append(self._size())
            while self._accept(","):
                sizes.append(self._size())
            self._expect(")")
        return type_named(token, sizes)

    def _size(self) -> int:
        if self._next.kind != "number" or not self._next.value.isdigit():
            self._unexpected("a number of digits")
        return int(self._take().value)

    def _function(self) -> Syntax:
        name = self._take()
        self._expect("(")
        if name.word == "exists":
            self._refuse_query()
        distinct = self._is("distinct") and self._take() is not None
        spans: list[tuple[int, int]] = []
        arguments = self._arguments(name, spans)
        call = Call(
            name.word, arguments, name.start, self._last_end, tuple(spans), distinct=distinct
        )
        if self._is("filter") and self._ahead().value == "(":
            call = self._filtered(call)
        if self._is("over"):
            raise refused("a window function", offset=name.start)
        return call

    def _filtered(self, call: Call) -> Call:
        self._take()
        self._take()
        self._expect("where")
        start = self._next.start
        condition = self._boolean()
        spans = (*call.spans, (start, self._last_end))
        self._expect(")")
        return replace(call, filter=condition, spans=spans, end=self._last_end)

    def _arguments(
        self, function: Token | None = None, spans: list[tuple[int, int]] | None = None
    ) -> tuple[Syntax, ...]:
        found: list[Syntax] = []
        if function is not None and self._accept(")"):
            return ()
        while True:
            start = self._next.start
            found.append(self._argument(function))
            if spans is not None:
                spans.append((start, self._last_end))
            if function is not None and self._is(*_ARGUMENT_WORDS):
                raise not_portable(
                    f'"{function.value}" with "{self._next.value}"', offset=function.start
                )
            if self._accept(","):
                continue
            self._expect(")")
            return tuple(found)

    def _argument(self, function: Token | None) -> Syntax:
        if function is not None and self._is("*") and self._ahead().value in (")", ","):
            star = self._take()
            return Star(star.start, star.end)
        if (
            function is not None
            and self._is("both", "leading", "trailing")
            and self._ahead().kind != "symbol"
        ):
            raise not_portable(
                f'"{function.value}" with "{self._next.value}"', offset=function.start
            )
        value = self._boolean()
        if function is not None and function.word in ("struct",) and self._accept("as"):
            if self._next.kind not in ("name", "quoted"):
                self._unexpected("a name")
            return Alias(value, self._take().value, value.start, self._last_end)
        return value

    def _refuse_query(self) -> None:
        if self._is("select") and self._ahead().kind in ("name", "symbol", "quoted", "number"):
            raise refused("a subquery", offset=self._next.start)
