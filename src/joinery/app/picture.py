"""What a notebook shows of a declaration: its picture, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from joinery.errors import JoineryError, ProjectErrors
from joinery.plan.explain.page import Explanation, StreamExplanation


def picture_of(explain: Callable[[], Explanation | StreamExplanation]) -> str:
    """Return a plan as HTML; of one that cannot hold its problems, where an error would be lost.

    Args:
        explain: Returns the plan, or raises what is wrong with it.
    """
    try:
        return explain()._repr_html_()
    except JoineryError as error:
        told = [] if isinstance(error, ProjectErrors) else [str(error)]
        text = "\n".join((*told, *getattr(error, "__notes__", ())))
        return f"<pre>{escape(text)}</pre>"
