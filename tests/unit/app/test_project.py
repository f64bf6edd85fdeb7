"""Products and streams are found by name; one that is not there is told with those that are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.app.logs import WhyError, asked_key
from joinery.app.project import project_of
from joinery.errors import JoineryError, SpecError
from joinery.model.type import STRING, TIMESTAMP, DataType, Decimal

loose: Any = jn
"""For calls that are wrong on purpose, as somebody makes them who runs no type checker."""
USER = jn.relation("user", key="id", fields={"id": "long", "name": "string"})
PROJECT = jn.Project("people", products=[jn.document("profile", USER)])


def test_a_product_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(JoineryError) as refused:
        PROJECT.products["profle"]

    error = refused.value
    assert isinstance(error, KeyError)
    assert 'SPEC_UNKNOWN_NAME the project has no product "profle"' == str(error)
    assert ("It has profile.", 'Use "profile".') == (error.detail, error.hint)
    assert str(error) == str(pickle.loads(pickle.dumps(error)))


def test_a_stream_that_is_not_there_is_told_so() -> None:
    with pytest.raises(KeyError, match='the project has no stream "x"'):
        PROJECT.streams["x"]


def test_products_are_a_mapping_like_any_other() -> None:
    assert ["profile"] == [*PROJECT.products]
    assert PROJECT.products.get("x") is None
    assert "x" not in PROJECT.products


def test_a_call_takes_a_project_its_file_or_an_app(tmp_path: Path) -> None:
    app = jn.App("shop", folder=tmp_path)
    users = app.table("user", key="id", fields={"id": "long"})
    app.add(jn.document("profile", users))
    file = tmp_path / "joinery.yaml"
    file.write_text(app.to_yaml(), encoding="utf-8")

    found = [project_of(each).spec for each in (app, app.project, file, str(file), tmp_path)]

    assert [app.spec] * 5 == found
    assert ["profile"] == [each.product for each in jn.status(app).products]


@pytest.mark.parametrize("call", [loose.status, lambda given: loose.run(None, given)])
def test_what_is_no_project_is_refused_in_one_line(call: Callable[[object], object]) -> None:
    with pytest.raises(SpecError, match="an object of type int is not a project") as refused:
        call(5)

    assert "its path, or an app" in refused.value.hint


@pytest.mark.parametrize("name", ["profle", "q"])
def test_the_status_of_what_is_not_there_is_no_status(name: str) -> None:
    with pytest.raises(KeyError, match=f'no product or stream "{name}"'):
        jn.status(PROJECT, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: loose.wait(PROJECT, "profile", timeout=5), '"5" is not a duration'),
        (lambda: jn.diff(PROJECT, "profile"), 'product "profile" has no sink'),
        (lambda: jn.diff(PROJECT), 'product "profile" has no sink'),
        (lambda: jn.diff(PROJECT, rate="fast"), '"fast" is not a rate'),
        (lambda: jn.diff(PROJECT, rate=0), '"0" is not a rate'),
        (lambda: jn.diff(PROJECT, rate="100"), 'product "profile" has no sink'),
        (lambda: jn.wait(PROJECT, "profile"), "there is no position to wait for"),
        (lambda: jn.why(PROJECT, "profile", 1), 'relation "user", which has no source'),
        (lambda: loose.why(PROJECT, 5, 1), 'there is no product "5"'),
        (lambda: loose.where_to(PROJECT, "user", 1), 'there is no product "1"'),
        (lambda: loose.wait(PROJECT, "profile", 5), 'position "5" is not in a topic'),
        (lambda: loose.status(PROJECT, ["profile"]), "the project has no product or stream"),
        (lambda: jn.load("none.yaml", settings="run.trigger=1s"), "there is no file"),
        (lambda: loose.run(None, PROJECT, products="profile"), "None is not a Spark session"),
    ],
)
def test_what_cannot_be_answered_is_told_in_one_line(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(JoineryError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: loose.Project(products=loose.document("a", USER)), None),
        (
            lambda: loose.Project(products={"a": loose.document("a", USER)}),
            "object of type dict",
        ),
        (lambda: loose.Project(products=["a"]), "object of type str"),
        (lambda: loose.Project(relations={"a": USER}), "what jn.relation makes"),
    ],
)
def test_products_and_relations_are_lists_of_what_calls_make(
    call: Callable[[], jn.Project], message: str | None
) -> None:
    if message is None:
        assert ["a"] == [*call().products]
        return
    with pytest.raises(SpecError, match=message):
        call()


def test_a_table_of_an_app_is_a_relation_of_a_project() -> None:
    users = jn.App("shop").table("user", key="id", fields={"id": "long"})

    project = jn.Project(relations=[users], products=[jn.document("a", "user")])

    assert ["user"] == [each.name for each in project.products["a"].plan.relations]


STAR = jn.relation(
    "star", key=["user", "at"], fields={"user": "string", "at": "timestamp", "n": "long"}
)


def asked(relation: object, key: object) -> str:
    """Return the text that names a key of a relation."""
    project = loose.Project(products=[loose.document("a", relation)])
    plan = project.products["a"].plan
    return asked_key("a", {each.name: each.type for each in plan.key.fields}, key)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (7, "7"),
        ("7", "7"),
        ([7], "7"),
        ({"id": 7}, "7"),
    ],
)
def test_a_key_is_asked_for_by_its_value(key: object, text: str) -> None:
    assert text == asked(USER, key)


@pytest.mark.parametrize("key", [("ada", "x"), ["ada", "x"], {"at": "x", "user": "ada"}])
def test_a_key_of_several_columns_is_asked_for_by_its_values(key: object) -> None:
    assert "ada,x" == asked(STAR, key)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([None, "2026-03-01T10:00:00Z"], '[null,"2026-03-01T10:00:00Z"]'),
        ([None, "2026-03-01T12:00:00+02:00"], '[null,"2026-03-01T10:00:00Z"]'),
        (["ada", ["2026-03-01T10:00:00Z", 1]], '["ada", ["2026-03-01T10:00:00Z", 1]]'),
    ],
)
def test_a_key_with_a_null_or_a_list_is_asked_for_by_its_array(key: object, text: str) -> None:
    assert text == asked(STAR, key)


def test_a_key_is_asked_for_by_times_and_numbers_in_any_form_beside_a_null() -> None:
    columns: dict[str, DataType] = {"city": STRING, "price": Decimal(5, 2), "at": TIMESTAMP}
    key = [None, 1.5, datetime(2026, 3, 1, 10, tzinfo=UTC)]

    assert '[null,1.50,"2026-03-01T10:00:00Z"]' == asked_key("prices", columns, key)


def test_a_key_with_too_few_values_is_refused_with_its_columns() -> None:
    with pytest.raises(WhyError) as refused:
        asked(STAR, ["ada"])

    assert "Its key is user, at." == refused.value.hint


def test_windows_and_a_vault_are_said_in_python_as_in_a_file(tmp_path: Path) -> None:
    user = jn.relation(
        "user",
        key="id",
        fields={"id": "long", "email": "string"},
        personal={"subject": "id", "fields": ["email"]},
    )
    view = jn.relation("view", fields={"at": "timestamp"}, append=True, time="at")
    project = jn.Project(
        "people",
        products=[
            jn.document("profile", user),
            jn.aggregate("hours", view, window="hour", values={"n": "count(*)"}),
        ],
        sources={"changes": {"files": {"path": Path("data")}}},
        windows={"hour": {"tumbling": "1h"}},
        vault={"sqlite": {"path": Path("vault.db")}, "master": "m" * 32},
    )

    file = tmp_path / "joinery.yaml"
    file.write_text(project.to_yaml(), encoding="utf-8")

    assert project.spec == jn.load(file).spec
    assert project.plan == jn.load(file).plan


def test_what_environment_variables_hold_is_not_written_to_a_project_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", "s3cret")
    monkeypatch.setenv("ROWS", "5")
    file = tmp_path / "joinery.yaml"
    file.write_text("""
