"""Hints that say what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.plan.check import check

HEAD = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer:
    key: [id]
    fields: {id: long, status: string, published_at: date, parent_id: long, a: boolean}
  clicks: {append: true, fields: {id: long, x: long}}
"""
KIDS = "embed: {kids: {many: customer, on: {parent_id: id}}}"


@pytest.mark.parametrize(
    ("part", "hint"),
    [
        ("products: {a: {root: customer, where: status = published}}", "'published'"),
        ("products: {a: {root: customer, where: published <> status}}", "'published'"),
        ("products: {a: {root: customer, where: id > 1 && id < 9}}", "Write and."),
        ("products: {a: {root: customer, where: a || a}}", "Write or"),
        ("products: {a: {root: customer, where: a and (a || a)}}", "Write or"),
        ("products: {a: {root: customer, where: id = 1 || id = 9}}", "write or"),
        ("products: {a: {root: customer, values: {t: published_at + status}}}", "date_add"),
        ("products: {a: {root: customer, values: {t: \"' ' + published_at\"}}}", "date_add"),
        ("products: {a: {root: customer, group_by: [status]}}", "aggregate: RELATION"),
        (
            "products: {a: {root: customer, embed: {k: {many: customer, on: parent_id = id}}}}",
            "Write {parent_id: id}.",
        ),
        (
            f"products: {{a: {{root: customer, values: {{n: count(distinct kids.id)}}, {KIDS}}}}}",
            "not kept yet",
        ),
        ("streams: {s: {from: clicks, steps: [{where: x > 1}]}}", 'Use "filter".'),
        (
            "streams: {s: {from: clicks, steps: [{with_columns: {t: sum(x)}}]}}",
            "keeps none",
        ),
        ("products: {a: {root: customer}}\nrun: {http: 9464}", "Write 127.0.0.1:9464."),
    ],
)
def test_a_hint_says_what_to_write(part: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(f"{HEAD}{part}\n", encoding="utf-8")

    (problem,) = [each for each in check(file) if each.severity == "error"]

    assert hint in problem.hint
