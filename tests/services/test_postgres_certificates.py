"""A server of PostgreSQL that lets nobody in without a certificate of an authority of its own."""

from __future__ import annotations

import json
import os
import pwd
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import PrivateFormat
from tests.services.authority import Authority, Signed
from tests.services.postgres_captured import capturing

from joinery.capture.postgres import PostgresDatabase
from joinery.capture.spool import CaptureError, SpoolFolder
from joinery.dev.port import HOST
from joinery.dev.postgres import USER, postgres

pytestmark = pytest.mark.services
_HOME = Path("/usr/lib/postgresql")
_TABLE = "public.customer"
_RULES = "hostssl all all 127.0.0.1/32 cert\nhostssl replication all 127.0.0.1/32 cert\n"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    # Not in a folder of the test's own, which another user may not enter.
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority.made(folder / "authority.pem")


@pytest.fixture(scope="module")
def address(folder: Path, authority: Authority) -> Iterator[str]:
    """The URL of the server, which has a table of one row."""
    homes = sorted(_HOME.glob("*/bin/postgres"))
    if not homes:
        pytest.skip("no PostgreSQL that was built with OpenSSL is installed")
    server = authority.sign(folder, "server", x509.DNSName("localhost"))
    if os.geteuid() == 0:
        os.chown(server.key, pwd.getpwnam("postgres").pw_uid, -1)
    (folder / "rules").write_text(_RULES)
    settings = {
        "ssl": "on",
        "ssl_ca_file": str(authority.file),
        "ssl_cert_file": str(server.certificate),
        "ssl_key_file": str(server.key),
        "hba_file": str(folder / "rules"),
    }
    made = postgres(folder / "server", settings=settings, home=homes[-1].parent)
    with made.started() as service:
        url = f"{service.address.replace(HOST, 'localhost')}?sslrootcert={authority.file}"
        url += "&sslmode=verify-full"
        client = authority.sign(folder, USER)
        with closing(psycopg.connect(_as(url, client), autocommit=True)) as db:
            db.execute("create table customer (id bigint primary key, name text)")
            db.execute("insert into customer values (1, 'Ada')")
        yield url


def _as(url: str, client: Signed) -> str:
    return f"{url}&sslcert={client.certificate}&sslkey={client.key}"


def test_nobody_is_let_in_without_a_certificate(address: str, tmp_path: Path) -> None:
    database = PostgresDatabase(address, "joinery_t", (_TABLE,))

    with pytest.raises(CaptureError, match="requires a valid client certificate"):
        database.connect()


def test_a_key_that_the_log_cannot_be_read_with_is_refused(
    address: str, authority: Authority, tmp_path: Path
) -> None:
    signed = authority.sign(tmp_path, USER, form=PrivateFormat.TraditionalOpenSSL)
    database = PostgresDatabase(_as(address, signed), "joinery_t", (_TABLE,))
    spool = SpoolFolder.claim(tmp_path / "spool", slot="joinery_t", tables=(_TABLE,))

    with pytest.raises(CaptureError) as refused:
        database.prepare(spool)

    assert f"cannot be read with the key {signed.key}" in refused.value.message
    assert "openssl pkcs8 -topk8" in refused.value.hint


def test_the_log_is_read_with_a_certificate(
    address: str, authority: Authority, tmp_path: Path
) -> None:
    url, slot = _as(address, authority.sign(tmp_path, USER)), "presented"
    database = PostgresDatabase(url, slot, (_TABLE,))
    spool = SpoolFolder.claim(tmp_path / "spool", slot=slot, tables=(_TABLE,))

    with capturing(database, spool) as capture:
        capture.reach_end()
        with closing(psycopg.connect(url, autocommit=True)) as link:
            link.execute("insert into customer values (%s, %s)", (len(slot), slot))
        capture.reach_end()

    assert {"Ada", slot} <= {each["after"]["name"] for each in _spooled(spool)}


def _spooled(spool: SpoolFolder) -> list[Any]:
    files = sorted(spool.path.rglob("*.jsonl"))
    return [json.loads(line) for each in files for line in each.read_text().splitlines()]
