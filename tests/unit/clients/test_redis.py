"""What a Redis says is told apart as its driver gives it: wait, or stop."""

from __future__ import annotations

import pytest
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ConnectionError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from joinery.clients.redis import failure
from joinery.errors import SinkUnavailableError

_FULL = "command not allowed when used memory > 'maxmemory'."
_SCRIPT = "Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM "
_PIPELINE = "Command # 1 (SET 1 OOM) of pipeline caused error: "


@pytest.mark.parametrize(
    "said",
    [
        OutOfMemoryError(_FULL),
        OutOfMemoryError(f"{_FULL} script: 1, on @user_script:9."),
        ResponseError(f"{_SCRIPT}{_FULL}"),
        ResponseError(f"{_PIPELINE}{_SCRIPT}{_FULL}"),
        ReadOnlyError("You can't write against a read only replica."),
        MasterDownError("Link with MASTER is down"),
        TryAgainError("Multiple keys request during rehashing of slot"),
        BusyLoadingError("Redis is loading the dataset in memory"),
        ResponseError("MISCONF Redis is configured to save RDB snapshots"),
        ResponseError("BUSY Redis is busy running a script."),
        ConnectionError("Connection refused."),
    ],
)
def test_what_passes_is_waited_for(said: Exception) -> None:
    assert isinstance(failure(said, "redis shop", "could not write to"), SinkUnavailableError)


@pytest.mark.parametrize(
    "said",
    [
        NoPermissionError("this user has no permissions to run the 'set' command"),
        AuthenticationError("invalid username-password pair or user is disabled."),
        ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
        ResponseError("BUSYKEY Target key name already exists."),
        ResponseError(f"{_PIPELINE}WRONGTYPE Operation against a key"),
    ],
)
def test_what_stays_ends_the_run(said: Exception) -> None:
    assert not isinstance(failure(said, "redis shop", "could not write to"), SinkUnavailableError)
