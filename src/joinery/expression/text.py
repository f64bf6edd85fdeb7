"""Text functions as Spark 4.3 does them: characters are code points, positions count from 1."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from joinery.expression.problem import EvaluationError

_MOST_BYTES = 1 << 27


def substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    """Return `length` characters from `position`; a negative one counts from the end."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = max(min(start + length, 2**31 - 1), -(2**31))
    return text[max(start, 0) : max(end, 0)] if end > start else ""


def right(text: str, length: int) -> str:
    """Return the last `length` characters."""
    return text[-length:] if length > 0 else ""


def left(text: str, length: int) -> str:
    """Return the first `length` characters."""
    return text[: max(length, 0)]


def replaced(text: str, search: str, replacement: str = "") -> str:
    """Return `text` with every `search` replaced; an empty one is never found."""
    return text.replace(search, replacement) if search else text


def repeated(text: str, times: int) -> str:
    """Return `text` repeated `times` times."""
    if len(text) * times > _MOST_BYTES:
        raise EvaluationError("the text is too long")
    return text * times


def lpad(text: str, length: int, pad: str = " ") -> str:
    """Return `text` cut or filled from the left to `length` characters."""
    return _padding(text, length, pad) + text[: max(length, 0)]


def rpad(text: str, length: int, pad: str = " ") -> str:
    """Return `text` cut or filled from the right to `length` characters."""
    return text[: max(length, 0)] + _padding(text, length, pad)


def split_part(text: str, sign: str, number: int) -> str:
    """Return one part of `text`, counted from either end, empty where there is none."""
    if number == 0:
        raise EvaluationError("parts are counted from 1")
    parts = text.split(sign) if sign else [text]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if 0 <= at < len(parts) else ""


def concat_ws(sign: str | None, *parts: Any) -> str | None:
    """Return the texts and lists of texts in `parts` with `sign` between; nulls are skipped."""
    if sign is None:
        return None
    flat = [each for part in parts for each in (part if isinstance(part, list) else [part])]
    return sign.join(each for each in flat if each is not None)


def array_join(texts: list[str | None], sign: str, null: str | None = None) -> str:
    """Return `texts` with `sign` between; nulls are skipped, or shown as `null`."""
    shown = [null if each is None else each for each in texts]
    return sign.join(each for each in shown if each is not None)


def like(text: str, pattern: str) -> bool:
    """Return whether all of `text` matches the pattern of `%`, `_` and their escapes."""
    return _expression(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    signs = iter(pattern)
    for sign in signs:
        if sign == "\\":
            escaped = next(signs, "")
            if escaped not in ("%", "_", "\\"):
                raise EvaluationError("in a pattern %, _ or a backslash must follow a backslash")
            parts.append(re.escape(escaped))
        else:
            parts.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
    return re.compile("".join(parts), re.DOTALL)


def _padding(text: str, length: int, pad: str) -> str:
    missing = length - len(text)
    if missing <= 0 or not pad:
        return ""
    if missing > _MOST_BYTES:
        raise EvaluationError("the text is too long")
    return (pad * (missing // len(pad) + 1))[:missing]


TEXT: dict[str, Callable[..., Any]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
    "length": len,
    "concat": lambda *parts: "".join(parts),
    "||": lambda *parts: "".join(parts),
    "substring": substring,
    "left": left,
    "right": right,
    "repeat": repeated,
    "replace": replaced,
    "instr": lambda text, sought: text.find(sought) + 1,
    "lpad": lpad,
    "rpad": rpad,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, sought: sought in text,
    "like": like,
    "ilike": lambda text, pattern: like(text.lower(), pattern.lower()),
    "split": lambda text, sign: text.split(sign),
    "split_part": split_part,
    "reverse": lambda text: text[::-1],
    "array_join": array_join,
}
