"""What a project file says of a database as a source, and what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.captured import CapturedProject

from joinery.plan.build import build_plan
from joinery.project.captured import spool_of, tables_of
from joinery.project.postgres import WalLimit, postgres_options, slot_of

URL = "url: postgresql://ada:engine@db/shop"
SHOP = CapturedProject("postgres", URL, "shop.purchase")


def test_a_url_is_all_that_it_needs(tmp_path: Path) -> None:
    spec = SHOP.load(tmp_path)
    (source,) = spec.sources

    assert slot_of(spec, source) == "joinery_my_shop_db"
    assert tables_of(spec, source) == ("public.customer", "shop.purchase")
    assert spool_of(spec, source) == tmp_path / ".joinery" / "spool" / "db"


def test_a_spool_is_kept_for_a_day_and_the_log_without_a_bound(tmp_path: Path) -> None:
    (plain,) = SHOP.load(tmp_path).sources
    more = f"{URL}, spool: {{keep: 2h}}, max_wal: {{size: 1 GiB, then: drop}}"
    (bounded,) = SHOP.load(tmp_path, more).sources
    (warned,) = SHOP.load(tmp_path, f"{URL}, max_wal: 1 MiB").sources

    assert postgres_options(plain).spool.keep_ms == 86_400_000
    assert postgres_options(plain).max_wal is None
    assert postgres_options(bounded).spool.keep_ms == 7_200_000
    assert postgres_options(bounded).max_wal == WalLimit(bytes=1 << 30, then="drop")
    assert postgres_options(warned).max_wal == WalLimit(bytes=1 << 20)


def test_relations_read_tables_as_events_of_debezium(tmp_path: Path) -> None:
    profile, bought = build_plan(SHOP.load(tmp_path)).products
    customer, purchase = profile.root.relation, bought.root.relation

    assert (customer.topic, customer.format) == ("public.customer", "debezium-json")
    assert (purchase.topic, purchase.format) == ("shop.purchase", "debezium-json")


def test_a_table_that_the_source_does_not_name_is_refused(tmp_path: Path) -> None:
    told = SHOP.problems(tmp_path, f"{URL}, tables: [customer]")

    assert told == [
        'PLAN_TOPIC source "db" does not name table shop.purchase among its tables',
    ]


def test_another_format_is_refused(tmp_path: Path) -> None:
    told = SHOP.problems(tmp_path, more="format: json, ")

    assert told == ['PLAN_TOPIC a database gives debezium-json, not "json"']


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("tables: [customer]", 'SPEC_MISSING_KEY "postgres" of source "db" needs "url"'),
        (
            "url: mysql://db/shop",
            'SPEC_VALUE "url" of "postgres" of source "db" does not name a PostgreSQL database',
        ),
        (
            f"{URL}, tables: ['shop.*']",
            'SPEC_VALUE "tables" of "postgres" of source "db" cannot have "shop.*":'
            " each is one table",
        ),
        (
            f"{URL}, slot: Shop",
            'SPEC_VALUE "slot" of "postgres" of source "db" cannot be "Shop"',
        ),
        (
            f"{URL}, max_wal: 10 GB",
            'SPEC_SHAPE "max_wal" of "postgres" of source "db" needs a size from 1, not "10 GB"',
        ),
        (
            f"{URL}, max_wal: {{then: stop}}",
            'SPEC_MISSING_KEY "max_wal" of "postgres" of source "db" needs "size"',
        ),
        (
            f"{URL}, max_wal: {{size: 1 GiB, then: wait}}",
            'SPEC_VALUE "then" of "max_wal" of "postgres" of source "db" cannot be "wait"',
        ),
        (
            f"{URL}, spool: {{keep: long}}",
            'SPEC_SHAPE "keep" of "spool" of "postgres" of source "db" needs a duration,'
            ' not "long"',
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: str, told: str) -> None:
    assert SHOP.problems(tmp_path, options) == [told]
