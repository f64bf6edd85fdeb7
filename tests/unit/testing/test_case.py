"""Cases in YAML: what is given, what is expected, and what is said of those that fail."""

from __future__ import annotations

from pathlib import Path

from tests.unit.testing import case_folder
from tests.unit.testing.case_folder import PROJECT, outcome

folder = case_folder.folder


def test_a_case_passes_where_all_documents_are_as_expected(folder: Path) -> None:
    found = outcome(
        folder,
        """
product: profile
cases:
  - name: orders stand in the document
    given:
      customer: [{id: 1, name: Ada, since: "2026-01-01T00:00:00Z"}]
      order: [{number: 7, customer_id: 1, amount: 1.5}]
    expect: [{id: 1, name: Ada, since: 2026-01-01T00:00:00, orders: [{number: 7, amount: 1.50}]}]
""",
    )

    assert found.passed


def test_each_difference_is_told_with_its_path_and_line(folder: Path) -> None:
    found = outcome(
        folder,
        """
product: profile
cases:
  - name: wrong
    given:
      customer: [{id: 1, name: Ada}, {id: 2}]
      order: [{number: 7, customer_id: 1, amount: 1.5}, {number: 8, customer_id: 1}]
    expect:
      - {id: 1, name: Eve, since: null, orders: [{number: 7, amount: 2}]}
      - {id: 3, name: Bob}
""",
    )

    assert [str(each) for each in found.differences] == [
        'id=1 name: expected "Eve", got "Ada"',
        "id=1 orders[0].amount: expected 2.00, got 1.50",
        'id=1 orders[1]: expected nothing, got {"number":8,"amount":null}',
        "id=3: expected {id: 3, name: Bob}, got nothing",
        "id=2: expected nothing,"
        ' got {"id":2,"name":null,"since":null,"orders":[],"orders_total":0}',
    ]
    assert [each.place and each.place.line for each in found.differences] == [9, 9, 9, 10, None]


def test_a_row_keeps_columns_left_out_and_a_step_may_delete(folder: Path) -> None:
    found = outcome(
        folder,
        """
cases:
  - name: a customer
    product: profile
    steps:
      - given: {customer: [{id: 1, name: Ada, __position: 5}, {id: 2, name: Bob}]}
      - given: {customer: [{id: 1, since: 2026-01-01}, {id: 1, name: late, __position: 4}]}
        expect: [{id: 1, name: Ada, since: "2026-01-01"}, {id: 2}]
      - given: {customer: [{id: 1, __deleted: true}]}
        expect: [{id: 2, name: Bob}, {id: 1, __deleted: true}]
""",
    )

    assert found.passed, found


def test_the_column_that_a_relation_is_ordered_by_decides_which_row_is_newer(folder: Path) -> None:
    found = outcome(
        folder,
        """
product: price_tag
cases:
  - name: an older price changes nothing
    steps:
      - given: {price: [{sku: a, cents: 5, at: 2026-01-02T00:00:00Z}]}
      - given: {price: [{sku: a, cents: 7, at: 2026-01-01T00:00:00Z}]}
        expect: [{sku: a, cents: 5}]
      - given: {price: [{sku: a, __deleted: true, at: 2026-01-01T12:00:00Z}]}
        expect: [{sku: a, cents: 5}]
""",
    )
    assert found.passed


def test_a_document_that_should_be_gone_fails_the_case_with_the_step(folder: Path) -> None:
    found = outcome(
        folder,
        """
product: profile
cases:
  - name: gone
    steps:
      - {given: {customer: [{id: 1}]}, expect: [{id: 1}]}
      - {given: {customer: [{id: 1, name: Ada}]}, expect: [{id: 1, __deleted: true}]}
""",
    )

    assert found.step == 2
    assert [each.expected for each in found.differences] == ["nothing"]


