"""Places in a binary log, and addresses of its server."""

from __future__ import annotations

import pytest

from joinery.capture.mysql_log import LogFiles
from joinery.clients.mysql import MysqlAddress, MysqlError

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


def test_an_address_tells_no_password() -> None:
    address = MysqlAddress.of("mysql://ada:en%40gine@db:3307/shop?ssl-mode=REQUIRED")

    assert ("en@gine", "required") == (address.password, address.ssl_mode)
    assert "en@gine" not in f"{address} {address.shown}"


@pytest.mark.parametrize("option", ["ssl-mode=verify_ca", "charset=latin1"])
def test_an_option_that_is_not_there_is_refused(option: str) -> None:
    with pytest.raises(MysqlError, match=f'MySQL cannot have "{option.removesuffix("=latin1")}"'):
        MysqlAddress.of(f"mysql://db/shop?{option}")
