"""The lookup store redis: JSON objects under `<prefix>:<key>`, as the sink redis keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.clients.redis import failure, open_redis, redis_errors, shown
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    Unfit,
    as_lookup,
)
from joinery.lookups.value import RowReader, json_value
from joinery.project.option import Target, options, text
from joinery.sinks.key import key_text
from joinery.sinks.protocol import SinkError

if TYPE_CHECKING:
    from redis import Redis


class RedisStore:
    """Reads many keys by one `MGET`."""

    most_keys: int | None = None

    def __init__(
        self, table: LookupTable, url: str, prefix: str, access: Mapping[str, str]
    ) -> None:
        self._url = url
        self._prefix = prefix
        self._access = dict(access)
        self._names = [each.name for each in table.key]
        self._rows = RowReader(table.columns)
        self._redis: Redis | None = None
        self.target = f"redis {shown(url)}, keys {prefix}:*"

    def open(self) -> None:
        """Connect."""
        try:
            self._redis = open_redis(self._url, self._access)
        except SinkError as error:
            raise as_lookup(error) from error
        self._call(self._redis, lambda client: client.ping())

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return what stands under `keys`."""
        client = self._redis
        if client is None:
            raise LookupStoreError(f"{self.target} is not open")
        places = [self._place(key) for key in keys]
        texts = self._call(client, lambda client: client.mget(places))
        return {
            key: self._answer(text)
            for key, text in zip(keys, texts, strict=True)
            if text is not None
        }

    def close(self) -> None:
        """Disconnect."""
        if self._redis is not None:
            self._redis.close()
            self._redis = None

    def _call(self, client: Redis, ask: Callable[[Redis], Any]) -> Any:
        try:
            return ask(client)
        except redis_errors() as error:
            raise as_lookup(failure(error, self.target, "could not read from")) from error

    def _place(self, key: Key) -> str:
        values = (each if isinstance(each, Decimal) else json_value(each) for each in key)
        return f"{self._prefix}:{key_text(dict(zip(self._names, values, strict=True)))}"

    def _answer(self, text: bytes) -> Answer:
        try:
            found = json.loads(text, parse_float=Decimal)
        except ValueError:
            return Unfit("the value is not JSON")
        return (
            self._rows.named(found)
            if isinstance(found, dict)
            else Unfit("the JSON is not an object")
        )


@options
class RedisOptions:
    """`{redis: {url: redis://host:6379/0}}`; the prefix is the relation's name."""

    url: str = text("The server.", default="redis://127.0.0.1:6379/0", secret=True)
    prefix: str = text("What each key begins with; by default the relation's name.", default="")
    user: str = text("The user; by default that of the URL.", default="", secret=True)
    password: str = text("The password; take it from the environment.", default="", secret=True)

    def make(self, table: LookupTable, folder: Path) -> RedisStore:
        """Return the store of a table."""
        names = {"username": self.user, "password": self.password}
        access = {name: value for name, value in names.items() if value}
        return RedisStore(table, self.url, self.prefix or table.name, access)

    def target(self, relation: str, folder: Path) -> Target:
        """Return the keys of the relation."""
        return Target("redis", self.url, self.prefix or relation)
