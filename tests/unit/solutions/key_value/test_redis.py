"""What a Redis with a store says is told apart, whatever the keys that it was asked for."""

from __future__ import annotations

import pytest
from redis.exceptions import OutOfMemoryError, ResponseError

from joinery.solutions.key_value.redis import store_error
from joinery.solutions.stored.state import StoreError, StoreFencedError, StoreUnavailableError

_ASKED = "Command # 1 (GET shop:FENCED) of pipeline caused error: "


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (ResponseError("FENCED"), StoreFencedError),
        (ResponseError("ERR Error running script: @user_script: 9: FENCED"), StoreFencedError),
        (OutOfMemoryError(f"{_ASKED}command not allowed"), StoreUnavailableError),
        (ResponseError(f"{_ASKED}WRONGTYPE Operation against a key"), StoreError),
    ],
)
def test_a_key_is_not_taken_for_what_the_server_says(
    said: Exception, kind: type[StoreError]
) -> None:
    assert type(store_error(said, "redis shop", "read")) is kind
