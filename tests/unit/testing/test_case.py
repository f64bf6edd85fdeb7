"""Cases in YAML: what is given, what is expected, and what is said of those that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.project.load import load_spec
from joinery.testing.case_load import case_files, load_cases
from joinery.testing.case_run import CaseResult, run_case

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string, since: timestamp}}
  order: {key: [number], fields: {number: long, customer_id: long, amount: "decimal(8,2)"}}
  person: {key: [person], fields: {person: long, name: string}}
  price: {key: [sku], position: at, fields: {sku: string, cents: long, at: timestamp}}
  sale: {append: true, key: [id], fields: {id: long, person: long}}
  click: {append: true, fields: {page: string}}
  visit: {key: [id], fields: {id: long, page: string, at: timestamp}, time: at}
  sample:
    key: [id]
    fields:
      {id: long, x: double, m: "map<boolean, int>", n: timestamp_ntz, xs: "array<array<double>>"}
products:
  samples: {root: sample}
  minutes:
    aggregate: visit
    by: [page]
    window: {tumbling: 1m}
    values: {visits: count(*)}
    emit: {late: dead_letter}
  profile:
    root: customer
    fields: [id, name, since]
    embed: {orders: {many: order, on: {customer_id: id}, fields: [number, amount], limit: 2}}
  by_key:
    root: customer
    fields: {title: name}
    embed: {orders: {many: order, on: {customer_id: id}, fields: [amount], as: map}}
    sink: {files: {path: out}}
  price_tag: {root: price, fields: [cents]}
  spark_only:
    root: customer
    fields: {id: id, code: crc32(name)}
streams:
  sales:
    from: sale
    steps:
      - {lookup: person, on: [person], fields: [name], on_miss: "wait:5m"}
    sink: {files: {path: out}}
  known:
    from: sale
    steps: [{lookup: person, on: [person], fields: [name], on_miss: dead_letter}]
    sink: {files: {path: out}}
  clicks: {from: click, steps: [{filter: page <> '/'}], sink: {files: {path: out}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    (tmp_path / "tests").mkdir()
    return tmp_path


def outcome(folder: Path, text: str) -> CaseResult:
    """Run the only case of a file."""
    (folder / "tests" / "a.yaml").write_text(text)
    (case,) = load_cases(load_spec(folder / "joinery.yaml"), case_files(folder))
    return run_case(case)


def problems(folder: Path, text: str) -> list[str]:
    """Return what is wrong with a file, without its name."""
    with pytest.raises(ProjectErrors) as caught:
        outcome(folder, text)
    return [
        f"{each.location.line}:{each.location.column} {each.message}"
        if each.location
        else str(each)
        for each in caught.value.problems
    ]


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


def test_a_function_that_is_not_there_fails_its_case(folder: Path) -> None:
    step = "{map: {function: 'nowhere:hook', output: {page: string}}}"
    (folder / "joinery.yaml").write_text(PROJECT.replace("{filter: page <> '/'}", step))

    found = outcome(
        folder,
        "cases: [{name: a, stream: clicks, given: {click: [{page: /a}]}, expect: [{page: /a}]}]",
    )

    assert (found.step, found.error) == (1, "No module named 'nowhere'")


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


def test_every_problem_of_a_file_is_told_at_its_place(folder: Path) -> None:
    found = problems(
        folder,
        """\
product: profil
cases:
  - nam: x
  - name: twice
    product: profile
    after: 5m
    given:
      customers: []
      order: [{number: one}, {customer_id: 1}]
    expect: [{id: 1, orders: [{numbr: 1}], oops: 1}]
  - name: empty
    product: profile
  - {name: "both", product: profile, stream: sales, expect: []}
  - {name: "spark", product: spark_only, expect: []}
