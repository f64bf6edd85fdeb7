"""A wrong call is refused in one line that names what was meant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

import joinery as jn
from joinery.errors import JoineryError, SpecError

loose: Any = jn
"""For calls that are wrong on purpose, as somebody makes them who runs no type checker."""


@pytest.mark.parametrize(
    ("source", "database"), [("mysql://host/shop", None), (None, "sqlite:///coffee.db")]
)
def test_a_url_that_means_nothing_is_no_path(source: str | None, database: str | None) -> None:
    with pytest.raises(SpecError, match="cannot be a URL of") as refused:
        jn.App("coffee", source=source, database=database)

    assert "SPEC_VALUE" == refused.value.code


@pytest.mark.parametrize("name", ["source", "database"])
def test_a_place_that_is_neither_text_nor_path_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match=f'"{name}" cannot be of type int') as refused:
        loose.App("coffee", **{name: 5})

    assert refused.value.hint


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: loose.relation("user", key="id", fields={"id": "long"}, imges="key"), "images"),
        (lambda: loose.document("p", "user", emitt={"settle": "2s"}), "emit"),
        (lambda: loose.document("p", "user").embed_one("a", "b", onn={"id": "id"}), "on"),
        (lambda: loose.App("coffee", sorce="data"), "source"),
        (lambda: loose.App("coffee").table("a", key="id", field={"id": "long"}), "fields"),
        (lambda: loose.Project("people", product=[]), "products"),
        (lambda: loose.Stream.from_dataframe(None, "clicks", frames=None), "frame"),
    ],
)
def test_a_misspelled_argument_names_the_nearest(call: Callable[[], object], near: str) -> None:
    with pytest.raises(TypeError, match=f"Did you mean '{near}'"):
        call()


@pytest.mark.parametrize(
    ("call", "title"),
    [
        (
            lambda: loose.App("a").stream("b", fields={"id": "long"}).join("c", fild=[]),
            "Stream.join",
        ),
        (lambda: loose.document("p", "user").embed_one("a", "b", onn=[]), "Document.embed_one"),
        (lambda: loose.Stream.from_dataframe(None, frames=None), "Stream.from_dataframe"),
        (lambda: loose.App("coffee", sorce="data"), "App.__init__"),
    ],
)
def test_a_misspelled_argument_names_the_class_that_the_method_is_called_on(
    call: Callable[[], object], title: str
) -> None:
    with pytest.raises(TypeError, match=rf"^{title}\(\) got an unexpected keyword argument"):
        call()


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda app, log: jn.document("a", log), 'Write the name of its log, "clicks".'),
        (lambda app, log: loose.document("a", None), "Pass what jn.relation or app.table gives"),
        (lambda app, log: app.group_by(5, "id"), "Pass what jn.relation or app.table gives"),
        (lambda app, log: app.add(log), "Pass what jn.document"),
        (lambda app, log: log.union("clicks"), "Pass one such as app.stream"),
        (lambda app, log: log.lookup_join(None, "id"), "Write app.table("),
        (
            lambda app, log: log.join(log.filter("id > 1"), ["id"], ["0s", "1m"]),
            "Pass the log itself",
        ),
        (lambda app, log: jn.document(log, "a"), "Its name comes first."),
        (lambda app, log: loose.document("a", "b", embed={"c": "d"}), "jn.many(RELATION, on=…)"),
        (
            lambda app, log: loose.document("a", "b", embed=[loose.one("c", on=["d"])]),
            "jn.many(",
        ),
        (lambda app, log: loose.pattern("a", "b", match="A", rules={"r": "c"}), "jn.many("),
        (lambda app, log: loose.many(loose.one("a", on=["b"]), on=["b"]), "Use embed_one"),
        (lambda app, log: log.lookup_join({}, "id"), "Write app.table("),
        (lambda app, log: loose.many("a", on=["b"], through=["c"]), "Write through={…}."),
        (lambda app, log: loose.App("a", sources=["b"]), "Write sources={…}."),
        (lambda app, log: log.with_columns(columns=loose.__all__), "Write columns={…}."),
        (lambda app, log: loose.load(5), 'Write jn.load("joinery.yaml").'),
        (lambda app, log: loose.load("a", settings=5), 'Write settings="run.trigger=5s".'),
        (lambda app, log: loose.load("a", settings=[5]), 'Write settings="run.trigger=5s".'),
        (lambda app, log: loose.document("a", "b").embed_one(5, "c", on=["d"]), "Its name comes"),
        (lambda app, log: loose.row({}, "a > 1"), "Its name comes first."),
        (lambda app, log: app.stream(cast("Any", {})), "Its name comes first."),
        (
            lambda app, log: loose.document("a", "b", emit={"settle": timedelta(seconds=2)}),
            'Write a duration as text, such as "2s".',
        ),
        (lambda app, log: loose.relation("a", key={"id"}, fields={}), "Write a list."),
        (lambda app, log: loose.relation("a", key="id", fields={"id": int}), 'such as "long"'),
        (lambda app, log: log.filter(lambda row: row["id"] > 1), "a condition is no function"),
        (lambda app, log: loose.row("A").then("B"), "Write jn.row(name, condition)."),
        (lambda app, log: loose.row("A").not_followed_by("B"), "Write jn.row(name, condition)."),
    ],
)
def test_what_is_of_another_kind_is_refused_in_one_line(
    wrong: Callable[[jn.App, jn.Stream], object], hint: str
) -> None:
    app = jn.App("web")

    with pytest.raises(SpecError) as refused:
        wrong(app, app.stream("clicks", fields={"id": "long"}))

    assert hint in refused.value.hint


def test_a_stream_of_another_app_is_refused() -> None:
    one, other = (jn.App(name).stream("clicks", fields={"id": "long"}) for name in ("one", "two"))

    with pytest.raises(SpecError, match="is of another app, two"):
        one.union(other)


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        (lambda o: o.lookup_join("custmers", "id"), "PLAN_UNKNOWN_RELATION", "no table"),
        (lambda o: o.filter(""), "SPEC_SHAPE", "needs an expression"),
        (
            lambda o: o.lookup_join("customers", "customer_id", read="database", cache={"tl": ""}),
            "SPEC_UNKNOWN_KEY",
            'no key "tl"',
        ),
        (
            lambda o: o.lookup_join("customers", "customer_id", on_change="re_emit"),
            "SPEC_MISSING_KEY",
            'needs "for"',
        ),
        (lambda o: o.map("score", {"a": "long"}), "SPEC_SHAPE", "needs module:name"),
        (lambda o: o.map(lambda event: event, {"a": "lng"}), "SPEC_TYPE", "no type"),
        (lambda o: o.sink(fles={}), "SPEC_UNKNOWN_KEY", 'no kind "fles"'),
        (lambda o: o.sink(), "SPEC_MISSING_KEY", "needs a sink"),
    ],
)
def test_what_a_file_would_refuse_is_refused_at_the_call(
    wrong: Any, code: str, message: str
) -> None:
    app = jn.App("a")
    app.table("customers", key="id", fields={"id": "long", "name": "string"})
    orders = app.stream("orders", fields={"customer_id": "long", "amount": "double"})

    with pytest.raises(JoineryError) as caught:
        wrong(orders)

    problems = getattr(caught.value, "problems", (caught.value,))
    assert [code] == [each.code for each in problems]
    assert message in problems[0].message


def test_a_broker_without_a_port_is_refused_at_once() -> None:
    with pytest.raises(SpecError) as refused:
        jn.App("coffee", source="kafka://localhost")

    assert 'Write "kafka://localhost:9092".' == refused.value.hint
