"""`joinery explain`: the plan of a project's products and streams: text, Mermaid, or a page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from joinery.cli.ending import DONE, write_problems
from joinery.cli.project import analyser, standing_name
from joinery.dead_letters.open import own_dead_letter_topic
from joinery.errors import SpecError
from joinery.plan.build import build_plan
from joinery.plan.check import problems_of
from joinery.plan.explain.page import (
    Explanation,
    Section,
    StreamExplanation,
    explain,
    explain_stream,
    html_page,
)
from joinery.plan.product import Product
from joinery.plan.stream import Stream
from joinery.plan.support import refusals
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec, with_solution
from joinery.solutions.spark_state.explain import explain_query
from joinery.solutions.trigger.explain import explain_statements


class ExplainError(SpecError):
    """The arguments of `explain` do not fit the project."""

    code = "EXPLAIN"


@dataclass(frozen=True, slots=True)
class ExplainArguments:
    """What the command was given.

    Attributes:
        products: Names of products and streams; none means all.
        mermaid: As a flowchart.
        html: A page to write.
        solution: Instead of those of the project.
        database: Where to ask for plans of statements; empty asks none.
        kernel: With the program that the runtime is given.
        why: With how each lookup of a stream runs, and why so.
    """

    products: Sequence[str] = ()
    mermaid: bool = False
    html: Path | None = None
    solution: str | None = None
    database: str = ""
    kernel: bool = False
    why: bool = False


class ExplainRequest(NamedTuple):
    """A project, the database that is asked for plans, and whether the kernel is shown."""

    spec: ProjectSpec
    database: str
    kernel: bool


def run_explain(file: Path, arguments: ExplainArguments) -> int:
    """Print, or write, how the named products and streams hold together."""
    spec = load_spec(file)
    if arguments.solution is not None:
        spec = with_solution(spec, arguments.solution)
    with analyser() as spark:
        plan = build_plan(spec, spark)
    known: list[Product | Stream] = [*plan.products, *plan.streams]
    named = _chosen(known, arguments.products)
    chosen = [each for each in named if isinstance(each, Product)]
    asked = ExplainRequest(spec, arguments.database, arguments.kernel)
    explained: list[Explanation | StreamExplanation] = [
        explain(each, _sections(each, chosen, plan.products, asked))
        if isinstance(each, Product)
        else explain_stream(each, why=arguments.why)
        for each in named
    ]
    streams = [each for each in named if isinstance(each, Stream)]
    unable = refusals(spec, replace(plan, products=tuple(chosen), streams=tuple(streams)))
    write_problems(problems_of(unable, str(file), "warning"), sys.stderr.write)
    mermaid, html = arguments.mermaid, arguments.html
    if html is not None:
        _write_page(explained, html, spec.name)
    elif mermaid:
        sys.stdout.write("\n".join(each.to_mermaid() for each in explained))
    else:
        sys.stdout.write("\n\n".join(str(each) for each in explained) + "\n")
        if (topic := own_dead_letter_topic(spec)) is not None:
            sys.stdout.write(
                f"\ndead letters: Kafka topic {topic}, since real-time mode writes only to Kafka\n"
            )
    return DONE


def _sections(
    product: Product, chosen: Sequence[Product], known: Sequence[Product], asked: ExplainRequest
) -> tuple[Section, ...]:
    """Return what the solution of a product's query adds, once for all that share it."""
    first = next(each for each in chosen if each.query == product.query)
    query = [each for each in known if each.query == product.query]
    if product is not first:
        return ()
    name = standing_name(asked.spec, product.query)
    kernel = explain_query(query) if asked.kernel else ()
    return (*kernel, *explain_statements(query, asked.database, name))


def _chosen(known: Sequence[Product | Stream], names: Sequence[str]) -> list[Product | Stream]:
    by_name = {each.name: each for each in known}
    for name in names:
        if name not in by_name:
            detail = f"Known: {', '.join(by_name)}."
            raise ExplainError(f'there is no product or stream "{name}"', detail=detail)
    return [by_name[name] for name in names] or list(known)


def _write_page(
    explained: Sequence[Explanation | StreamExplanation], html: Path, project: str
) -> None:
    """Write one page, with a chapter for each of several products and streams."""
    html.parent.mkdir(parents=True, exist_ok=True)
    several = len(explained) > 1
    title = project if several else explained[0].name
    chapters = [(each.name if several else "", each.page_sections()) for each in explained]
    html.write_text(html_page(f"Plan of {title}", chapters), encoding="utf-8")
    sys.stdout.write(f"{html}\n")
