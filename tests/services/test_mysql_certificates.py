"""A server of MySQL or MariaDB that asks for TLS, under an authority of its own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID
from tests.services.mysql_captured import capturing, claimed, connected, database_of, rows_of
from tests.services.mysql_server import started_server

from joinery.capture.spool import CaptureError
from joinery.clients.mysql import MysqlError
from joinery.dev.port import HOST

pytestmark = pytest.mark.services
_HOST = "localhost"
_OTHER_NAME = "127.1"  # resolves to the same server, and is in no certificate


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates; `file` has its own, in PEM."""

    file: Path
    key: rsa.RSAPrivateKey
    name: x509.Name

    @classmethod
    def made(cls, file: Path) -> Authority:
        key, name = _key(), _name(file.stem)
        signed = _signed(name, name, key.public_key(), key, authority=True)
        file.write_bytes(signed.public_bytes(Encoding.PEM))
        return cls(file, key, name)

    def server(self, folder: Path, *names: x509.GeneralName) -> dict[str, str]:
        """Return a server's settings with a certificate for these names."""
        key = _key()
        signed = _signed(_name("server"), self.name, key.public_key(), self.key, names=names)
        files = {"ssl-cert": folder / "server.pem", "ssl-key": folder / "server.key"}
        files["ssl-cert"].write_bytes(signed.public_bytes(Encoding.PEM))
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        files["ssl-key"].write_bytes(secret)
        return {"ssl-ca": str(self.file), **{name: str(file) for name, file in files.items()}}


def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _signed(
    name: x509.Name,
    issuer: x509.Name,
    key: rsa.RSAPublicKey,
    by: rsa.RSAPrivateKey,
    *,
    names: tuple[x509.GeneralName, ...] = (),
    authority: bool = False,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(by, hashes.SHA256())


@dataclass(frozen=True, slots=True)
class Secured:
    """A server with a table of one row; `known` is its authority's file, `other` another's."""

    address: str
    known: Path
    other: Path

    def url(self, options: str) -> str:
        return f"{self.address}?{options}"


@pytest.fixture(scope="module", params=["mariadb", "mysql-8.4"])
def secured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    """A server that asks for TLS; its certificate is for `localhost`."""
    folder = tmp_path_factory.mktemp("certificates")
    known, other = (Authority.made(folder / f"{each}.pem") for each in ("known", "other"))
    settings = known.server(folder, x509.DNSName(_HOST))
    settings |= {"ssl": "1"} if request.param == "mariadb" else {}
    settings |= {"require-secure-transport": "ON"}
    server = tmp_path_factory.mktemp(request.param)
    with started_server(request.param, server, settings) as service:
        found = Secured(service.address.replace(HOST, _HOST), known.file, other.file)
        with closing(connected(found.url("ssl-mode=required"))) as link:
            link.rows("create table customer (id bigint primary key, name text)")
            link.rows("insert into customer values (1, 'Ada')")
        yield found


def test_a_server_that_asks_for_tls_lets_nobody_in_without(secured: Secured) -> None:
    with pytest.raises(MysqlError):
        connected(secured.url("ssl-mode=disabled"))
    with closing(connected(secured.address)) as link:
        assert [(1,)] == link.rows("select id from customer")


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_a_server_whose_certificate_is_verified_is_captured(
    secured: Secured, mode: str, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.pem"  # as services give them: of several authorities
    bundle.write_bytes(secured.other.read_bytes() + secured.known.read_bytes())
    url = secured.url(f"ssl-mode={mode}&ssl-ca={bundle}")
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)

    with capturing(database, spool) as capture:
        capture.reach_end()
        with closing(connected(url)) as link:
            link.rows("replace into customer values (1, 'Ada'), (2, %s)", mode)
        capture.reach_end()

    assert {1: "Ada", 2: mode} == {k: row["name"] for k, row in rows_of(spool, "customer").items()}


def test_the_log_of_a_server_that_asks_for_tls_is_read_over_it_without_an_option(
    secured: Secured, tmp_path: Path
) -> None:
    database = database_of(secured.address, "customer")

    with capturing(database, claimed(tmp_path, database)) as capture:
        capture.reach_end()

    assert capture.error is None


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_a_server_of_another_authority_is_refused(
    secured: Secured, mode: str, tmp_path: Path
) -> None:
    database = database_of(secured.url(f"ssl-mode={mode}&ssl-ca={secured.other}"), "customer")

    with pytest.raises(CaptureError) as refused:
        database.prepare(claimed(tmp_path, database))

    said = f"the certificate of the database {database.shown} is not accepted"
    assert (said, True) == (refused.value.message, "ssl-ca" in refused.value.hint)


def test_a_certificate_for_another_host_is_refused_only_where_the_host_is_asked_for(
    secured: Secured,
) -> None:
    def url(mode: str) -> str:
        options = f"ssl-mode={mode}&ssl-ca={secured.known}"
        return secured.url(options).replace(_HOST, _OTHER_NAME)

    with closing(connected(url("verify_ca"))) as link:
        assert [(1,)] == link.rows("select 1")
    with pytest.raises(MysqlError, match="is not accepted"):
        connected(url("verify_identity"))
