"""Connections to DynamoDB, and what goes wrong told apart: ask again, or stop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from joinery.errors import RunError, needs_extra

_TIMEOUT_S = 20
_BUSY = (
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
)
_AWAY = (
    "ConnectTimeoutError",
    "ConnectionClosedError",
    "ConnectionError",
    "EndpointConnectionError",
    "HTTPClientError",
    "ProxyConnectionError",
    "ReadTimeoutError",
    "ResponseStreamingError",
)


class DynamoError(RunError):
    """DynamoDB refused a request.

    Attributes:
        reason: The service's own word for it, such as `ConditionalCheckFailedException`.
    """

    code = "RUN_DYNAMODB"

    def __init__(self, message: str, *, reason: str, detail: str = "", hint: str = "") -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.reason = reason

    @property
    def busy(self) -> bool:
        """Whether the same request may pass a moment later."""
        return self.reason in _BUSY

    @property
    def passing(self) -> bool:
        """Whether the service is away or overloaded, so that waiting may help."""
        return self.busy or self.reason in _AWAY


def open_dynamodb(endpoint: str, region: str, connections: int) -> Any:
    """Return a client, safe to use from several threads; credentials are the environment's.

    Args:
        endpoint: Its URL; empty for the region's own.
        region: Its name; empty for that of the environment.
        connections: How many requests may be under way at a time.

    Raises:
        DynamoError: The driver is missing, or no region is known.
    """
    missing = partial(DynamoError, reason="Missing")
    with needs_extra("dynamodb", "DynamoDB needs the package boto3", missing):
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    config = Config(
        max_pool_connections=connections,
        connect_timeout=_TIMEOUT_S,
        read_timeout=_TIMEOUT_S,
        retries={"mode": "standard", "max_attempts": 4},
    )
    place = {"endpoint_url": endpoint or None, "region_name": region or None}
    try:
        return boto3.client("dynamodb", config=config, **place)
    except (BotoCoreError, ValueError) as error:
        raise DynamoError(
            "could not open DynamoDB",
            reason=type(error).__name__,
            detail=f"{error}.",
            hint="Give the region and the endpoint.",
        ) from error


def ask(client: Any, operation: str, request: Mapping[str, Any]) -> Any:
    """Return the answer to one request.

    Args:
        client: See `open_dynamodb`.
        operation: As the client calls it, such as `batch_get_item`.
        request: Its parameters.

    Raises:
        DynamoError: It was refused.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return getattr(client, operation)(**request)
    except ClientError as error:
        told = error.response.get("Error", {})
        reason, detail = str(told.get("Code", "")), str(told.get("Message", error))
        raise _refused(operation, reason, detail) from error
    except BotoCoreError as error:
        raise _refused(operation, type(error).__name__, str(error)) from error


def _refused(operation: str, reason: str, detail: str) -> DynamoError:
    return DynamoError(
        f'DynamoDB refused "{operation}": {reason}',
        reason=reason,
        detail=f"{detail.rstrip('.')}.",
        hint="Check the endpoint, the region, the table, and the credentials' permissions.",
    )
