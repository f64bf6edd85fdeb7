"""The key of a certificate that a capture presents, in a form that all of its connections read.

Our own connections take what PostgreSQL's client library takes. What reads the log is a driver of
Java's, which takes a key in PKCS #8 alone, and no other than a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joinery.capture.spool import CaptureError

_PKCS8 = b"-----BEGIN PRIVATE KEY-----"


def check_key(given: Mapping[str, str], shown: str) -> None:
    """Refuse a key that the log could not be read with.

    Args:
        given: The parameters of a connection.
        shown: The database, for messages.

    Raises:
        CaptureError: It is in another form.
    """
    file = given.get("sslkey", "")
    if not file:
        return
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        told = error.strerror or type(error).__name__
    else:
        if _PKCS8 in text:
            return
        told = "it is not an unencrypted key in PKCS #8, as PEM"
    raise CaptureError(
        f"the log of {shown} cannot be read with the key {file}",
        detail=f"{told[0].upper()}{told[1:]}.",
        hint=f"Write it anew, and name that one as sslkey: openssl pkcs8 -topk8 -nocrypt -in {file}"
        " -out client.key; chmod 600 client.key",
    )