def test_a_key_that_the_document_does_not_show_identifies_it(folder: Path) -> None:
    found = outcome(
        folder,
        """
product: by_key
cases:
  - name: a map
    given:
      customer: [{id: 1, name: Ada}, {id: 2, name: Bob}]
      order: [{number: 7, customer_id: 2, amount: 3}]
    expect: [{id: 2, title: Bob, orders: {7: {amount: 4}, 9: {amount: 1}}}, {id: 1, orders: {}}]
""",
    )

    assert [str(each) for each in found.differences] == [
        "id=2 orders[7].amount: expected 4.00, got 3.00",
        "id=2 orders[9]: expected {amount: 1}, got nothing",
    ]


def test_a_stream_waits_and_sends_in_its_own_time(folder: Path) -> None:
    found = outcome(
        folder,
        """
stream: sales
cases:
  - name: an event waits for its customer for five minutes
    steps:
      - given: {sale: [{id: 1, person: 7}, {id: 2, person: 8}]}
        expect: []
      - given: {person: [{person: 7, name: Ada}]}
        after: 1m
        expect: [{id: 1, name: Ada}]
      - after: 5m
        expect: [{id: 2, name: null}]
""",
    )

    assert found.passed, found


def test_a_stream_is_tested_beside_a_relation_that_is_a_product(folder: Path) -> None:
    (folder / "joinery.yaml").write_text(
        PROJECT.replace(
            "products:\n", "  busy: {product: minutes, time: window_start}\nproducts:\n"
        )
    )

    found = outcome(
        folder,
        """
stream: clicks
cases:
  - name: the front page does not count
    given: {click: [{page: /}, {page: /a}]}
    expect: [{page: /a}]
""",
    )

    assert found.passed, found


def test_a_dead_letter_nobody_expects_fails_a_case(folder: Path) -> None:
    text = """
stream: known
cases:
  - name: nobody knows it
    given: {sale: [{id: 1, person: 7}]}
    expect: []
"""

    lost = outcome(folder, text)
    expected = outcome(folder, text + "    dead_letters: [{id: 1, reason: lookup_miss}]\n")

    assert [str(each) for each in lost.differences] == [
        "dead letter of id=1: expected nothing, got lookup_miss (There is no row of person for it.)"
    ]
    assert expected.passed


def test_a_function_that_is_not_there_fails_its_case(folder: Path) -> None:
    step = "{map: {function: 'nowhere:hook', output: {page: string}}}"
    (folder / "joinery.yaml").write_text(PROJECT.replace("{filter: page <> '/'}", step))

    found = outcome(
        folder,
        "cases: [{name: a, stream: clicks, given: {click: [{page: /a}]}, expect: [{page: /a}]}]",
    )

    assert (found.step, found.error) == (1, "cannot import function nowhere:hook")


def test_events_without_a_key_are_compared_in_order(folder: Path) -> None:
    found = outcome(
        folder,
        """
stream: clicks
cases:
  - name: the front page does not count
    given: {click: [{page: /a}, {page: /}, {page: /b}]}
    expect: [{page: /a}, {page: /c}]
""",
    )

    assert [(each.expected, each.found) for each in found.differences] == [('"/c"', '"/b"')]


def test_rows_of_other_relations_of_the_project_change_nothing(folder: Path) -> None:
    found = outcome(
        folder,
        """\
product: profile
cases:
  - name: rows that two products share
    given:
      customer: [{id: 1, name: Ada}]
      click: [{page: /a}]
    expect: [{id: 1, name: Ada}]
""",
    )

    assert found.passed


def test_keys_and_times_are_read_as_a_run_reads_them(folder: Path) -> None:
    text = """
product: samples
cases:
  - name: in UTC
    given: {sample: [{id: 1, m: {true: 2}, n: "2026-01-02T03:04:05+02:00"}]}
    expect: [{id: 1, m: {true: 2}, n: "2026-01-02T01:04:05"}]
"""

    assert outcome(folder, text).passed


def test_a_decimal_may_end_in_zeros(folder: Path) -> None:
    text = """
product: profile
cases:
  - name: "the same number"
    given: {customer: [{id: 1}], order: [{number: 1, customer_id: 1, amount: 3.250}]}
    expect: [{id: 1, orders: [{amount: 3.2500}]}]
"""

    assert outcome(folder, text).passed
