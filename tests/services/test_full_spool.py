"""A capture whose spool is on a disk that becomes full."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from tests.services import postgres_captured
from tests.services.captured import Connection, until
from tests.services.postgres_captured import TABLE, capturing, database, lines
from tests.small_disk import small_disk

from joinery.capture.spool import SpoolFolder
from joinery.dev.service import Service

pytestmark = pytest.mark.services
server, link = postgres_captured.server, postgres_captured.link


def fill(folder: Path, content: bytes) -> None:
    """Write files until there is no room for another."""
    folder.mkdir()
    for number in count():
        try:
            (folder / str(number)).write_bytes(content)
        except OSError:
            return


@pytest.mark.parametrize(
    ("inodes", "content", "told"),
    [(0, bytes(64 << 10), "is full"), (80, b"", "has no room left")],
    ids=["bytes", "inodes"],
)
def test_a_capture_whose_spool_has_no_room_ends_and_goes_on_once_there_is(
    server: Service, link: Connection, tmp_path: Path, inodes: int, content: bytes, told: str
) -> None:
    with small_disk(tmp_path / "disk", inodes=inodes) as disk:
        spool = SpoolFolder.claim(disk / "spool", slot="joinery_t", tables=(TABLE,))
        with capturing(database(server), spool) as capture:
            link.execute("insert into customer values (1, 'Ada')")
            capture.reach_end()
            fill(disk / "ballast", content)
            link.execute("insert into customer values (2, 'Bob')")
            until(lambda: capture.error)
        error = capture.error
        for each in (disk / "ballast").iterdir():
            each.unlink()
        with capturing(database(server), spool) as capture:
            capture.reach_end()
        found = [each["after"]["id"] for each in lines(spool.path / "files" / TABLE)]

    assert error is not None
    assert (error.code, error.message) == ("RUN_DISK", f"the disk of {spool.path} {told}")
    assert "No space left on device" in error.detail
    assert found == [1, 2]
