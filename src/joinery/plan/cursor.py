"""A place among the tokens of an expression, and what may come next there."""

from __future__ import annotations

from typing import NoReturn

from joinery.plan.problem import syntax_error
from joinery.plan.syntax import Call, Syntax
from joinery.plan.token import Token

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
