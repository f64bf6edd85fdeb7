r"""Text queries read: Lucene's classic syntax, but for what needs a score, a measure or a regex.

Source: `QueryParser.jj` of Lucene 9, with the operator OR and its quirks: `a AND b OR c` is
`+a +b c`, and a query that only excludes matches nothing. A word without a column is looked for in
all columns of text. A column that is not text is compared with a value, as a condition would.

Refused: `~`, `/…/`, patterns that begin with `*` or `?`, `\u`, columns that are not there.

Invariant: what is refused here the kernel's `TextParser` refuses too, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joinery.expression.condition import MOST_CHARACTERS, build_condition
from joinery.expression.evaluate import compile_expression
from joinery.expression.problem import ExpressionError
from joinery.model.type import STRING, Array, Atomic, DataType, Decimal, Field, Struct
from joinery.semantics.text_query import (
    Clauses,
    Everything,
    Occur,
    Pattern,
    Phrase,
    Range,
    TextColumn,
    TextQuery,
    Where,
    leaves,
    text_columns,
)
from joinery.semantics.text_tokens import lowered, words

MOST_BRACKETS = 50
_SPACE = " \t\n\r\u3000"
_NO_START = frozenset(_SPACE + '+-!():^[]"{}~*?\\/')
_WORDS = {"AND": "and", "&&": "and", "OR": "or", "||": "or", "NOT": "not"}
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r"(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z)?")
_NUMBERS = frozenset({"byte", "short", "int", "long", "float", "double"})
_Kind = str
"""What a token is: `and`, `or`, `not`, `+`, `-`, `(`, `)`, `:`, `word`, `like`, `*`, `quoted`,
`range`, `boost` or `end`."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str = ""
    range: tuple[str | None, str | None, bool, bool] = (None, None, True, True)


def build_text_query(text: str, row: Struct) -> TextQuery:
    """Return a stored text query.

    Args:
        text: Of Lucene's classic syntax.
        row: The columns that it is asked of.

    Raises:
        ExpressionError: It is empty, too long, cannot be read, or asks for what is not there.
    """
    if not text.strip(_SPACE):
        raise _refused("the query is empty")
    if len(text) > MOST_CHARACTERS:
        raise _refused(f"the query has more than {MOST_CHARACTERS} characters")
    return _Parser(_tokens(text), row).read() or Clauses(())


def _refused(message: str) -> ExpressionError:
    return ExpressionError(message, code="PLAN_EXPRESSION_TYPE", offset=0)


# From characters to tokens


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        else:
            token, at = _token(text, at)
            tokens.append(token)
    return [*tokens, _Token("end")]


def _token(text: str, at: int) -> tuple[_Token, int]:
    match text[at]:
        case "(" | ")" | ":" as kind:
            return _Token(kind), at + 1
        case "+" | "-" | "!" as sign:
            if at + 1 < len(text) and text[at + 1] in _SPACE:
                return _Token("word", sign), at + 2
            return _Token("not" if sign == "!" else sign), at + 1
        case '"':
            return _quoted(text, at)
        case "[" | "{":
            return _range(text, at)
        case "^":
            if found := re.compile(r"[0-9]+(\.[0-9]+)?").match(text, at + 1):
                return _Token("boost", found[0]), found.end()
            raise _refused("a number is missing after ^")
        case "~":
            raise _refused("~ is not supported: it asks how far apart words are")
        case "/":
            raise _refused("a regular expression is not supported; write \\/ for the character")
        case "]" | "}":
            raise _refused(f'"{text[at]}" closes nothing')
        case _:
            return _word(text, at)


def _quoted(text: str, at: int) -> tuple[_Token, int]:
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    if end >= len(text):
        raise _refused("a quotation mark is not closed")
    return _Token("quoted", text[at + 1 : end]), end + 1


def _word(text: str, at: int) -> tuple[_Token, int]:
    end, like = at, False
    while end < len(text):
        if text[end] == "\\":
            if end + 1 == len(text):
                raise _refused("a backslash at the end escapes nothing")
            end += 2
        elif text[end] in "*?":
            end, like = end + 1, True
        elif text[end] in "+-" or text[end] not in _NO_START:
            end += 1
        else:
            break
    found = text[at:end]
    if found == "*":
        return _Token("*"), end
    kind = "like" if like else _WORDS.get(found, "word")
    return _Token(kind, found), end


