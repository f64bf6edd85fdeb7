"""`joinery explain`: the plan of a project's products, as text, Mermaid or a page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from joinery.cli.project import analyser
from joinery.cli.report import DONE
from joinery.errors import SpecError
from joinery.plan.build import build_plan
from joinery.plan.explain import Explanation, Section, explain
from joinery.plan.nodes import Product
from joinery.solutions.spark_state.explain import explain_query
from joinery.spec.load import load_spec


class ExplainError(SpecError):
    """The arguments of `explain` do not fit the project."""

    code = "EXPLAIN"


def run_explain(file: Path, *, products: Sequence[str], mermaid: bool, html: Path | None) -> int:
    """Print, or write, how the named products hold together; all of them by default."""
    with analyser() as spark:
        plan = build_plan(load_spec(file), spark)
    chosen = _chosen(plan.products, products)
    explained = [explain(each, _sections(each, chosen, plan.products)) for each in chosen]
    if html is not None:
        _write_pages(explained, html)
    elif mermaid:
        sys.stdout.write("\n".join(each.to_mermaid() for each in explained))
    else:
        sys.stdout.write("\n\n".join(str(each) for each in explained) + "\n")
    return DONE


def _sections(
    product: Product, chosen: Sequence[Product], known: Sequence[Product]
) -> tuple[Section, ...]:
    """Return the kernel program of a product's query, once for all that share it."""
    first = next(each for each in chosen if each.query == product.query)
    query = [each for each in known if each.query == product.query]
    return explain_query(query) if product is first else ()


def _chosen(known: Sequence[Product], names: Sequence[str]) -> list[Product]:
    by_name = {each.name: each for each in known}
    for name in names:
        if name not in by_name:
            detail = f"Known: {', '.join(by_name)}."
            raise ExplainError(f'there is no product "{name}"', detail=detail)
    return [by_name[name] for name in names] or list(known)


def _write_pages(explained: Sequence[Explanation], html: Path) -> None:
    """Write one page; several products get one each, beside it."""
    html.parent.mkdir(parents=True, exist_ok=True)
    for each in explained:
        page = html
        if len(explained) > 1:
            page = html.with_name(f"{html.stem}-{each.product.name}{html.suffix or '.html'}")
        page.write_text(each.to_html(), encoding="utf-8")
        sys.stdout.write(f"{page}\n")
