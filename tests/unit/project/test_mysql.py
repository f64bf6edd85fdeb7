"""What a project file says of a database of MySQL as a source, and what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.captured import CapturedProject

from joinery.plan.build import build_plan
from joinery.project.captured import as_files, log_name, spool_of, tables_of
from joinery.project.mysql import mysql_options, server_id_of

URL = "url: mysql://ada:engine@db/shop"
SHOP = CapturedProject("mysql", URL, "sales.purchase")


def test_a_url_is_all_that_it_needs(tmp_path: Path) -> None:
    spec = SHOP.load(tmp_path)
    (source,) = spec.sources

    assert log_name(spec, source) == "joinery_my_shop_db"
    assert tables_of(spec, source) == ("shop.customer", "sales.purchase")
    assert spool_of(spec, source) == tmp_path / ".joinery" / "spool" / "db"
    assert as_files(spec, source).kind == "files"


def test_the_number_of_the_replica_is_that_of_its_names_unless_one_is_given(tmp_path: Path) -> None:
    spec = SHOP.load(tmp_path)
    given = SHOP.load(tmp_path, f"{URL}, server_id: 7, spool: {{keep: 2h}}")

    assert server_id_of(spec, spec.sources[0]) == server_id_of(spec, spec.sources[0])
    assert 1 << 31 <= server_id_of(spec, spec.sources[0]) < 1 << 32
    assert server_id_of(given, given.sources[0]) == 7
    assert mysql_options(given.sources[0]).spool.keep_ms == 7_200_000


def test_relations_read_tables_as_events_of_debezium(tmp_path: Path) -> None:
    profile, bought = build_plan(SHOP.load(tmp_path)).products
    customer, purchase = profile.root.relation, bought.root.relation

    assert (customer.topic, customer.format) == ("shop.customer", "debezium-json")
    assert (purchase.topic, purchase.format) == ("sales.purchase", "debezium-json")


@pytest.mark.parametrize(
    ("options", "more", "told"),
    [
        ("server_id: 7", "", 'SPEC_MISSING_KEY "mysql" of source "db" needs "url"'),
        (
            "url: mysql://db",
            "",
            'SPEC_VALUE "url" of "mysql" of source "db" does not name a MySQL database',
        ),
        (
            "url: postgresql://db/shop",
            "",
            'SPEC_VALUE "url" of "mysql" of source "db" does not name a MySQL database',
        ),
        (
            "url: 'mysql://db/shop?ssl=true'",
            "",
            'SPEC_VALUE the URL of a database of MySQL cannot have "ssl"',
        ),
        (
            "url: 'mysql://db/shop?ssl-mode=verify_ca'",
            "",
            "SPEC_VALUE the URL of a database of MySQL has ssl-mode=verify_ca and no ssl-ca",
        ),
        (
            f"{URL}, tables: ['shop.*']",
            "",
            'SPEC_VALUE "tables" of "mysql" of source "db" cannot have "shop.*": each is one table',
        ),
        (
            f"{URL}, slot: shop",
            "",
            'SPEC_UNKNOWN_KEY "mysql" of source "db" has no key "slot"',
        ),
        (
            f"{URL}, tables: [customer]",
            "",
            'PLAN_TOPIC source "db" does not name table sales.purchase among its tables',
        ),
        (URL, "format: json, ", 'PLAN_TOPIC a database gives debezium-json, not "json"'),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: str, more: str, told: str) -> None:
    assert SHOP.problems(tmp_path, options, more) == [told]