_RANGE = "a range is written [low TO high]"


def _range(text: str, at: int) -> tuple[_Token, int]:
    low, place = _bound(text, at + 1)
    word, place = _bound(text, place)
    high, place = _bound(text, place)
    place = _behind_space(text, place)
    if (word, text[place : place + 1] in ("]", "}")) != ((False, "TO"), True):
        raise _refused(_RANGE)
    low_text, high_text = (
        None if each == (False, "*") else _plain(each[1]) for each in (low, high)
    )
    included = text[at] == "[", text[place] == "]"
    return _Token("range", range=(low_text, high_text, *included)), place + 1


def _bound(text: str, at: int) -> tuple[tuple[bool, str], int]:
    """Return whether a bound is quoted, the bound, and where it ends."""
    begin = _behind_space(text, at)
    if text[begin : begin + 1] == '"':
        token, end = _quoted(text, begin)
        return (True, token.text), end
    end = begin
    while end < len(text) and text[end] not in _SPACE + "]}":
        end += 1
    if end == begin:
        raise _refused(_RANGE)
    return (False, text[begin:end]), end


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _plain(text: str) -> str:
    """Return a text without its escapes."""
    return "".join(character for character, _ in _characters(text))


def _characters(text: str) -> list[tuple[str, bool]]:
    """Return the characters of a text, and which were escaped."""
    found: list[tuple[str, bool]] = []
    escapes = False
    for each in text:
        if escapes and each == "u":
            raise _refused("\\u is not supported; write the character itself")
        if escapes or each != "\\":
            found.append((each, escapes))
        escapes = each == "\\" and not escapes
    if escapes:
        raise _refused("a backslash at the end escapes nothing")
    return found


# From tokens to a query


class _Parser:
    def __init__(self, tokens: list[_Token], row: Struct) -> None:
        self._tokens, self._row, self._at, self._depth = tokens, row, 0, 0
        self._texts, self._leaves = text_columns(row), leaves(row)

    def read(self) -> TextQuery | None:
        query = self._query(None)
        if self._next.kind != "end":
            raise _refused("there is a bracket that closes nothing")
        return query

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _query(self, column: str | None) -> TextQuery | None:
        clauses: list[tuple[Occur, TextQuery]] = []
        alone: TextQuery | None = None
        first = True
        while first or self._next.kind not in (")", "end"):
            both = not first and self._next.kind == "and"
            if not first and self._next.kind in ("and", "or"):
                self._take()
            sign = self._take().kind if self._next.kind in ("not", "+", "-") else ""
            query = self._clause(column)
            if both and clauses and clauses[-1][0] != "must_not":
                clauses[-1] = ("must", clauses[-1][1])
            if query is not None:
                clauses.append((_occur(sign, both=both), query))
            alone = query if first and not sign else alone
            first = False
        if len(clauses) == 1 and alone is not None:
            return alone
        return Clauses(tuple(clauses)) if clauses else None

    def _clause(self, column: str | None) -> TextQuery | None:
        after = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if self._next.kind in ("word", "*") and after.kind == ":":
            column = "*" if self._next.kind == "*" else _plain(self._next.text)
            self._at += 2
        query = self._group(column) if self._next.kind == "(" else self._term(column)
        if self._next.kind == "boost":
            self._take()  # nothing is scored
        return query

    def _group(self, column: str | None) -> TextQuery | None:
        self._take()
        self._depth += 1
        if self._depth > MOST_BRACKETS:
            raise _refused(f"more than {MOST_BRACKETS} nested brackets")
        query = self._query(column)
        if self._take().kind != ")":
            raise _refused("a bracket is not closed")
        self._depth -= 1
        return query

    def _term(self, column: str | None) -> TextQuery | None:
        token = self._take()
        if token.kind == "*" and column == "*":
            return Everything()
        if token.kind in ("*", "like") and (token.kind == "*" or token.text[0] in "*?"):
            raise _refused("a pattern begins with * or ?, so every word would have to be tried")
        if token.kind not in ("word", "like", "quoted", "range"):
            raise _refused(f"where a word is expected there is {_shown(token)}")
        if column is None:
            return self._of_text(token, self._texts)
        if column not in self._leaves:
            raise _refused(f'there is no column "{column}"')
        path, kind = self._leaves[column]
        if kind == STRING:
            return self._of_text(token, (TextColumn(column, path),))
        return self._of_value(token, column)

    def _of_text(self, token: _Token, columns: tuple[TextColumn, ...]) -> TextQuery | None:
        if token.kind == "like":
            return Pattern(columns, _parts(token.text))
        if token.kind == "range":
            low, high, low_included, high_included = token.range
            ends = [None if each is None else lowered(each) for each in (low, high)]
            return Range(columns, ends[0], ends[1], low_included, high_included)
        found = words(_plain(token.text))
        if len(found) > 1 and token.kind == "word":
            return Clauses(tuple(("should", Phrase(columns, (each,))) for each in found))
        return Phrase(columns, found) if found else None

    def _of_value(self, token: _Token, column: str) -> TextQuery:
        if token.kind == "like":
            raise _refused(f'"{column}" is not text, so it takes no pattern')
        path, kind = self._leaves[column]
        ends = _bounds(token) if token.kind == "range" else [("=", _plain(token.text))]
        if kind == Atomic("boolean") and token.kind == "range" and ends:
            raise _refused(f'"{column}" has no range')
        comparisons = [f"{sign} {_literal(end, kind, column)}" for sign, end in ends]
        text = _over(self._row, path, comparisons or ["is not null"])
        scope = {each.name: each.type for each in self._row.fields}
        return Where(compile_expression(build_condition(text, scope)))


