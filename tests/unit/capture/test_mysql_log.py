"""Places in a binary log, and certificates by which its server is verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.capture.mysql_log import LogFiles
from joinery.clients.mysql import MysqlError, MysqlLink
from joinery.project.mysql_address import MysqlAddress

FILE = 1 << 33
LOG = LogFiles((("binlog.000009", 500), ("binlog.000010", 700)), 10 * FILE + 700)


def test_a_log_is_there_from_a_place_on_unless_its_file_was_purged() -> None:
    assert [False, True, True] == [LOG.has(each * FILE + 100) for each in (8, 9, 10)]


def test_what_comes_after_a_place_is_counted_across_files() -> None:
    assert [1_100, 700, 200, 0] == [
        LOG.after(9 * FILE + 100),
        LOG.after(9 * FILE + 500),
        LOG.after(10 * FILE + 500),
        LOG.after(10 * FILE + 700),
    ]
    assert 1_200 == LOG.bytes


def test_a_place_in_a_later_file_is_larger() -> None:
    assert 9 * FILE + (1 << 32) < 10 * FILE


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_that_has_no_certificates_is_named(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)

    with pytest.raises(MysqlError, match=f"could not read certificates from {file}"):
        MysqlLink(MysqlAddress.of(f"mysql://db/shop?ssl-ca={file}"))
