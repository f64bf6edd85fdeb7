"""Lowers what a Search keeps and makes: what it knows of a query, and the object of a match.

Everything here follows from the plan alone; nothing depends on the rest of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from joinery.expression.condition import LENGTHENING, MOST_CHARACTERS
from joinery.expression.functions import AGGREGATES, FUNCTIONS
from joinery.expression.operator import OPERATORS
from joinery.expression.resolve import HIGHER_ORDER
from joinery.model.type import Field, Struct, quoted
from joinery.plan.relation import Relation
from joinery.plan.search import DOCUMENT, QUERY, SearchForm, key_of
from joinery.solutions.spark_state.assembler import Address, Assembler, ScopeName, Slot, Sql
from joinery.solutions.spark_state.embedding import sql_over
from joinery.solutions.spark_state.search_program import Search

# Each query is kept in as many places.
SEARCH_BUCKETS = 16
_TYPES = tuple(
    "boolean tinyint smallint int bigint float double decimal string date timestamp".split()
)


def condition_functions() -> tuple[str, ...]:
    """Return the names of functions that a stored condition may call, in the kernel's words."""
    named = {*FUNCTIONS, *HIGHER_ORDER, *_TYPES, "struct", "between", "concat", *OPERATORS}
    return tuple(sorted(named - AGGREGATES - LENGTHENING | {"concat"}))


def stored_assembler(name: str, row: Sequence[Slot], form: SearchForm) -> Assembler:
    """Return what makes of a row of the queries what is kept of it.

    Args:
        name: The product.
        row: The columns of the queries as products see them.
        form: What the product is.
    """
    wanted = form.read_of_queries
    kept = [(place, slot) for place, slot in enumerate(row) if slot.name in wanted]
    return Assembler(
        name=f"{name}/queries",
        own=tuple(row),
        inputs=(),
        steps=(),
        where=None,
        order=(),
        output=tuple(place for place, _ in kept),
        type=Struct(tuple(Field(slot.name, slot.type) for _, slot in kept)),
    )


def match_assembler(
    name: str, documents: Sequence[Slot], queries: Struct, form: SearchForm
) -> Assembler:
    """Return what makes the object of a match of the document's row and the query's.

    Args:
        name: The product.
        documents: The columns of a document.
        queries: What is kept of a query.
        form: What the product is.
    """
    searched = Struct(tuple(Field(slot.name, slot.type) for slot in documents))
    inputs = (Slot(form.documents.name, searched), Slot(form.queries.name, queries))
    scope = {slot.name: (place, slot.type) for place, slot in enumerate(inputs)}
    keys = [_key_sql(form.queries, inputs[1], 1), _key_sql(form.documents, inputs[0], 0)]
    steps = [*keys, *(sql_over(each.expression, scope) for each in form.fields)]
    assert [each.name for each in form.key.fields] == [QUERY, DOCUMENT]
    return Assembler(
        name=name,
        own=(),
        inputs=inputs,
        steps=tuple(steps),
        where=None,
        order=(),
        output=tuple(len(inputs) + place for place in range(len(steps))),
        type=form.output,
    )


def _key_sql(relation: Relation, slot: Slot, place: int) -> Sql:
    """Return the object of a relation's key, over its row."""
    told = []
    for each in relation.key:
        literal = each.replace("\\", "\\\\").replace("'", "\\'")
        told.append(f"'{literal}', {quoted(relation.name)}.{quoted(each)}")
    scope = (ScopeName(slot.name, place, slot.type),)
    return Sql(f"named_struct({', '.join(told)})", scope, key_of(relation))


def search_node(
    name: str,
    form: SearchForm,
    rows: tuple[Sequence[Slot], Sequence[Slot]],
    *,
    product: int,
    add: Callable[[Assembler], int],
) -> Search:
    """Return a Search; its level and the places of its relations are still to be set.

    Args:
        name: The product.
        form: What the product is.
        rows: The columns of a document, and those of the queries, as products see them.
        product: The product's place in the program.
        add: Adds an assembler to the program and returns its place.
    """
    documents, queries = rows
    assembler = stored_assembler(name, queries, form)
    stored = assembler.type
    kept = [each.name for each in stored.fields]
    searched = [slot.name for slot in documents]
    types = tuple(pair.type for pair in form.on)
    return Search(
        name=name,
        level=0,
        documents=0,
        queries=0,
        stored=add(assembler),
        text=kept.index(form.query),
        query_on=Address(tuple(kept.index(pair.child) for pair in form.on), types),
        document_on=Address(tuple(searched.index(pair.parent) for pair in form.on), types),
        language=form.language,
        functions=condition_functions(),
        most_characters=MOST_CHARACTERS,
        retroactive=form.retroactive,
        assembler=add(match_assembler(name, documents, stored, form)),
        product=product,
        buckets=SEARCH_BUCKETS,
    )
