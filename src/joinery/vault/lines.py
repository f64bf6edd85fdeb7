"""Lines of a spool, sealed as a capture seals them: AES-GCM under a key of the day."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from datetime import UTC, datetime

from joinery.project.captured import log_name
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.vault.keys import LINE_KEY_BYTES, Vault
from joinery.vault.tables import open_vault

_HEAD = b"jyl1:"
_NONCE_BYTES = 12


def lines_key_name(spec: ProjectSpec, source: SourceSpec, day: str) -> str:
    """Return the name of the key under which lines of a source are sealed on a day."""
    return f"{log_name(spec, source)} {day}"


def line_sealer(spec: ProjectSpec, source: SourceSpec) -> Callable[[bytes], bytes]:
    """Return what seals lines of a source under the key of today.

    Raises:
        VaultError: The vault cannot be used.
        VaultUnavailableError: It is not there now.
    """
    vault = open_vault(spec)
    try:
        return sealer_of(vault, lines_key_name(spec, source, datetime.now(UTC).date().isoformat()))
    finally:
        vault.close()


def sealer_of(vault: Vault, name: str) -> Callable[[bytes], bytes]:
    """Return what seals lines under a key of a vault; a line that is sealed stays as it is."""
    return sealer_under(vault.key_of_lines(name), name)


def sealer_under(key: bytes, name: str) -> Callable[[bytes], bytes]:
    """Return what seals lines under a key that has this name in its vault."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(key[:LINE_KEY_BYTES])
    label = base64.urlsafe_b64encode(name.encode()).rstrip(b"=")

    def sealed(line: bytes) -> bytes:
        if line.startswith(_HEAD):
            return line
        nonce = os.urandom(_NONCE_BYTES)
        body = base64.urlsafe_b64encode(nonce + cipher.encrypt(nonce, line, label)).rstrip(b"=")
        return b"%s%s:%s" % (_HEAD, label, body)

    return sealed
