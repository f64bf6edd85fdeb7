"""Requests over HTTP to a server of this machine, with what it answered as plain values."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException

# Never through a proxy: the servers are on this machine.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url: str, *, method: str = "GET", body: object = None, within_s: float = 10.0) -> object:
    """Return the JSON that a server answers; None where the answer is empty.

    Raises:
        OSError: The server is not there, or answers with an error (`HTTPError`).
    """
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data=data, method=method)
    asked.add_header("Content-Type", "application/json")
    with _opener.open(asked, timeout=within_s) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def answers(url: str) -> object:
    """Return the JSON that a server answers, or None where it does not (yet)."""
    try:
        return ask(url, within_s=2)
    except (OSError, HTTPException, ValueError):
        return None
