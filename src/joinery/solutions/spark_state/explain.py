"""The part of an explanation that `spark-state` adds: its kernel program, told and drawn."""

from __future__ import annotations

from collections.abc import Sequence

from joinery.plan.explain import Section
from joinery.plan.nodes import Product
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.picture import program_mermaid, program_svg
from joinery.solutions.spark_state.render import render_program

SOLUTION = "spark-state"


def explain_query(products: Sequence[Product]) -> tuple[Section, ...]:
    """Return the kernel program of one query; nothing for an outbox or another solution.

    Args:
        products: All products of the query.
    """
    if any(each.solution != SOLUTION or each.outbox for each in products):
        return ()
    program = lower(products)
    title = "kernel"
    if len(products) > 1:
        title += f" of {', '.join(each.name for each in products)}"
    return (
        Section(
            title,
            render_program(program),
            svg=program_svg(program),
            mermaid=tuple(program_mermaid(program)),
        ),
    )
