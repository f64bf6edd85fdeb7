"""What goes wrong in DynamoDB, as errors of a store: wait, or stop."""

from __future__ import annotations

from joinery.connect.dynamodb_link import DynamoError
from joinery.solutions.store import StoreError, StoreUnavailableError


def store_error(error: DynamoError) -> StoreError:
    """Return a failure as one of a store."""
    kind = StoreUnavailableError if error.passing else StoreError
    return kind(error.message, detail=error.detail, hint=error.hint)
