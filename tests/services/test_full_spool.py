"""A capture that ends while the disk of its spool is full."""

from __future__ import annotations

import shutil

import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.mysql_captured import kill_process
from tests.services.postgres_captured import capturing, database

from joinery.capture.spool import SpoolFolder
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server, link, spool = (
    postgres_captured.server,
    postgres_captured.link,
    postgres_captured.spool,
)


def test_a_capture_that_ends_beside_a_full_disk_names_the_spool_and_is_not_begun_again(
    server: Service, link: Connection, spool: SpoolFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(spool.path)
    with capturing(database(server), spool) as capture:
        capture.reach_end()
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=0))
        kill_process()
        until(lambda: capture.error, limit_s=60)

    assert capture.error is not None
    assert (capture.error.code, capture.error.message) == (
        "RUN_DISK",
        f"the disk of {spool.path} is full",
    )
    assert "its process was killed" in capture.error.detail
