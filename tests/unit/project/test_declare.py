"""The Python door: the same plans, byte for byte, as from YAML, and back to YAML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.errors import JoineryError, ProjectErrors

loose: Any = jn
"""For calls that are wrong on purpose, as somebody makes them who runs no type checker."""
PLANS = sorted((Path(__file__).parents[2] / "plans").glob("*.txt"))

USER = jn.relation(
    "user",
    key=["email"],
    fields={"id": "long", "email": "string", "username": "string", "registered_at": "timestamp"},
)
REPO = jn.relation(
    "repo",
    key=["owner", "name"],
    fields={
        "owner": "string",
        "name": "string",
        "description": "string",
        "star_count": "long",
        "fork_count": "long",
        "created_at": "timestamp",
        "updated_at": "timestamp",
    },
)
PULL_REQUEST = jn.relation(
    "pull_request",
    topic="github.public.pull_request",
    key=["repo", "repo_owner", "index"],
    fields={
        "title": "string",
        "repo": "string",
        "repo_owner": "string",
        "index": "long",
        "author": "string",
        "status": "string",
        "created_at": "timestamp",
    },
)
STAR = jn.relation(
    "star",
    key=["username", "repo_name", "repo_owner"],
    fields={
        "username": "string",
        "repo_name": "string",
        "repo_owner": "string",
        "created_at": "timestamp",
    },
)
PAYMENT = jn.relation(
    "payment_info", key=["id"], fields={"id": "long", "user_id": "long", "verified": "boolean"}
)


def user_profile(folder: Path) -> jn.Project:
    """Return the worked example, built in Python."""
    star = jn.many(
        STAR,
        on={"username": "username"},
        fields={"repo": "repo_name", "description": "r.description"},
    )
    profile = (
        jn.document(
            "user_profile",
            USER,
            fields=["email", "username"],
            values={"payment_verified": "payment.verified"},
            sink={"files": {"path": "out"}},
        )
        .embed_many(
            "starred_repos",
            star.embed_one(
                "r",
                REPO,
                on={"owner": "repo_owner", "name": "repo_name"},
                fields=["description"],
                hidden=True,
            ),
        )
        .embed_many(
            "pull_requests",
            PULL_REQUEST,
            on={"author": "username"},
            fields=["repo", "index", "title", "created_at", "status"],
            order=["created_at", "repo", "index"],
        )
        .embed_one("payment", PAYMENT, on={"user_id": "id"}, fields=["verified"], hidden=True)
    )
    return jn.Project(
        "github",
        sources={"changes": {"files": {"path": "data/changes"}}},
        defaults={"source": "changes", "format": "debezium-json"},
        relations=[USER, REPO, PULL_REQUEST, STAR, PAYMENT],
        products=[profile],
        folder=folder,
    )


def statement(folder: Path) -> jn.Project:
    """Return the golden plan of windows and aggregates, built in Python."""
    account = jn.relation(
        "account",
        key=["id"],
        fields={"id": "long", "owner": "string", "state": "string"},
        where="state <> 'closed'",
    )
    transfer = jn.relation(
        "transfer",
        key=["id"],
        fields={
            "id": "long",
            "account_id": "int",
            "amount": "decimal(12,2)",
            "at": "timestamp",
            "note": "string",
        },
        derive={"day": "to_date(at)", "large": "amount > 1000"},
    )
    on = {"account_id": "id"}
    made = jn.document(
        "statement",
        account,
        fields=["id", "owner"],
        where="volume > 0",
        embed={
            "latest": jn.many(
                transfer,
                on=on,
                fields=["id", "amount", "day"],
                where="amount <> 0",
                order=["-at"],
                limit=3,
            ),
            "large": jn.many(transfer, on=on, fields=["amount"], where="large", hidden=True),
            "by_id": jn.many(transfer, on=on, fields=["amount"], as_="map"),
        },
        values={
            "volume": "sum(latest.amount)",
            "big": "count(large) filter (where large.amount > 5000)",
            "more": "latest_total - size(latest)",
        },
        sink=[{"files": {"path": "out"}}, {"console": {}}],
        emit={"settle": "2s"},
        ready=["account"],
    )
    return jn.Project(products=[made], folder=folder)


def person(folder: Path) -> jn.Project:
    """Return the golden plan of two roles and a self-reference, built in Python."""
    employee = jn.relation(
        "employee", key=["id"], fields={"id": "long", "name": "string", "boss_id": "long"}
    )
    task = jn.relation(
        "task",
        key=["id"],
        fields={"id": "long", "author_id": "long", "owner_id": "long", "title": "string"},
    )
    owner = jn.one(employee, on={"id": "owner_id"}, fields=["name"], hidden=True)
    made = (
        jn.document("person", "employee", fields=["name"])
        .embed_one("boss", employee, on={"id": "boss_id"}, fields=["name"])
        .embed_many(
            "staff",
            employee,
            on={"boss_id": "id"},
            fields=["name"],
            values={"open": "size(tasks)"},
            order=["-open", "name"],
            embed={"tasks": jn.many(task, on={"owner_id": "id"}, fields=["id"], hidden=True)},
        )
        .embed_many(
            "written",
            task,
            on={"author_id": "id"},
            fields={"title": "title", "owner": "o.name"},
            where="o.name is not null",
            embed={"o": owner},
        )
    )
    return jn.Project(products=[made], folder=folder)


def from_golden(name: str, folder: Path) -> jn.Project:
    """Load the spec of a golden plan."""
    (case,) = (each for each in PLANS if each.stem == name)
    text = case.read_text(encoding="utf-8")
    file = folder / "joinery.yaml"
    file.write_text(text.partition("-- logical")[0].removeprefix("-- spec\n"), encoding="utf-8")
    return jn.load(file)


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("user_profile", user_profile),
        ("window_and_aggregates", statement),
        ("two_roles_and_self", person),
    ],
)
def test_yaml_and_python_give_byte_equal_plans(
    name: str, build: Callable[[Path], jn.Project], tmp_path: Path
) -> None:
    declared = from_golden(name, tmp_path)

    built = build(tmp_path)

    assert repr(declared.plan) == repr(built.plan)


@pytest.mark.parametrize("name", [case.stem for case in PLANS])
def test_a_project_written_as_yaml_gives_the_same_plan(name: str, tmp_path: Path) -> None:
    declared = from_golden(name, tmp_path)

    again = tmp_path / "again.yaml"
    again.write_text(declared.to_yaml(), encoding="utf-8")

    assert declared.spec == jn.load(again).spec
    assert repr(declared.plan) == repr(jn.load(again).plan)


def test_python_refuses_what_yaml_refuses_all_at_once() -> None:
    with pytest.raises(ProjectErrors) as caught:
        loose.relation("user", key=7, fields={"id": "lng"}, watermark={"dely": "1m"})

    assert {"SPEC_SHAPE", "SPEC_TYPE", "SPEC_UNKNOWN_KEY"} == {
        each.code for each in caught.value.problems
    }


def test_an_embed_needs_its_columns() -> None:
    with pytest.raises(ProjectErrors):
        jn.document("p", USER).embed_many("stars", STAR)


def test_two_embeds_of_one_name_are_refused() -> None:
    made = jn.document("p", USER).embed_many("stars", STAR, on=["username"])

    with pytest.raises(JoineryError):
        made.embed_one("stars", STAR, on=["username"])


def test_a_finished_embed_keeps_its_cardinality() -> None:
    with pytest.raises(JoineryError):
        jn.document("p", USER).embed_one("stars", jn.many(STAR, on=["username"]))


def test_two_relations_of_one_name_are_refused() -> None:
    other = jn.relation("user", key=["id"], fields={"id": "long"})

    with pytest.raises(ProjectErrors):
        jn.Project(relations=[USER, other], products=[])


def test_a_document_is_not_changed_by_what_is_added() -> None:
    before = jn.document("p", USER)

    before.embed_many("stars", STAR, on=["username"])

    assert () == before.spec.root.embed


def test_a_plan_that_cannot_hold_is_refused_when_it_is_asked_for() -> None:
    project = jn.Project(products=[jn.document("p", USER, fields=["emial"])])

    with pytest.raises(ProjectErrors) as caught:
        _ = project.plan

    assert ["PLAN_UNKNOWN_FIELD"] == [each.code for each in caught.value.problems]


def test_a_mistake_in_a_part_of_an_embed_names_the_embed() -> None:
    star = jn.relation("star", key="id", fields={"id": "long", "user_id": "long"})
    user = jn.relation("user", key="id", fields={"id": "long"})

    with pytest.raises(ProjectErrors) as alone:
        jn.many(star, on={"user_id": "id"}, limit=0)
    with pytest.raises(ProjectErrors) as named:
        jn.document("profile", user).embed_many("stars", star, on={"user_id": "id"}, limit=0)

    assert '"limit" of embed "star"' in alone.value.problems[0].message
    assert '"limit" of embed "stars"' in named.value.problems[0].message


def test_the_name_of_a_finished_embed_is_checked_where_it_is_given() -> None:
    with pytest.raises(ProjectErrors, match='an embed cannot be named "a/b"'):
        jn.document("p", USER).embed_many("a/b", jn.many(STAR, on=["username"]))


def test_a_key_of_one_column_may_be_given_alone() -> None:
    fields = {"id": "long"}

    assert jn.relation("user", key=["id"], fields=fields) == jn.relation(
        "user", key="id", fields=fields
    )
