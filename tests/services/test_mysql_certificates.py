"""A server of MySQL or MariaDB that asks for TLS, under an authority of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509
from tests.services.authority import Authority, Signed
from tests.services.mysql_captured import capturing, claimed, connected, database_of, rows_of
from tests.services.mysql_server import started_server

from joinery.capture.spool import CaptureError
from joinery.clients.mysql import MysqlError
from joinery.dev.port import HOST

pytestmark = pytest.mark.services
_HOST = "localhost"
_GUARDED = "'guarded'@'%'"  # a user who is let in with a certificate alone
_OTHER_NAME = "127.1"  # resolves to the same server, and is in no certificate


@dataclass(frozen=True, slots=True)
class Secured:
    """A server with a table of one row.

    Attributes:
        known: The file of its authority.
        other: That of another.
        authority: Which signs what clients present, too.
    """

    address: str
    known: Path
    other: Path
    authority: Authority

    def url(self, options: str) -> str:
        return f"{self.address}?{options}"

    @property
    def guarded(self) -> Secured:
        """The same, as the user who is let in with a certificate alone."""
        _, _, server = self.address.partition("@")
        return replace(self, address=f"mysql://guarded:engine@{server}")


@pytest.fixture(scope="module", params=["mariadb", "mysql-8.4"])
def secured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    """A server that asks for TLS; its certificate is for `localhost`."""
    folder = tmp_path_factory.mktemp("certificates")
    known, other = (Authority.made(folder / f"{each}.pem") for each in ("known", "other"))
    signed = known.sign(folder, "server", x509.DNSName(_HOST))
    settings = {
        "ssl-ca": str(known.file),
        "ssl-cert": str(signed.certificate),
        "ssl-key": str(signed.key),
    }
    settings |= {"ssl": "1"} if request.param == "mariadb" else {}
    settings |= {"require-secure-transport": "ON"}
    server = tmp_path_factory.mktemp(request.param)
    with started_server(request.param, server, settings) as service:
        found = Secured(service.address.replace(HOST, _HOST), known.file, other.file, known)
        with closing(connected(found.url("ssl-mode=required"))) as link:
            link.rows(f"create user {_GUARDED} identified by 'engine' require x509")
            link.rows(f"grant all on *.* to {_GUARDED}")
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


def test_a_user_who_has_to_present_a_certificate_is_let_in_with_it(
    secured: Secured, tmp_path: Path
) -> None:
    guarded = secured.guarded
    signed = secured.authority.sign(tmp_path, "client")

    with pytest.raises(MysqlError, match="could not query"):
        connected(guarded.url("ssl-mode=required"))
    with closing(connected(guarded.url(_presenting(signed)))) as link:
        assert [(1,)] == link.rows("select 1")


@pytest.mark.parametrize("mode", ["required", "verify_identity"])
def test_the_log_is_read_with_a_certificate(secured: Secured, mode: str, tmp_path: Path) -> None:
    trust = "" if mode == "required" else f"&ssl-ca={secured.known}"
    presented = _presenting(secured.authority.sign(tmp_path, "client"))
    guarded = secured.guarded
    url = guarded.url(f"{presented}&ssl-mode={mode}{trust}")
    database = database_of(url, "customer")
    spool = claimed(tmp_path, database)

    with capturing(database, spool) as capture:
        capture.reach_end()
        with closing(connected(url)) as link:
            link.rows("replace into customer values (1, 'Ada'), (3, %s)", mode)
        capture.reach_end()

    names = {row["name"] for row in rows_of(spool, "customer").values()}
    assert {"Ada", mode} <= names
    assert {0o600} == {each.stat().st_mode & 0o777 for each in spool.path.glob("own.p12")}


def _presenting(signed: Signed) -> str:
    return f"ssl-cert={signed.certificate}&ssl-key={signed.key}"