""",
    )

    assert found == [
        '1:10 there is no product "profil"',
        '3:5 a case has no key "nam"',
        "3:5 a case needs a name",
        "6:12 time does not change documents",
        '8:7 product "profile" reads no relation "customers"',
        '9:24 "number" of a row of "order" cannot be "one"',
        '9:30 a row of "order" lacks the key column "number"',
        '10:32 "orders[0]" of a document of "profile" has no field "numbr"',
        '10:44 a document of "profile" has no column "oops"',
        '11:5 case "empty" expects nothing',
        '13:5 case "both" names both a product and a stream',
        '14:30 product "spark_only" has expressions that only Spark can evaluate',
    ]


@pytest.mark.parametrize("amount", ["3.255", "true"])
def test_a_decimal_that_a_run_would_refuse_is_refused(folder: Path, amount: str) -> None:
    text = f"""
product: profile
cases:
  - name: "more decimals than the column has"
    given: {{order: [{{number: 1, amount: {amount}}}]}}
    expect: []
"""

    with pytest.raises(ProjectErrors, match=f'"amount" of a row of "order" cannot be "{amount}"'):
        outcome(folder, text)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("x: 1e400", '"x" of a row of "sample" is not a finite number'),
        ("xs: [[1], [-1e400]]", '"xs" of a row of "sample" is not a finite number'),
        ("m: {true: 1, 'true': 2}", '"m" of a row of "sample" has "true" twice'),
        ("n: 20260102", '"n" of a row of "sample" cannot be "20260102"'),
        ("n: 2026-W01-1", '"n" of a row of "sample" cannot be "2026-W01-1"'),
    ],
)
def test_a_value_that_a_run_would_refuse_is_refused(folder: Path, row: str, told: str) -> None:
    given = f"{{sample: [{{id: 1, {row}}}]}}"
    text = f"{{product: samples, cases: [{{name: a, given: {given}, expect: []}}]}}"

    (problem,) = problems(folder, text)

    assert problem.endswith(told)


def test_two_keys_that_cannot_be_read_are_not_told_to_be_one(folder: Path) -> None:
    given = "{sample: [{id: 1, m: {1: 1, 2: 2}}]}"
    text = f"{{product: samples, cases: [{{name: a, given: {given}, expect: []}}]}}"

    told = problems(folder, text)

    assert ['cannot be "1"', 'cannot be "2"'] == [each[-13:] for each in told]


def test_keys_and_times_are_read_as_a_run_reads_them(folder: Path) -> None:
    text = """
product: samples
cases:
  - name: in UTC
    given: {sample: [{id: 1, m: {true: 2}, n: "2026-01-02T03:04:05+02:00"}]}
    expect: [{id: 1, m: {true: 2}, n: "2026-01-02T01:04:05"}]
"""

    assert outcome(folder, text).passed


@pytest.mark.parametrize(
    ("second", "done"),
    [("{id: 1, person: 8}", "changes"), ("{id: 1, __deleted: true}", "deletes")],
)
def test_a_row_of_a_log_is_neither_changed_nor_deleted(
    folder: Path, second: str, done: str
) -> None:
    text = f"""
    stream: sales
    cases:
      - name: again
        given: {{sale: [{{id: 1, person: 7}}, {{id: 1, person: 7}}, {second}]}}
        expect: []
    """

    (told,) = problems(folder, text)

    assert f'case "again" {done} a row of "sale", whose rows never change' in told


def test_a_decimal_may_end_in_zeros(folder: Path) -> None:
    text = """
product: profile
cases:
  - name: "the same number"
    given: {customer: [{id: 1}], order: [{number: 1, customer_id: 1, amount: 3.250}]}
    expect: [{id: 1, orders: [{amount: 3.2500}]}]
"""

    assert outcome(folder, text).passed


def test_a_project_that_is_wrong_is_told_before_its_cases(folder: Path) -> None:
    (folder / "joinery.yaml").write_text(PROJECT.replace("[id, name, since]", "[id, nmae]"))

    with pytest.raises(ProjectErrors, match="nmae"):
        outcome(folder, "cases: []")


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
