"""What the opensearch sink refuses before it asks a server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from joinery.sinks.protocol import SinkError, make_sink

NOWHERE = "https://127.0.0.1:1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "could not read the certificate"),
        ({"verify_certs": False}, "has client_cert and verify_certs: false"),
    ],
)
def test_a_certificate_that_could_not_be_presented_is_refused(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "own.pem").write_text("not a certificate")
    given = {"url": NOWHERE, "client_cert": "own.pem", **options}

    with (
        closing(make_sink("opensearch", "user_profile", given, tmp_path)) as sink,
        pytest.raises(SinkError, match=message),
    ):
        sink.open()
