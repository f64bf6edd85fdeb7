"""Words of an expression: Spark's lexical rules, with the place of every token.

Invariant: `text[token.start:token.end]` is the token as the user wrote it.

A place among the tokens of an expression, and what may come next there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from joinery.expression.problem import syntax_error
from joinery.expression.syntax import Call, Syntax

TokenKind = Literal["number", "string", "binary", "name", "quoted", "symbol", "end"]

_PATTERN = re.compile(
    r"""
      (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<binary>[xX]'[0-9a-fA-F]*')
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYfFdD])?
        (?![A-Za-z0-9_]))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<symbol><=>|>>>|->|=>|::|\|\||<=|>=|<>|!=|==|!<|!>|<<|>>|[-+*/%=<>()\[\],.~&|^!])
    """,
    re.VERBOSE | re.DOTALL,
)
_DURATION = re.compile(r"\d+(?:ms|[smhd]|min)\b")
_ESCAPE = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))|(\"\"|'')", re.DOTALL
)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"} | {
    sign: "\\" + sign for sign in "%_"
}


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `value` is its meaning (a string unescaped, a name unquoted)."""

    kind: TokenKind
    value: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The token in lower case where it may be a keyword, else the empty string."""
        return self.value.lower() if self.kind == "name" else ""


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text`, closed by one of kind `end`.

    Raises:
        ExpressionError: A character begins no token.
    """
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            raise syntax_error(_why_not(text, at), offset=at)
        if text.startswith("&&", at):
            raise syntax_error("SQL has no &&", offset=at, hint="Write and.")
        kind, written = str(match.lastgroup), match.group()
        if kind != "blank":
            found.append(_token(kind, written, at))
        at = match.end()
    return (*found, Token("end", "", len(text), len(text)))


def _token(kind: str, written: str, at: int) -> Token:
    end = at + len(written)
    match kind:
        case "string":
            return Token("string", _unescaped(written), at, end)
        case "raw":
            return Token("string", written[2:-1], at, end)
        case "binary":
            return Token("binary", written[2:-1], at, end)
        case "quoted":
            return Token("quoted", written[1:-1].replace("``", "`"), at, end)
        case "number":
            return Token("number", written, at, end)
        case "name":
            return Token("name", written, at, end)
        case _:
            return Token("symbol", written, at, end)


def _unescaped(written: str) -> str:
    return _ESCAPE.sub(lambda match: _replacement(match, written[0]), written[1:-1])


def _replacement(match: re.Match[str], quote: str) -> str:
    short, wide, octal, other, doubled = match.groups()
    if doubled:
        return quote if doubled[0] == quote else str(doubled)
    if short or wide:
        return chr(int(short or wide, 16))
    if octal:
        return chr(int(octal, 8))
    return _ESCAPED.get(other, other)


def _why_not(text: str, at: int) -> str:
    if text[at] in "'\"`":
        return f"the quote {text[at]} is not closed"
    if found := _DURATION.match(text, at):
        return f"write a duration in quotes: '{found.group()}'"
    if text[at].isalnum():
        return "a name that starts with a digit, or has letters other than a-z, needs backticks"
    return f"the character {text[at]} has no meaning here"


RESERVED = frozenset(
    "and or not case when then else end between in like ilike rlike is div cast try_cast "
    "select from where as escape distinct".split()
)


class Cursor:
    """Reads tokens one by one; the last one, of kind `end`, is never passed."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _ahead(self, steps: int = 1) -> Token:
        return self._tokens[min(self._at + steps, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _is(self, *values: str) -> bool:
        token = self._next
        return (
            token.word in values
            if token.kind == "name"
            else token.kind == "symbol" and token.value in values
        )

    def _accept(self, *values: str) -> Token | None:
        return self._take() if self._is(*values) else None

    def _expect(self, value: str) -> Token:
        return self._accept(value) or self._unexpected(f'"{value}"')

    def _unexpected(self, wanted: str) -> NoReturn:
        token = self._next
        found = "the end" if token.kind == "end" else f'"{token.value}"'
        hint = f"Write `{token.value}` if it is a name." if token.word in RESERVED else ""
        raise syntax_error(f"expected {wanted}, found {found}", offset=token.start, hint=hint)

    @property
    def _last_end(self) -> int:
        return self._tokens[self._at - 1].end

    def _call(self, function: str, *arguments: Syntax, start: int) -> Call:
        return Call(function, arguments, start, self._last_end)
