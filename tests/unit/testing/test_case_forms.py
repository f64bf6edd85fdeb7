"""Cases of products that aggregate, match, search, fold or keep versions, and of what time does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.testing import case_folder
from tests.unit.testing.case_folder import outcome

folder = case_folder.folder


def test_windows_that_are_sent_once_closed_are_there_once_all_logs_have_ended(folder: Path) -> None:
    (folder / "joinery.yaml").write_text("""\
name: web
sources: {log: {files: {path: data}}}
relations: {view: {append: true, fields: {page: string, at: timestamp}, time: at}}
products:
  hours:
    aggregate: view
    by: [page]
    window: {tumbling: 1h}
    values: {n: count(*)}
    emit: {when: closed}
""")

    found = outcome(
        folder,
        """\
product: hours
cases:
  - name: an hour is sent once it is over
    steps:
      - given: {view: [{page: a, at: 2026-03-01T10:10:00Z}, {page: b, at: 2026-03-01T10:20:00Z}]}
        expect: []
      - given: {view: [{page: a, at: 2026-03-01T11:00:00Z}]}
        expect: [{page: a, n: 1}, {page: b, n: 1}]
      - until_closed: true
        expect: [{page: a, n: 1}, {page: b, n: 1}, {page: a, n: 1, final: true}]
""",
    )

    assert () == found.differences
    assert found.passed


VERSIONS = """\
name: shop
sources: {{changes: {{files: {{path: data}}}}}}
relations:
  rate:
    key: [id]
    fields: {{id: long, percent: int, at: timestamp}}
    time: at
    format: {format}
products:
  rates: {{history: rate, valid: at}}
"""
ENDED_RATE = """\
product: rates
cases:
  - name: a rate ends when it is deleted
    given:
      rate:
        - {id: 1, percent: 7, at: 2026-03-01T00:00:00Z}
        - {id: 1, at: 2026-03-05T00:00:00Z, __deleted: true}
    expect:
      - {id: 1, valid_to: END}
"""


@pytest.mark.parametrize(
    ("format", "end"), [("json", "2026-03-05T00:00:00Z"), ("debezium-json", "null")]
)
def test_a_delete_that_tells_its_time_ends_a_version_as_its_format_does(
    format: str, end: str, folder: Path
) -> None:
    (folder / "joinery.yaml").write_text(VERSIONS.format(format=format))

    found = outcome(folder, ENDED_RATE.replace("END", end))

    assert () == found.differences


def test_a_product_whose_key_is_empty_has_one_document(folder: Path) -> None:
    (folder / "joinery.yaml").write_text("""\
name: bank
sources: {log: {files: {path: data}}}
relations: {event: {append: true, fields: {number: long, type: string, amount: long}}}
products:
  balance:
    fold: event
    sequence: number
    state: {balance: "long = 0"}
    when: {Deposited: {balance: balance + event.amount}}
    wait: 0s
""")

    found = outcome(
        folder,
        """\
product: balance
cases:
  - name: there is one state
    given: {event: [{number: 1, type: Deposited, amount: 5}]}
    expect: [{balance: 6}]
""",
    )

    assert ["balance balance: expected 6, got 5"] == [str(each) for each in found.differences]


def test_a_row_that_is_late_is_a_dead_letter_under_its_own_key(folder: Path) -> None:
    text = """
product: minutes
cases:
  - name: a visit comes late
    given:
      visit:
        - {id: 1, page: /a, at: "2026-03-01T10:00:05Z", __position: 1}
        - {id: 2, page: /a, at: "2026-03-01T10:00:04Z", __position: 2}
    expect: [{page: /a, visits: 1}]
"""

    silent = outcome(folder, text)
    expected = outcome(folder, text + "    dead_letters: [{id: 2, reason: late}]\n")
    other = outcome(folder, text + "    dead_letters: [{page: /a, reason: late}]\n")

    assert [str(each) for each in silent.differences] == [
        "dead letter of id=2: expected nothing, "
        "got late (Its time is 1 s below what the watermark allows.)"
    ]
    assert expected.passed
    assert not other.passed


OBJECT_KEYS = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  login: {append: true, key: [id], fields: {id: long, who: string, at: timestamp}, time: at}
  item: {key: [shelf, number], fields: {shelf: string, number: long, price: long}}
  query: {key: [id], fields: {id: long, condition: string}}
products:
  twice: {pattern: login, by: [who], match: "A B", within: 1h, fields: {last: B.id}}
  cheap: {search: item, queries: query, query: condition, fields: {price: item.price}}
"""


@pytest.mark.parametrize(
    ("product", "given", "expected"),
    [
        (
            "twice",
            "login: [{id: 1, who: ann, at: '2026-01-01'}, {id: 2, who: ann, at: '2026-01-01'}]",
            "{who: ann, start: {id: 1}, last: 2}",
        ),
        (
            "cheap",
            "item: [{shelf: a, number: 7, price: 3}], query: [{id: 1, condition: price < 5}]",
            "{query: {id: 1}, document: {shelf: a, number: 7}, price: 3}",
        ),
    ],
)
def test_a_key_column_that_is_an_object_names_its_document(
    folder: Path, product: str, given: str, expected: str
) -> None:
    (folder / "joinery.yaml").write_text(OBJECT_KEYS)

    found = outcome(
        folder,
        f"product: {product}\ncases: [{{name: one, given: {{{given}}}, expect: [{expected}]}}]",
    )

    assert found.passed, found.differences
