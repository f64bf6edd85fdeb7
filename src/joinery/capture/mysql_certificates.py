"""The certificates by which a connector verifies the server that it captures.

A URL names a file in PEM, as all clients of MySQL take it. What reads the log takes a store of
Java's, so one is made of the file at each start: a file that was renewed is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joinery.capture.mysql_log import Plugin
from joinery.capture.spool import CaptureError
from joinery.errors import needs_extra
from joinery.project.mysql_address import MysqlAddress

_STORE = "certificates.p12"
_PASSWORD = "joinery"


def certificate_settings(plugin: Plugin, address: MysqlAddress, folder: Path) -> Mapping[str, str]:
    """Return the connector's settings for the file of an address; none where it has none.

    Args:
        plugin: Which connector reads the log.
        address: Where the database is.
        folder: Where the store is made.

    Raises:
        CaptureError: The file has no certificates that can be read.
    """
    if not address.ssl_ca:
        return {}
    store = folder / _STORE
    store.write_bytes(_java_store(Path(address.ssl_ca)))
    settings = {
        "database.ssl.truststore": str(store),
        "database.ssl.truststore.password": _PASSWORD,
    }
    if plugin == "mariadb":  # whose driver takes the file itself, and only that
        settings |= {"driver.serverSslCert": address.ssl_ca}
    return settings


def _java_store(file: Path) -> bytes:
    with needs_extra("mysql", "MySQL needs the package cryptography", CaptureError):
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            pkcs12,
        )
        from cryptography.x509 import load_pem_x509_certificates
    try:
        found = load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError) as error:
        raise CaptureError(
            f"could not read certificates from {file}",
            detail=str(error).splitlines()[0],
            hint="Set ssl-ca in the URL of the database to a file of certificates in PEM.",
        ) from error
    # Java takes a name once: of two equal ones, the second hides the first.
    named = [
        pkcs12.PKCS12Certificate(each, f"authority-{number}".encode())
        for number, each in enumerate(found)
    ]
    return pkcs12.serialize_java_truststore(named, BestAvailableEncryption(_PASSWORD.encode()))
