"""Statements as a terminal shows them, indented by their parentheses."""

from __future__ import annotations

_STEP = "  "


def indented(sql: str) -> str:
    r"""Return `sql` with each line indented by the parentheses that are open before it.

    Example:
        >>> print(indented("SELECT (\nSELECT '(' \nFROM t)\nFROM u"))
        SELECT (
          SELECT '('
          FROM t)
        FROM u
    """
    lines, depth, inside = [""], 0, ""
    for sign in sql:
        if sign == "\n" and not inside:
            lines.append(_STEP * depth)
            continue
        if inside:
            inside = "" if sign == inside else inside
        elif sign in "'\"":
            inside = sign
        depth += {"(": 1, ")": -1}.get(sign, 0) if not inside else 0
        lines[-1] += sign
    return "\n".join(line.rstrip() for line in lines if line.strip())
