"""The files of an export, and what refuses one, in a line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinery.capture.export import ExportError, find_export
from joinery.capture.spool import SpoolFolder

TABLE, NAMES = "public.customer", ("public.customer", "public/customer", "client", "customer")
SINCE = 1_000_000_000.0


def put(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"PAR1")
    return file


@pytest.mark.parametrize(
    "name",
    [
        "public.customer/1/part-00000.gz.parquet",
        "public/customer/a.parquet",
        "client/a.parquet",
        "customer.parquet",
    ],
)
def test_a_table_is_a_folder_or_a_file_of_its_name_or_of_its_relation(
    tmp_path: Path, name: str
) -> None:
    file = put(tmp_path / name)
    put(tmp_path / "other" / "a.parquet")

    assert (file,) == find_export(tmp_path, TABLE, NAMES, SINCE).files


def test_files_that_are_no_rows_are_left_out(tmp_path: Path) -> None:
    file = put(tmp_path / "customer" / "a.parquet")
    shown = put(tmp_path / "customer" / "_day=1" / "b.parquet")
    for each in ("_SUCCESS", "_metadata.parquet", ".a.parquet", "export.json", "_old/c.parquet"):
        put(tmp_path / "customer" / each)

    assert (shown, file) == find_export(tmp_path, TABLE, NAMES, SINCE).files


def test_a_table_that_is_not_in_the_export_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"has no table public\.customer") as refused:
        find_export(tmp_path, TABLE, NAMES, SINCE)

    assert f"Put its Parquet files into {tmp_path}/public.customer." == refused.value.hint


def test_a_table_without_parquet_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "customer" / "a.csv")

    with pytest.raises(ExportError, match=r"customer has no Parquet files of table public\."):
        find_export(tmp_path, TABLE, NAMES, SINCE)


def test_an_export_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "customer" / "a.parquet")
    put(tmp_path / "customer" / "1" / "_temporary" / "0" / "b.parquet")

    with pytest.raises(ExportError, match=r"customer is not finished: it has _temporary"):
        find_export(tmp_path, TABLE, NAMES, SINCE)


def test_a_table_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "customer" / "a.parquet")
    put(tmp_path / "public.customer.parquet")

    with pytest.raises(ExportError, match=r"has table public\.customer twice: .* and "):
        find_export(tmp_path, TABLE, NAMES, SINCE)


def test_files_from_before_the_log_was_kept_are_refused(tmp_path: Path) -> None:
    file = put(tmp_path / "customer" / "a.parquet")
    os.utime(file, (SINCE - 60, SINCE - 60))

    with pytest.raises(ExportError, match="changes in between would be lost"):
        find_export(tmp_path, TABLE, NAMES, SINCE)


def test_tables_that_are_read_again_wait_for_no_export(tmp_path: Path) -> None:
    spool = SpoolFolder.claim(tmp_path, slot="s", tables=(TABLE,))
    spool.note_begins((TABLE,))
    spool.note_awaited((TABLE,), SINCE)
    taken = put(spool.rows(TABLE) / "0000000000000001.jsonl")

    spool.read_again()

    known = spool.identity
    assert known is not None
    assert ((), (TABLE,), 0.0) == (known.awaited, known.joining, known.exported_since)
    assert not taken.exists()