def _occur(sign: str, *, both: bool) -> Occur:
    if sign in ("not", "-"):
        return "must_not"
    return "must" if sign == "+" or both else "should"


def _bounds(token: _Token) -> list[tuple[str, str]]:
    """Return the comparisons of a range."""
    low, high, low_included, high_included = token.range
    ends = [(">=" if low_included else ">", low), ("<=" if high_included else "<", high)]
    return [(sign, end) for sign, end in ends if end is not None]


def _shown(token: _Token) -> str:
    return "the end" if token.kind == "end" else f'"{token.text or token.kind}"'


def _parts(text: str) -> tuple[str | None, ...]:
    signs: Mapping[str, str | None] = {"*": "", "?": None}
    return tuple(
        signs[character] if character in signs and not escaped else lowered(character)
        for character, escaped in _characters(text)
    )


def _literal(text: str, kind: DataType, column: str) -> str:
    """Return a value of a column as SQL has it."""
    match kind:
        case Decimal():
            pattern, quoted = _NUMBER, ""
        case Atomic(name) if name in _NUMBERS:
            pattern, quoted = _NUMBER, ""
        case Atomic("boolean"):
            pattern, quoted = re.compile("true|false"), ""
        case Atomic("date"):
            pattern, quoted = _DATE, "date"
        case Atomic("timestamp"):
            pattern, quoted = _TIMESTAMP, "timestamp"
        case _:
            raise _refused(f'"{column}" is {kind}, which no query can ask for')
    if not pattern.fullmatch(text):
        raise _refused(f'"{text}" is not a value of "{column}", which is {kind}')
    return f"{quoted}'{text}'" if quoted else text


def _over(row: Struct, path: tuple[str, ...], comparisons: Sequence[str]) -> str:
    """Return a condition on what is at a path: of a list, that it holds for one of its items."""
    name, depth = "", 0
    opened: list[str] = []
    fields = row.fields
    for step in path:
        name = f"{name}.{_escaped(step)}" if name else _escaped(step)
        kind = _field(fields, step).type
        while isinstance(kind, Array):
            depth += 1
            opened.append(f"exists({name}, x{depth} -> ")
            name, kind = f"x{depth}", kind.element
        fields = kind.fields if isinstance(kind, Struct) else ()
    compared = " and ".join(f"{name} {each}" for each in comparisons)
    return f"{''.join(opened)}{compared}{')' * len(opened)}"


def _field(fields: tuple[Field, ...], name: str) -> Field:
    return next(each for each in fields if each.name == name)


def _escaped(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
