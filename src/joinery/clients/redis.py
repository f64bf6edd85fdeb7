"""Connections to Redis, and what goes wrong told apart: wait, or stop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from joinery.errors import SinkError, SinkUnavailableError, needs_extra

if TYPE_CHECKING:
    from redis import Redis

_TIMEOUT_S = 30.0
# The driver takes the first word away where it has a class for it, as for OOM; but of Redis before
# 7, what a script met comes last: "… @user_script: 9: -OOM command not allowed".
_PASSING = re.compile(
    r"(?:^-?|: -)(?:LOADING|READONLY|MISCONF|MASTERDOWN|NOREPLICAS|OOM|TRYAGAIN|BUSY)\b"
)


def open_redis(url: str, access: Mapping[str, str]) -> Redis:
    """Return a client that connects when it is first used.

    Args:
        url: May hold user and password.
        access: `username` and `password` where the URL does not hold them.

    Raises:
        SinkError: The driver is missing, or the URL is none of a Redis.
    """
    redis = _driver()
    try:
        client: Redis = redis.Redis.from_url(
            url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S, **access
        )
    except ValueError as error:
        raise SinkError(
            f'"{shown(url)}" is not the address of a Redis server',
            hint="Write redis://host:6379/0.",
        ) from error
    return client


def redis_errors() -> tuple[type[Exception], ...]:
    """Return what the driver raises."""
    return (_driver().RedisError,)


def failure(error: Exception, target: str, what: str) -> SinkError:
    """Return the error that tells a failure of the driver.

    Args:
        error: The driver's.
        target: Where it happened.
        what: What could not be done: `could not write to`.
    """
    errors = _driver().exceptions
    said = said_of(error)
    detail = f"{said.rstrip('.')}."
    denied = isinstance(error, errors.AuthenticationError | errors.NoPermissionError)
    passing = isinstance(
        error,
        errors.ConnectionError
        | errors.TimeoutError
        | errors.OutOfMemoryError
        | errors.ReadOnlyError
        | errors.MasterDownError
        | errors.TryAgainError,
    )
    if not denied and (passing or _PASSING.search(said)):
        return SinkUnavailableError(f"{what} {target}", detail=detail)
    return SinkError(
        f"{target} refused a request",
        detail=detail,
        hint="Check the user, the password and the user's permissions.",
    )


def said_of(error: Exception) -> str:
    """Return what a server said, without the command that the driver puts in front: it holds data.

    Example:
        >>> said_of(ValueError("Command # 1 (SET a b) of pipeline caused error: OOM no room"))
        'OOM no room'
    """
    return str(error).rpartition(" of pipeline caused error: ")[2]


def shown(url: str) -> str:
    """Return where a Redis is, without user and password."""
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
    except ValueError:
        return "that was named"
    return f"{parts.hostname}:{port}{parts.path}" if parts.hostname else parts.path


def _driver() -> Any:
    with needs_extra("redis", "redis needs the package redis", SinkError):
        import redis
    return redis
