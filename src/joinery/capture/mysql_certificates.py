"""The certificates by which a connector verifies the server that it captures, and its own.

A URL names files in PEM, as all clients of MySQL take them. What reads the log takes stores of
Java's, so these are made of the files at each start: a file that was renewed is followed.

Invariant: the store with a key can be read by its owner alone, as the key's own file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joinery.capture.mysql_log import Plugin
from joinery.capture.spool import CaptureError
from joinery.errors import needs_extra
from joinery.project.mysql_address import MysqlAddress

_STORE = "certificates.p12"
_OWN_STORE = "own.p12"
_PASSWORD = "joinery"


def certificate_settings(plugin: Plugin, address: MysqlAddress, folder: Path) -> Mapping[str, str]:
    """Return the connector's settings for the files of an address; none where it has none.

    Args:
        plugin: Which connector reads the log.
        address: Where the database is.
        folder: Where the stores are made.

    Raises:
        CaptureError: A file has nothing that can be read.
    """
    return {
        **(_trusted(plugin, address, folder) if address.ssl_ca else {}),
        **(_presented(plugin, address, folder) if address.ssl_cert else {}),
    }


def _trusted(plugin: Plugin, address: MysqlAddress, folder: Path) -> dict[str, str]:
    store = folder / _STORE
    store.write_bytes(_java_store(Path(address.ssl_ca)))
    settings = {
        "database.ssl.truststore": str(store),
        "database.ssl.truststore.password": _PASSWORD,
    }
    if plugin == "mariadb":  # whose driver takes the file itself, and only that
        settings |= {"driver.serverSslCert": address.ssl_ca}
    return settings


def _presented(plugin: Plugin, address: MysqlAddress, folder: Path) -> dict[str, str]:
    store = folder / _OWN_STORE
    store.unlink(missing_ok=True)
    store.touch(mode=0o600)
    store.write_bytes(_own_store(Path(address.ssl_cert), Path(address.ssl_key)))
    settings = {
        "database.ssl.keystore": str(store),
        "database.ssl.keystore.password": _PASSWORD,
    }
    if plugin == "mariadb":  # whose driver has a name of its own for it
        settings |= {"driver.keyStore": str(store), "driver.keyStorePassword": _PASSWORD}
    return settings


def _own_store(certificate: Path, key: Path) -> bytes:
    with needs_extra("mysql", "MySQL needs the package cryptography", CaptureError):
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            load_pem_private_key,
            pkcs12,
        )
        from cryptography.x509 import load_pem_x509_certificates
    try:
        own, *chain = load_pem_x509_certificates(certificate.read_bytes())
        loaded = load_pem_private_key(key.read_bytes(), password=None)
        if not isinstance(
            loaded, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
        ):
            raise ValueError("The key is of another kind than RSA, elliptic curves and Ed25519.")
        return pkcs12.serialize_key_and_certificates(
            b"own", loaded, own, chain, BestAvailableEncryption(_PASSWORD.encode())
        )
    except (OSError, TypeError, ValueError) as error:  # a TypeError asks for the key's password
        raise CaptureError(
            f"could not read the certificate {certificate} with its key {key}",
            detail=str(error).splitlines()[0],
            hint="Set ssl-cert and ssl-key in the URL to files in PEM, the key without a password.",
        ) from error


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
