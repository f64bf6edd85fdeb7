"""An authority of a test's own, which signs the certificates of servers and of clients."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its key, in PEM."""

    certificate: Path
    key: Path

    @property
    def together(self) -> Path:
        """A file with both."""
        both = self.key.with_suffix(".both.pem")
        both.write_bytes(self.key.read_bytes() + self.certificate.read_bytes())
        return both


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

    def sign(
        self,
        folder: Path,
        name: str,
        *names: x509.GeneralName,
        form: PrivateFormat = PrivateFormat.PKCS8,
    ) -> Signed:
        """Return a certificate for a name, and for these as a server's."""
        key = _key()
        signed = _signed(_name(name), self.name, key.public_key(), self.key, names=names)
        made = Signed(folder / f"{name}.pem", folder / f"{name}.key")
        made.certificate.write_bytes(signed.public_bytes(Encoding.PEM))
        made.key.write_bytes(key.private_bytes(Encoding.PEM, form, NoEncryption()))
        made.key.chmod(0o600)
        return made


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
