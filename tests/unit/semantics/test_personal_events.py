"""Personal columns in streams: hidden, looked up by, and gone once their subject is erased."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.errors import PlanError, ProjectErrors
from joinery.plan.check import check
from joinery.plan.step import Select, Step, WithColumns
from joinery.plan.step_base import kept
from joinery.plan.verify import verify_stream
from joinery.testing.driver import DriverError, upsert
from joinery.testing.stream_driver import StreamDriver

HEAD = """\
name: web
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  view:
    append: true
    key: [id]
    time: at
    fields: {id: long, user: long, email: string, height: int, page: string, at: timestamp}
    personal: {subject: user, fields: [email, height], join: [email]}
  click:
    append: true
    key: [id]
    time: at
    fields: {id: long, view: long, at: timestamp}
  customer:
    key: [id]
    fields: {id: long, name: string, tier: string}
    personal: {subject: id, fields: [name]}
  address:
    key: [id]
    time: since
    fields: {id: int, owner: long, street: string, since: timestamp}
    personal: {subject: owner, fields: [street]}
  account:
    key: [email]
    fields: {email: string, plan: string, phone: string}
    personal: {subject: email, fields: [email, phone], join: [email]}
  price: {key: [page], fields: {page: string, price: double}}
  letter:
    append: true
    key: [email]
    fields: {email: string, page: string}
    personal: {subject: email, fields: [email]}
