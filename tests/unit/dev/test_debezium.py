"""The settings of a captured database."""

from __future__ import annotations

from joinery.dev.debezium import capture

URL = "postgresql://ann:s%40fe@db.example:5433/shop"


def test_a_database_is_named_by_the_parts_of_its_url() -> None:
    settings = capture("shop", database=URL, tables=["public.orders"])

    assert {key: settings[key] for key in settings if key.startswith("database.")} == {
        "database.hostname": "db.example",
        "database.port": "5433",
        "database.user": "ann",
        "database.password": "s@fe",
        "database.dbname": "shop",
    }


def test_a_null_stays_a_null() -> None:
    settings = capture("shop", database=URL, tables=["public.orders"])

    assert settings["key.converter.replace.null.with.default"] == "false"
    assert settings["value.converter.replace.null.with.default"] == "false"


def test_settings_of_the_caller_win() -> None:
    settings = capture("shop", database=URL, tables=["a.b"], settings={"snapshot.mode": "never"})

    assert settings["snapshot.mode"] == "never"
