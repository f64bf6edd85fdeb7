"""The listed portable subset is what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from joinery.expression.functions import FUNCTIONS
from joinery.expression.resolve import HIGHER_ORDER

PAGE = Path(__file__).parents[3] / "docs" / "expressions.md"
OPERATORS = {"||", "like", "ilike"}


def test_every_portable_function_is_listed_and_none_else() -> None:
    page = PAGE.read_text("utf-8")
    functions = page.split("## Functions")[1].split("Limits:")[0]
    casts = page.split("are also functions:")[1].split("##")[0]

    listed = set(re.findall(r"`(\w+)`", functions + casts))

    assert {*FUNCTIONS, *HIGHER_ORDER, "struct"} - OPERATORS == listed