streams:
"""
CUSTOMER = "{lookup: customer, on: {id: user}, fields: [name, tier]OPTIONS}"
ACCOUNT = "{lookup: account, on: [email], fields: [plan, phone]OPTIONS}"
AGAIN = ", on_change: re_emit, for: 7d"
SELECT = "{select: [id, user, EACH]}"

insert, update, delete = jn.testing.insert, jn.testing.update, jn.testing.delete


def project(folder: Path, steps: str, rest: str = "") -> jn.Project:
    text = f"{HEAD}  seen:\n    from: view\n    steps: [{steps}]\n{rest}"
    (folder / "joinery.yaml").write_text(text)
    return jn.load(folder / "joinery.yaml")


def driver(folder: Path, *steps: str) -> StreamDriver:
    return StreamDriver(project(folder, ", ".join(steps)).streams["seen"])


def view(number: int, user: int, **more: Any) -> Any:
    told = {"email": f"u{user}@x.org", "height": 173, "page": "/", "at": None}
    return insert("view", id=number, user=user, **{**told, **more})


def test_personal_columns_of_a_log_are_not_shown(tmp_path: Path) -> None:
    made = driver(
        tmp_path, "{filter: page = '/'}", "{with_columns: {mail: email}}", "{select: [user, mail]}"
    )

    assert [upsert(1, {"user": 7, "mail": None})] == made.send(view(1, 7))


def test_a_row_whose_subject_is_erased_sends_the_events_again_that_met_it(tmp_path: Path) -> None:
    made = driver(
        tmp_path, CUSTOMER.replace("OPTIONS", AGAIN), SELECT.replace("EACH", "name, tier")
    )
    made.send(insert("customer", id=7, name="Ann", tier="gold"), view(1, 7), view(2, 8))

    again = made.erase("customer", 7)

    assert [upsert(1, {"id": 1, "user": 7, "name": None, "tier": "gold"})] == again
    assert [] == made.erase("view", 7)


def test_events_of_a_lookup_that_keeps_what_was_sent_are_not_sent_again(tmp_path: Path) -> None:
    made = driver(tmp_path, CUSTOMER.replace("OPTIONS", ""))
    made.send(insert("customer", id=7, name="Ann", tier="gold"), view(1, 7))

    assert [] == made.erase("customer", 7)


def test_a_lookup_by_a_personal_key_compares_blind_indexes(tmp_path: Path) -> None:
    made = driver(
        tmp_path, ACCOUNT.replace("OPTIONS", AGAIN), SELECT.replace("EACH", "plan, phone, email")
    )
    nothing = {"phone": None, "email": None}

    sent = made.send(insert("account", email="u7@x.org", plan="a", phone="1"), view(1, 7))
    again = made.erase("account", "u7@x.org")
    later = made.send(view(2, 7))
    made.erase("view", 7)
    unknown = made.send(view(3, 7))

    assert [upsert(1, {"id": 1, "user": 7, "plan": "a", **nothing})] == sent == again
    assert [upsert(2, {"id": 2, "user": 7, "plan": "a", **nothing})] == later
    assert [upsert(3, {"id": 3, "user": 7, "plan": None, **nothing})] == unknown


def test_a_lookup_that_shows_nothing_personal_may_choose_which_events_are_sent_again(
    tmp_path: Path,
) -> None:
    made = driver(
        tmp_path,
        f"{{lookup: customer, on: {{id: user}}, fields: [tier]{AGAIN}, where: tier = 'gold'}}",
    )
    made.send(insert("customer", id=7, name="Ann", tier="gold"), view(1, 7))

    assert [] == made.erase("customer", 7)


def test_an_event_that_a_later_lookup_refuses_when_it_is_sent_again_is_a_dead_letter(
    tmp_path: Path,
) -> None:
    made = driver(
        tmp_path,
        CUSTOMER.replace("OPTIONS", AGAIN),
        "{lookup: price, on: [page], on_miss: dead_letter}",
        SELECT.replace("EACH", "name, price"),
    )
    made.send(
        insert("customer", id=7, name="Ann", tier="gold"), insert("price", page="/", price=1.0)
    )
    made.send(view(1, 7))
    made.send(delete("price", page="/"))

    again = made.erase("customer", 7)

    assert [] == again
    assert [("lookup_miss", {"id": 1})] == [(each.reason, each.key) for each in made.dead_letters]


def test_what_is_sent_again_passes_the_later_steps_as_they_are_then(tmp_path: Path) -> None:
    made = driver(tmp_path, CUSTOMER.replace("OPTIONS", AGAIN), "{filter: tier = 'gold'}")
    made.send(insert("customer", id=7, name="Ann", tier="gold"), view(1, 7))

    kept_out = made.send(update("customer", id=7, name="Ann", tier="silver"))

    assert [] == kept_out == made.erase("customer", 7)


def test_nothing_can_be_erased_of_what_is_not_personal(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match='nothing personal of "price"'):
        driver(tmp_path, "{lookup: price, on: [page]}").erase("price", "/")


def test_explain_says_what_is_looked_up_by_a_blind_index(tmp_path: Path) -> None:
    told = str(project(tmp_path, ACCOUNT.replace("OPTIONS", "")).streams["seen"].explain())

    assert "Lookup account on email (blind key) = email (blind index)" in told


def test_a_lookup_by_a_blind_index_goes_before_one_in_a_store(tmp_path: Path) -> None:
    stored = "{lookup: price, on: [page]" + STORED + "}"
    stream = project(tmp_path, f"{stored}, {ACCOUNT.replace('OPTIONS', '')}").streams["seen"].plan

    assert ["account", "price"] == [each.table.name for each in stream.lookups]


STORED = ", read: database, store: {sqlite: {path: a.db}}"
OTHER = "  other: {from: view, steps: []}\n"
REFUSED = {
    "an expression": "{with_columns: {e: lower(email)}}",
    "a filter": "{filter: height > 3}",
    "a filter of an event looked up": CUSTOMER.replace("OPTIONS", "") + ", {filter: name = 'x'}",
    "an expression over the looked-up row": "{lookup: customer, on: {id: user},"
    " fields: {n: upper(name)}}",
    "rolling columns": "{rolling: {by: [page], over: 1m, values: {n: count(*)}}}",
    "a join of two logs": "{join: click, on: {view: id}, within: [0s, 1d], fields: {c: at}}",
    "a function": "{map: {function: 'm:f', output: {a: long}}}",
    "a union": "{union: other}",
    "what was seen": "{filter: \"not seen(email, for => '1d')\"}",
    "the row of the event's time": "{lookup: address, on: {id: user}, as_of: event}",
    "the row of a store": CUSTOMER.replace("OPTIONS", STORED),
    "the row in the event": "{lookup: customer, on: {id: user}, fields: {email: name},"
    " read: event}",
    "a key that the event has in another type": "{lookup: address, on: {id: user},"
    " fields: [street]}",
    "a personal key of a table and a clear column": "{lookup: account, on: {email: page}}",
    "a clear key of a table and a personal column": "{lookup: price, on: {page: email}}",
    "a personal column without a blind index": "{lookup: account, on: {email: height}}",
    "a lookup by a renamed column": "{with_columns: {mail: email}},"
    " {lookup: account, on: {email: mail}}",
    "a choice of events that are sent again": CUSTOMER.replace(
        "OPTIONS", AGAIN + ", where: tier = 'gold'"
    ),
    "a lookup after a select": "{select: [id, email]}, {lookup: account, on: [email]}",
    "a lookup by a column that a step replaced": "{with_columns: {email: page}},"
    " {lookup: account, on: [email]}",
    "a lookup by a column that a lookup replaced": "{lookup: customer, on: {id: user},"
    " fields: {email: tier}}, {lookup: account, on: [email]}",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_covered_is_refused(case: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        _ = project(tmp_path, REFUSED[case], OTHER).plan

    assert "PLAN_PERSONAL" in {each.code for each in refused.value.problems}


@pytest.mark.parametrize(
    ("first", "column"), [("{with_columns: {mail: page}}", "mail"), ("{select: [page]}", "page")]
)
def test_the_refusal_of_a_column_that_is_not_the_log_s_says_where_to_put_the_lookup(
    first: str, column: str, tmp_path: Path
) -> None:
    with pytest.raises(ProjectErrors) as refused:
        _ = project(tmp_path, f"{first}, {{lookup: account, on: {{email: {column}}}}}").plan

    (problem,) = refused.value.problems
    assert f'cannot compare "{column}" of the event with "email"' in problem.message
    assert f'Put the lookup before the step that gives "{column}"' in problem.hint


def test_a_column_of_the_log_without_a_blind_index_is_to_be_listed(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        _ = project(tmp_path, "{lookup: account, on: {email: height}}").plan

    (problem,) = refused.value.problems
    assert 'List "height" under fields and join of "personal" of "view"' in problem.hint


def test_a_plan_whose_lookup_goes_by_an_index_that_is_gone_is_broken(tmp_path: Path) -> None:
    stream = project(tmp_path, ACCOUNT.replace("OPTIONS", "")).streams["seen"].plan
    (lookup,) = stream.steps
    fields = kept(stream.relation.row.fields)
    replaced = tuple(each for each in fields if each.name == "email")
    ending: tuple[Step, ...] = (Select(fields), WithColumns(replaced))

    verify_stream(stream)
    for first in ending:
        with pytest.raises(PlanError) as broken:
            verify_stream(replace(stream, steps=(first, lookup)))
        assert "joined columns are there" in broken.value.detail


def test_a_log_with_a_personal_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        _ = project(tmp_path, "", "  post: {from: letter}\n").plan

    (problem,) = refused.value.problems
    assert 'a log with a personal key, "letter"' in problem.detail


def test_a_sink_that_keeps_all_cannot_reveal_and_any_other_warns(tmp_path: Path) -> None:
    sink = "    sink: {KIND, reveal: true}}\n"
    kept = sink.replace("KIND", "files: {path: out")
    keyed = sink.replace("KIND", "sqlite: {path: out.db")

    with pytest.raises(ProjectErrors, match='sink "files" of stream "seen" cannot reveal'):
        _ = project(tmp_path, "", kept).plan
    project(tmp_path, "", keyed)
    (warning,) = check(tmp_path / "joinery.yaml")

    assert "warning" == warning.severity
    assert 'sink "sqlite" of stream "seen" keeps in clear what it was sent' in warning.message
    assert "removes lines of events that the log no longer has" in warning.hint


def test_a_topic_that_is_given_values_is_to_be_compacted(tmp_path: Path) -> None:
    topic = "    sink: {kafka: {topic: seen, bootstrap: 'localhost:9092', reveal: true}}\n"
    project(tmp_path, "", topic)

    (warning,) = check(tmp_path / "joinery.yaml")

    assert "have the topic compacted" in warning.hint
