"""What `joinery why` says where a project has nothing that it covers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from joinery.app.logs import WhyError
from joinery.app.why import where_to, why
from joinery.cli.why import _only

PROJECT = """\
name: meters
sources: {changes: {files: {path: data}}}
relations:
  reading: {append: true, key: [id], fields: {id: long}}
streams:
  seen: {from: reading, steps: [], sink: {files: {path: out}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    return tmp_path / "joinery.yaml"


def test_a_project_of_streams_has_no_product_to_choose(file: Path) -> None:
    with pytest.raises(WhyError, match="no product; why does not cover streams"):
        _only(file)


def test_a_project_of_streams_has_no_document_for_a_row(file: Path) -> None:
    with pytest.raises(WhyError) as refused:
        where_to(file, "reading:1")

    assert "The project has no product with documents." == refused.value.hint


def test_a_stream_that_is_asked_about_is_told_to_be_one(file: Path) -> None:
    with pytest.raises(WhyError) as refused:
        why(file, "seen", 1)

    assert '"seen" is a stream, which why does not cover' == refused.value.message
    assert "The project has no product." == refused.value.hint


def test_a_product_that_only_spark_can_check_is_not_in_the_way_of_another(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(
        """\
name: meters
sources: {changes: {files: {path: data}}}
relations:
  meter: {key: [id], fields: {id: long, places: "array<long>"}}
  reading: {key: [id], fields: {id: long}}
products:
  odd:
    root: meter
    fields: [id, {sum: "aggregate(places, 0L, (a, b) -> a + b)"}]
    sink: {files: {path: a}}
  plain: {root: reading, sink: {files: {path: b}}}
""",
        encoding="utf-8",
    )

    with pytest.raises(WhyError) as refused:
        where_to(tmp_path / "joinery.yaml", "meter:1", "plain")

    assert "They read reading." == refused.value.hint


SHOPS = """\
name: shops
sources: {changes: {files: {path: data}}}
relations:
  shop: {key: [country, code], fields: {country: string, code: string}}
products:
  page: {root: shop, sink: {files: {path: out}}}
"""


@pytest.mark.parametrize("key", ["de", '["de"]', "[]"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda file, key: why(file, "page", key),
        lambda file, key: why(file, "page", "de,b1", absent=f"shop:{key}"),
        lambda file, key: where_to(file, f"shop:{key}"),
    ],
    ids=["key", "absent", "row"],
)
def test_a_part_of_a_key_is_told_to_be_one(
    ask: Callable[[Path, str], object], key: str, tmp_path: Path
) -> None:
    (tmp_path / "joinery.yaml").write_text(SHOPS, encoding="utf-8")

    with pytest.raises(WhyError) as refused:
        ask(tmp_path, key)

    assert f'"{key}" is only a part of a key of shop' == refused.value.message
    assert "Its key is country, code." == refused.value.detail
