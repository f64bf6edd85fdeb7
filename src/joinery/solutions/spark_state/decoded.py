"""Says which columns of its relations a query decodes: in the others nothing can be wrong.

All solutions decode the same, and so does whoever reads the logs of a query beside it, to say
what it should have made of them. Else a record with a wrong type in a column that no product
reads would be a dead letter here, and a row there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from joinery.plan.build import examine
from joinery.plan.history import HistoryForm, columns_of_deletes
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Relation
from joinery.plan.stream import Stream
from joinery.project.kinds import SOLUTIONS
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.flow import flows_of, needed_relations
from joinery.solutions.spark_state.needed import closed_columns, needed_columns


def as_decoded(
    spec: ProjectSpec, relations: Sequence[Relation], *readers: Product | Stream
) -> tuple[Relation, ...]:
    """Return `relations`, each with the columns alone that the queries of its readers decode.

    All columns are left where others than products read the rows of a store, and where only
    Spark can check a product that shares the query.

    Args:
        spec: The project, which knows who shares a query with them.
        relations: Those that are read, from sources.
        readers: Products and streams.
    """
    if any(keeps_whole_rows(each.solution) for each in readers if isinstance(each, Product)):
        return tuple(relations)
    queries = [_query(spec, each) for each in readers]
    if not all(queries):
        return tuple(relations)
    return _all_narrowed(relations, [each for query in queries for each in query])


def decoded_relations(products: Sequence[Product]) -> tuple[Relation, ...]:
    """Return the relations of a query with a store, each with the columns that it decodes."""
    relations = tuple(dict.fromkeys(each for one in products for each in one.relations))
    if keeps_whole_rows(products[0].solution):
        return relations
    return _all_narrowed(relations, products)


def told_by_deletes(readers: Iterable[Product | Stream]) -> dict[str, frozenset[str]]:
    """Return, by relation, what a delete tells beside its key to products with versions."""
    told: dict[str, frozenset[str]] = {}
    for product in (each for each in readers if isinstance(each, Product)):
        for each in (product, *product.reads):
            for relation, columns in _told_to(each):
                told[relation] = told.get(relation, frozenset()) | columns
    return told


def _told_to(product: Product) -> Iterator[tuple[str, frozenset[str]]]:
    form = product.form
    if isinstance(form, HistoryForm):
        yield form.relation.name, form.columns_of_deletes
    if isinstance(form, DocumentForm):
        for node in form.root.walk():
            if node.as_of is not None and node.relation.time is not None:
                yield node.relation.name, columns_of_deletes(node.relation, node.relation.time)


def keeps_whole_rows(solution: str) -> bool:
    """Return whether a solution decodes all columns, since others than products read its rows.

    Its options say so, by `whole_rows`.
    """
    return SOLUTIONS.says(solution, "whole_rows")


def _all_narrowed(
    relations: Sequence[Relation], readers: Sequence[Product | Stream]
) -> tuple[Relation, ...]:
    needed = _needed(readers)
    return tuple(_narrowed(each, needed.get(each.name)) for each in relations)


def _query(spec: ProjectSpec, reader: Product | Stream) -> Sequence[Product | Stream]:
    """Return all that share a reader's query; nothing where they are not known."""
    if reader.group is None:
        return (reader,)
    plan, _, _ = examine(spec)
    readers: list[Product | Stream] = [] if plan is None else [*plan.products, *plan.streams]
    return [each for each in readers if each.query == reader.query]


def _needed(readers: Sequence[Product | Stream]) -> dict[str, Collection[str]]:
    products = [each for each in readers if isinstance(each, Product)]
    flows = [flow for each in readers if isinstance(each, Stream) for flow in flows_of(each)]
    of_streams = {
        name: closed_columns(relation, columns)
        for name, (relation, columns) in needed_relations(flows).items()
    }
    of_products = {name: columns for name, (_, columns) in needed_columns(products).items()}
    return {**of_streams, **of_products}


def _narrowed(relation: Relation, needed: Collection[str] | None) -> Relation:
    if needed is None:
        return relation
    return replace(
        relation, columns=tuple(each for each in relation.columns if each.name in needed)
    )
