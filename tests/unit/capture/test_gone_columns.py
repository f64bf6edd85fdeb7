"""Which declared columns a captured table does not have, and what they may be called now."""

from __future__ import annotations

from joinery.capture.gone_columns import TableColumns, gone_warnings

DECLARED = {"public.customer": ("id", "name"), "public.order": ("id", "total")}


def test_a_column_that_a_table_lacks_is_named_with_what_it_may_be_called_now() -> None:
    found = {
        "public.customer": TableColumns(frozenset(("id", "names", "note"))),
        "public.order": TableColumns(frozenset(("id", "total"))),
    }

    (warning,) = gone_warnings("db", DECLARED, found)

    assert 'column "name" of table public.customer' == warning.about
    assert warning.detail.endswith("It has names, which no relation declares.")
    assert "joinery source read-again db" in warning.hint


def test_a_declared_column_is_not_what_another_may_be_called_now() -> None:
    declared = {"public.customer": ("id", "name", "names")}
    columns = TableColumns(frozenset(("id", "names")))

    (warning,) = gone_warnings("db", declared, {"public.customer": columns})

    assert "It has" not in warning.detail


def test_nothing_is_known_of_the_columns_of_a_table_that_is_not_there() -> None:
    found = {"public.order": TableColumns(frozenset(("id", "total", "note")))}

    assert [] == list(gone_warnings("db", DECLARED, found))


def test_a_generated_column_is_warned_of_as_what_it_is() -> None:
    columns = TableColumns(frozenset(("id", "name_of")), generated=frozenset(("name",)))

    (warning,) = gone_warnings("db", DECLARED, {"public.customer": columns})

    assert 'column "name" of table public.customer' == warning.about
    assert "is generated, and the database's log leaves it out" in warning.message
