"""From a declared search to its plan: the two relations, their columns and the fields resolved.

Invariant: every problem is reported at the word that causes it, and what follows from a problem
is not reported again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from joinery.model.type import STRING
from joinery.plan.build_on import build_pair
from joinery.plan.context import Context
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.search import DOCUMENT, QUERY, SearchForm
from joinery.project.form import SearchSpec
from joinery.project.mark import Path
from joinery.project.product import ProductSpec

Known = tuple[Relation, frozenset[str]]


def build_search(
    context: Context,
    product: ProductSpec,
    spec: SearchSpec,
    relations: Mapping[str, Known],
) -> SearchForm | None:
    """Return the plan of a search, or None where one of its relations is not there.

    Args:
        context: Takes the problems.
        product: The product.
        spec: What it searches with.
        relations: All relations, each with the columns whose own problem is noted.
    """
    path: Path = ("products", product.name)
    places = ((product.root.relation, "search"), (spec.queries, "queries"))
    found = [_relation(context, name, (*path, word), relations) for name, word in places]
    documents, queries = found
    if documents is None or queries is None:
        return None
    if documents[0].name == queries[0].name:
        message = f'product "{product.name}" searches its own queries'
        hint = 'Give one of them another name: "product" under relations, or a second topic.'
        context.refuse("PLAN_DUPLICATE_OUTPUT", message, (*path, "queries"), hint=hint)
        return None
    _check_query(context, spec, queries, path)
    form = SearchForm(
        documents[0],
        queries[0],
        spec.query,
        _on(context, spec, documents, queries, path),
        language=spec.language,
        retroactive=spec.retroactive,
    )
    fields = _fields(context, spec, form, queries[1] | documents[1], path)
    return SearchForm(
        form.documents, form.queries, form.query, form.on, fields, form.language, form.retroactive
    )


def _relation(
    context: Context, name: str, path: Path, relations: Mapping[str, Known]
) -> Known | None:
    if not name:
        return None  # noted where it was read
    if name not in relations:
        message = f'there is no relation "{name}"'
        context.unknown("PLAN_UNKNOWN_RELATION", message, path, name=name, known=relations)
        return None
    if not relations[name][0].key:
        message = f'relation "{name}" has no key'
        context.refuse("PLAN_KEY", message, path, hint="Declare its key.")
    return relations[name]


def _check_query(context: Context, spec: SearchSpec, queries: Known, path: Path) -> None:
    relation, failed = queries
    columns = {each.name: each.type for each in relation.row.fields}
    place = (*path, "query")
    if not spec.query or spec.query in failed:
        return
    if spec.query not in columns:
        message = f'relation "{relation.name}" has no field "{spec.query}"'
        context.unknown("PLAN_UNKNOWN_FIELD", message, place, name=spec.query, known=columns)
    elif columns[spec.query] != STRING:
        message = f'a query is a text, and "{spec.query}" is {columns[spec.query]}'
        hint = "Name the column with the text of the query."
        context.refuse("PLAN_TYPE_MISMATCH", message, place, hint=hint)


def _on(
    context: Context, spec: SearchSpec, documents: Known, queries: Known, path: Path
) -> tuple[JoinPair, ...]:
    failed = documents[1] | queries[1]
    pairs = [each for each in dict.fromkeys(spec.on) if failed.isdisjoint(each)]
    found = [
        build_pair(context, (*path, "on", names[0]), names, queries[0], documents[0])
        for names in pairs
    ]
    return tuple(each for each in found if each is not None)


def _fields(
    context: Context, spec: SearchSpec, form: SearchForm, failed: frozenset[str], path: Path
) -> tuple[Computed, ...]:
    made: list[Computed] = []
    scope = form.fields_scope
    elsewhere = {
        column.name: f"Write {each.name}.{column.name}."
        for each in form.relations
        for column in each.row.fields
    }
    for name, text in spec.fields:
        place = (*path, "fields", name)
        found = context.expression(text, place, scope, failed=failed, elsewhere=elsewhere)
        if found is not None:
            made.append(Computed(name, found[0]))
    _check_names(context, spec, path)
    return tuple(made)


def _check_names(context: Context, spec: SearchSpec, path: Path) -> None:
    """Refuse an output that has the name of another."""
    taken = Counter((QUERY, DOCUMENT, *(name for name, _ in spec.fields)))
    for name, _ in spec.fields:
        if taken[name] > 1:
            message = f'there are two outputs "{name}"'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, (*path, "fields", name), key=True)
