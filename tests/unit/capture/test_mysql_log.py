"""Places in a binary log, and addresses of its server."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.capture.mysql_log import LogFiles
from joinery.clients.mysql import MysqlAddress, MysqlError, MysqlLink

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


@pytest.mark.parametrize("option", ["ssl-mode=verify", "charset=latin1"])
def test_an_option_that_is_not_there_is_refused(option: str) -> None:
    with pytest.raises(MysqlError, match=f'MySQL cannot have "{option.removesuffix("=latin1")}"'):
        MysqlAddress.of(f"mysql://db/shop?{option}")


@pytest.mark.parametrize("options", ["ssl-ca=", "ssl-mode=", "ssl-mode=verify_ca&ssl-ca="])
def test_an_option_without_a_value_does_not_pass_for_one_that_is_not_there(options: str) -> None:
    name = options.removesuffix("=").rpartition("&")[2]

    with pytest.raises(MysqlError, match=f'has an empty "{name}"'):
        MysqlAddress.of(f"mysql://db/shop?{options}")


def test_a_file_of_certificates_has_the_server_verified() -> None:
    address = MysqlAddress.of("mysql://db/shop?ssl-ca=/etc/ca.pem")

    assert ("verify_ca", "/etc/ca.pem") == (address.ssl_mode, address.ssl_ca)


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_a_server_is_not_verified_by_no_certificates(mode: str) -> None:
    with pytest.raises(MysqlError, match=f"has ssl-mode={mode} and no ssl-ca"):
        MysqlAddress.of(f"mysql://db/shop?ssl-mode={mode}")


@pytest.mark.parametrize("mode", ["disabled", "preferred", "required"])
def test_certificates_that_would_not_be_used_are_refused(mode: str) -> None:
    with pytest.raises(MysqlError, match=f"ssl-mode={mode} does not use it"):
        MysqlAddress.of(f"mysql://db/shop?ssl-mode={mode}&ssl-ca=/etc/ca.pem")


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_that_has_no_certificates_is_named(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)

    with pytest.raises(MysqlError, match=f"could not read certificates from {file}"):
        MysqlLink(MysqlAddress.of(f"mysql://db/shop?ssl-ca={file}"))


def test_a_host_that_is_a_number_has_no_identity_to_verify() -> None:
    with pytest.raises(MysqlError, match="verify_identity and no host name"):
        MysqlAddress.of("mysql://10.0.0.7/shop?ssl-mode=verify_identity&ssl-ca=/etc/ca.pem")
