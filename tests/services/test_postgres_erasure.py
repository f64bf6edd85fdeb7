"""A person erased whose rows come from a database's own log: the spool is sealed, too."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.services.captured import new_database, until
from tests.services.erasure_project import PROJECT
from tests.spark.erasure import CANARY, change, email, erased, holding, person, shown
from tests.spark.erasure import PROJECT as SHOP

import joinery as jn
from joinery.dev.service import Service
from joinery.spark.batch.captures import make_capture, seal_of
from joinery.vault.keys import VaultError
from joinery.vault.tables import open_vault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
TABLES = (
    "create table person (id bigint primary key, email text, height int)",
    "create table town (id bigint primary key, name text)",
    f"insert into person select n, '{CANARY}-' || n || '@example.org', 170 from"
    " generate_series(0, 9) as n",
    "insert into town select n, 'legible' from generate_series(0, 9) as n",
)


def told(folder: Path, text: str = "") -> int:
    """Return how many documents there are with a text."""
    try:
        return sum(text in each for each in shown(folder).values())
    except sqlite3.OperationalError:  # no table yet, or it is written to
        return 0


def run(spark: SparkSession, project: Any) -> None:
    jn.run(spark, project, once=True).await_termination()


def test_a_canary_is_in_no_file_of_the_spool_and_gone_once_erased(
    postgres: Service, spark: SparkSession, tmp_path: Path
) -> None:
    with new_database(postgres, "erasure", *TABLES) as url:
        (tmp_path / "joinery.yaml").write_text(PROJECT.format(kind="postgres", url=url))
        project = jn.load(tmp_path / "joinery.yaml")
        running = jn.run(spark, project)
        until(lambda: 10 == told(tmp_path))
        running.stop()
        with closing(psycopg.connect(url, autocommit=True)) as link:
            link.execute("update person set height = 180 where id = 3")
        run(spark, project)

        before = shown(tmp_path)
        assert {"email": email(3), "height": 180}.items() <= json.loads(before[3]).items()
        assert all(each.startswith("clear.db") for each in holding(tmp_path, CANARY))
        spool = {each for each in holding(tmp_path, "legible") if "/spool/" in each}
        assert spool  # what is not personal stands there as it is

        erased(project, "person", 3)
        run(spark, project)

        after = shown(tmp_path)
        assert {"email": None, "height": None}.items() <= json.loads(after[3]).items()
        assert {**before, 3: ""} == {**after, 3: ""}
        shutil.rmtree(tmp_path / ".joinery" / "checkpoint")
        (tmp_path / "clear.db").unlink()
        run(spark, project)
        assert after == shown(tmp_path)
        _keys_of_lines_go_with_their_files(project)
        (tmp_path / "keys" / "vault.db").rename(tmp_path / "keys" / "away.db")
        with pytest.raises(VaultError, match="not the one"):
            run(spark, project)


def test_a_canary_is_in_no_file_of_a_spool_that_is_read_in_bulk(
    postgres: Service, spark: SparkSession, tmp_path: Path
) -> None:
    with new_database(postgres, "bulk_erasure", *TABLES) as url:
        (tmp_path / "joinery.yaml").write_text(PROJECT.format(kind="postgres", url=url))
        project = jn.load(tmp_path / "joinery.yaml")
        (source,) = project.spec.sources
        capture = make_capture(
            project.spec, source, lambda target, waiting: None, lambda warning: None, bulk=True
        )
        capture.start()
        capture.reach_end()
        capture.close()
        spool = holding(tmp_path, "legible")
        assert spool  # what is not personal stands there as it is
        assert not holding(tmp_path, CANARY)

        erased(project, "person", 3)
        run(spark, project)

        after = {key: json.loads(each) for key, each in shown(tmp_path).items()}
        assert {key: None if key == 3 else email(key) for key in range(10)} == {
            key: each["email"] for key, each in after.items()
        }
        assert all(each.startswith("clear.db") for each in holding(tmp_path, CANARY))


def _keys_of_lines_go_with_their_files(project: Any) -> None:
    (source,), today = project.spec.sources, datetime.now(UTC).date()
    seal = seal_of(project.spec, source)
    assert seal is not None

    def known(day: date) -> bool:
        vault = open_vault(project.spec)
        name = seal(today).name.replace(today.isoformat(), day.isoformat())
        found = vault.key_of_known_lines(name) is not None
        vault.close()
        return found

    seal(today - timedelta(days=30))
    assert not known(today - timedelta(days=30))
    assert known(today)


def test_subjects_are_erased_at_once_while_a_run_goes_on(
    postgres: Service, spark: SparkSession, tmp_path: Path
) -> None:
    with new_database(postgres, "vault") as url:
        keys = f'{{postgres: {{url: "{url}", schema: keys}}'
        assert "{sqlite: {path: keys/vault.db}" in SHOP
        text = SHOP.replace("{sqlite: {path: keys/vault.db}", keys)
        (tmp_path / "joinery.yaml").write_text(text)
        project = jn.load(tmp_path / "joinery.yaml")
        change(tmp_path, "person", "1", *map(person, range(10)))
        change(tmp_path, "letter", "1", {"id": 1, "email": email(1), "topic": "cats"})
        running = jn.run(spark, project)
        until(lambda: 10 == told(tmp_path))

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda each: erased(project, "person", each), [1, 2, 1]))
        change(tmp_path, "person", "2", *({**person(each), "name": "anew"} for each in range(10)))
        until(lambda: 10 == told(tmp_path, "anew"))
        running.stop()

        after = {key: json.loads(each) for key, each in shown(tmp_path).items()}
        assert {1, 2} == {key for key, each in after.items() if each["email"] is None}
        assert all(each["letters"] == [] for each in after.values())
        receipts = [*(tmp_path / ".joinery/checkpoint/_receipts").glob("*.json")]
        assert 3 == len(receipts)
        assert all(each.startswith("clear.db") for each in holding(tmp_path, CANARY))
