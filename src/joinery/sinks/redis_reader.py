"""The documents of one product as a Redis holds them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

from joinery.clients.redis import failure, open_redis, redis_errors, shown
from joinery.model.type import Struct
from joinery.sinks.key import key_of_text, key_text
from joinery.sinks.reader import Held

if TYPE_CHECKING:
    from redis import Redis

_SCANNED_AT_ONCE = 1_000
_DECODE = json.JSONDecoder(parse_float=Decimal).decode


class RedisReader:
    """Reads the keys under a prefix.

    Args:
        url: Of the Redis; may hold user and password, which are never shown.
        prefix: Stands before each key.
        access: `username` and `password` where the URL does not hold them.
        key: The root key's columns.
    """

    def __init__(self, url: str, prefix: str, access: Mapping[str, str], key: Struct) -> None:
        self.target = f"redis {shown(url)}, keys {prefix}:*"
        self._url, self._prefix, self._access, self._key = url, prefix, dict(access), key
        self._redis: Redis | None = None

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents, some perhaps twice.

        What is under the prefix and is not a key of the product is yielded as a JSON text.
        """
        at = f"{self._prefix}:"
        with self._told() as client:
            for name in client.scan_iter(match=f"{literal(at)}*", count=_SCANNED_AT_ONCE):
                text = name.decode(errors="replace").removeprefix(at)
                try:
                    yield key_of_text(text, self._key)
                except (ValueError, KeyError, TypeError):
                    yield json.dumps(text)

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys."""
        if not keys:
            return {}
        places = [f"{self._prefix}:{key_text(_DECODE(each))}" for each in keys]
        with self._told() as client:
            # Document and version change together, so they are read together.
            pipeline = client.pipeline(transaction=True)
            pipeline.mget(places)
            pipeline.mget([f"joinery:version:{each}" for each in places])
            texts, versions = pipeline.execute()
        return {
            key: Held(text.decode(errors="replace"), int(version or 0))
            for key, text, version in zip(keys, texts, versions, strict=True)
            if text is not None
        }

    def close(self) -> None:
        """Disconnect."""
        if self._redis is not None:
            self._redis.close()
            self._redis = None

    @contextmanager
    def _told(self) -> Iterator[Redis]:
        """Give the client; tell what it raises as errors of a sink."""
        if self._redis is None:
            self._redis = open_redis(self._url, self._access)
        try:
            yield self._redis
        except redis_errors() as error:
            raise failure(error, self.target, "could not read from") from error


def literal(text: str) -> str:
    """Return the pattern of SCAN that means just `text`."""
    return re.sub(r"([\\*?\[\]^-])", r"\\\1", text)
