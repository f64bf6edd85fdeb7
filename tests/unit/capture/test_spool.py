"""Whose a spool is, and which tables it has."""

from __future__ import annotations

from pathlib import Path

from joinery.capture.spool import SpoolFolder


def tables_of(spool: SpoolFolder) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = spool.identity
    assert known is not None
    return known.tables, known.joining


def test_a_table_whose_name_was_wrong_is_forgotten_as_long_as_nothing_was_captured(
    tmp_path: Path,
) -> None:
    SpoolFolder.claim(tmp_path, slot="s", tables=("public.costumer", "public.purchase"))

    mended = SpoolFolder.claim(tmp_path, slot="s", tables=("public.customer", "public.purchase"))

    assert (("public.customer", "public.purchase"), ()) == tables_of(mended)


def test_a_table_joins_those_that_are_captured(tmp_path: Path) -> None:
    SpoolFolder.claim(tmp_path, slot="s", tables=("public.customer",)).note_begun()

    joined = SpoolFolder.claim(tmp_path, slot="s", tables=("public.purchase",))

    assert (("public.customer", "public.purchase"), ("public.purchase",)) == tables_of(joined)
