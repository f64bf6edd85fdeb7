"""The failures that drivers have on the way of a sink, told as those of a lookup store."""

from __future__ import annotations

from joinery.connect.lookup.protocol import LookupStoreError, LookupUnavailableError
from joinery.connect.protocol import SinkError, SinkUnavailableError


def as_lookup(error: SinkError) -> LookupStoreError:
    """Return `error` as one of a lookup store: to be waited out, or not."""
    passing = isinstance(error, SinkUnavailableError)
    kind = LookupUnavailableError if passing else LookupStoreError
    return kind(error.message, detail=error.detail, hint=error.hint)
