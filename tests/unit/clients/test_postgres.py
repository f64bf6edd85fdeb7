"""No message about a database holds its password, however its URL is written."""

from __future__ import annotations

import psycopg
import pytest

from joinery.clients.postgres import failure, passes, reason, redacted, shown
from joinery.errors import SinkUnavailableError

URLS = [
    "postgresql://ada:s3cret%2Fword@db:5433/shop",
    "postgresql://db:5433/shop?user=ada&password=s3cret%2Fword",
    "host=db port=5433 dbname=shop user=ada password=s3cret/word",
]


@pytest.mark.parametrize(
    ("sqlstate", "waited"), [("25P03", True), ("57P01", True), ("40001", True), ("42P01", False)]
)
def test_a_session_that_the_server_ended_is_opened_again(sqlstate: str, waited: bool) -> None:
    assert waited == passes(psycopg.errors.lookup(sqlstate)())


def test_a_table_that_is_locked_is_waited_for_and_who_has_to_act_is_told() -> None:
    told = failure(psycopg.errors.LockNotAvailable("lock timeout"), URLS[0], "could not write")

    assert isinstance(told, SinkUnavailableError)
    assert "Another session has locked the table: end its transaction; see pg_locks." == told.hint


@pytest.mark.parametrize("url", URLS)
def test_a_password_is_masked_as_it_is_written_and_as_it_is_meant(url: str) -> None:
    told = 'could not use "s3cret/word"'

    assert 'could not use "…"' == redacted(told, url)
    assert 'could not use "…".' == reason(Exception(told), url)
    assert "s3cret" not in redacted(f"could not read {url}", url)


@pytest.mark.parametrize("url", URLS)
def test_a_database_is_shown_without_its_user_and_password(url: str) -> None:
    assert "db:5433/shop" == shown(url)


@pytest.mark.parametrize("url", ["host=db password='s3cret", "postgresql://ada:s3cret@db:port/x"])
def test_nothing_of_a_url_that_cannot_be_read_is_shown(url: str) -> None:
    assert "s3cret" not in shown(url)
    assert "s3cret" not in redacted(f"missing quote in {url}", url)