sources:
  log: {kafka: {bootstrap: "h:1", properties: {sasl.jaas.config: "password=${PASSWORD};"}}}
defaults: {source: log, format: json}
relations: {user: {key: [id], fields: {id: long}}}
products:
  profile:
    root: user
    solution: {rdbms-store: {database: "postgresql://u:${PASSWORD}@h/d"}}
    sink: [{redis: {url: "redis://:${PASSWORD:-none}@h"}}, {files: {path: "a$${b}"}}]
run:
  max_rows_per_batch: ${ROWS}
  spark: {spark.x: "${PASSWORD}"}
""")

    project = jn.load(file)
    text = pickle.loads(pickle.dumps(project.spec)) and project.to_yaml()
    again = tmp_path / "again.yaml"
    again.write_text(text)

    assert "s3cret" not in text
    assert 3 == text.count("${PASSWORD}")
    assert ("${PASSWORD:-none}" in text, "path: a$${b}" in text) == (True, True)
    assert project.spec == jn.load(again).spec


def deliver(documents: object) -> None:
    """Take documents."""


def test_a_function_of_a_module_is_named_as_a_file_names_it() -> None:
    product = jn.document("profile", USER, sink={"foreach": {"function": deliver}})

    text = jn.Project("people", products=[product]).to_yaml()

    assert f"function: {__name__}:deliver" in text


def test_a_function_that_no_process_can_import_is_refused() -> None:
    with pytest.raises(SpecError, match=r'function ".*lambda.*" cannot be imported by another'):
        jn.document("profile", USER, sink={"foreach": {"function": lambda documents: None}})
