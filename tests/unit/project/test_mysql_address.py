"""What the URL of a database of MySQL may say."""

from __future__ import annotations

import pytest

from joinery.project.mysql_address import AddressError, MysqlAddress


def test_an_address_tells_no_password() -> None:
    address = MysqlAddress.of("mysql://ada:en%40gine@db:3307/shop?ssl-mode=REQUIRED")

    assert ("en@gine", "required") == (address.password, address.ssl_mode)
    assert "en@gine" not in f"{address} {address.shown}"


@pytest.mark.parametrize("option", ["ssl-mode=verify", "charset=latin1"])
def test_an_option_that_is_not_there_is_refused(option: str) -> None:
    with pytest.raises(AddressError, match=f'MySQL cannot have "{option.removesuffix("=latin1")}"'):
        MysqlAddress.of(f"mysql://db/shop?{option}")


@pytest.mark.parametrize("options", ["ssl-ca=", "ssl-mode=", "ssl-mode=verify_ca&ssl-ca="])
def test_an_option_without_a_value_does_not_pass_for_one_that_is_not_there(options: str) -> None:
    name = options.removesuffix("=").rpartition("&")[2]

    with pytest.raises(AddressError, match=f'has an empty "{name}"'):
        MysqlAddress.of(f"mysql://db/shop?{options}")


def test_a_file_of_certificates_has_the_server_verified() -> None:
    address = MysqlAddress.of("mysql://db/shop?ssl-ca=/etc/ca.pem")

    assert ("verify_ca", "/etc/ca.pem") == (address.ssl_mode, address.ssl_ca)


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_a_server_is_not_verified_by_no_certificates(mode: str) -> None:
    with pytest.raises(AddressError, match=f"has ssl-mode={mode} and no ssl-ca"):
        MysqlAddress.of(f"mysql://db/shop?ssl-mode={mode}")


@pytest.mark.parametrize("mode", ["disabled", "preferred", "required"])
def test_certificates_that_would_not_be_used_are_refused(mode: str) -> None:
    with pytest.raises(AddressError, match=f"ssl-mode={mode} does not use it"):
        MysqlAddress.of(f"mysql://db/shop?ssl-mode={mode}&ssl-ca=/etc/ca.pem")


def test_a_host_that_is_a_number_has_no_identity_to_verify() -> None:
    with pytest.raises(AddressError, match="verify_identity and no host name"):
        MysqlAddress.of("mysql://10.0.0.7/shop?ssl-mode=verify_identity&ssl-ca=/etc/ca.pem")


def test_a_certificate_to_present_asks_for_tls() -> None:
    address = MysqlAddress.of("mysql://db/shop?ssl-cert=/etc/own.pem&ssl-key=/etc/own.key")

    found = (address.ssl_mode, address.ssl_cert, address.ssl_key)
    assert ("required", "/etc/own.pem", "/etc/own.key") == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("ssl-cert=own.pem", "has no ssl-key"),
        ("ssl-key=own.key", "has no ssl-cert"),
        ("ssl-mode=preferred&ssl-cert=own.pem&ssl-key=own.key", "asks for no TLS"),
    ],
)
def test_a_certificate_that_would_not_be_presented_is_refused(options: str, message: str) -> None:
    with pytest.raises(AddressError, match=message):
        MysqlAddress.of(f"mysql://db/shop?{options}")
