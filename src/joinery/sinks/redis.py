"""The redis sink: the current document of each key as JSON text under `<prefix>:<key>`.

The version stands beside it, under `joinery:version:<prefix>:<key>`; that of a deleted
document stays there until its retention is over, so that an older one cannot come back.

Limits: one Redis, or a primary with replicas; no cluster. What is written is as durable as
that Redis is set up to be (`appendonly`, `appendfsync`).

Invariant: a document and its version change together, in a script that compares first;
that script refuses an older epoch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from joinery.clients.redis import failure, open_redis, redis_errors, said_of, shown
from joinery.errors import SinkOptionError
from joinery.model.type import Struct
from joinery.project.option import Target, options, text
from joinery.sinks.key import key_text, listed_key
from joinery.sinks.line import StagedRow, read_chunks
from joinery.sinks.protocol import (
    FencedError,
    Guarantee,
    Promise,
    Refusal,
    SinkError,
    StagedBatch,
    Writer,
    Written,
)
from joinery.sinks.redis_reader import RedisReader, literal
from joinery.slices import slices

if TYPE_CHECKING:
    from redis import Redis

_SCHEMES = ("redis", "rediss", "unix")
_CHUNK_ROWS = 500
_CHUNK_CHARACTERS = 1 << 20
_CHUNKS_AT_ONCE = 8
_LONGEST_VALUE = 512 << 20
_SCANNED_AT_ONCE = 1_000
_GUARANTEE = Guarantee(
    summary="Redis holds the newest document of each key, as durably as it is configured to.",
    gaps={Promise.ATOMIC: "a batch is several scripts, each atomic: readers may see part of it"},
)

# KEYS: the fence, the batch's number, then document and version of each; ARGV: epoch, how long
# deletes are remembered (ms, empty forever), the batch's number, then version and text of each, no
# text for a tombstone.
# Versions are compared as digits: a number in Lua is exact to 2^53 only.
_APPLY = """
local stood = redis.call('GET', KEYS[1])
if stood and tonumber(stood) > tonumber(ARGV[1]) then
  return redis.error_reply('FENCED by epoch ' .. stood)
end
if stood ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[1]) end
local batch = redis.call('GET', KEYS[2])
if not batch or tonumber(batch) < tonumber(ARGV[3]) then redis.call('SET', KEYS[2], ARGV[3]) end
local older = 0
for i = 3, #KEYS, 2 do
  local version, text = ARGV[i + 1], ARGV[i + 2]
  local held = redis.call('GET', KEYS[i + 1])
  if held and (#held > #version or (#held == #version and held > version)) then
    older = older + 1
  elseif text ~= '' then
    redis.call('SET', KEYS[i], text)
    redis.call('SET', KEYS[i + 1], version)
  else
    redis.call('DEL', KEYS[i])
    if ARGV[2] == '' then
      redis.call('SET', KEYS[i + 1], version)
    else
      redis.call('SET', KEYS[i + 1], version, 'PX', ARGV[2])
    end
  end
end
return older
"""


class RedisSink:
    """Keeps the newest document of each key.

    Args:
        url: Of the Redis; may hold user and password, which are never shown.
        prefix: Stands before each key.
        access: `username` and `password` where the URL does not hold them.
    """

    guarantee = _GUARANTEE
    writer: Writer = "tasks"

    def __init__(self, url: str, prefix: str, access: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._prefix = prefix
        self._access = dict(access or {})
        self._redis: Redis | None = None
        self.target = f"redis {shown(url)}, keys {prefix}:*"

    def open(self) -> None:
        """Connect."""
        self._redis = open_redis(self._url, self._access)
        try:
            self._redis.ping()
        except redis_errors() as error:
            raise failure(error, self.target, "could not write to") from error

    def write(self, batch: StagedBatch) -> Written:
        """Apply the documents of `batch`, some hundred in a script."""
        client = self._redis
        if client is None:
            raise SinkError(f"{self.target} is not open")
        try:
            return self._write(client, batch)
        except redis_errors() as error:
            if "FENCED by epoch" in said_of(error):
                raise FencedError(f'another run of "{batch.query}" is writing to redis') from error
            raise failure(error, self.target, "could not write to") from error

    def begin(self, batch: StagedBatch) -> None:
        """Nothing has to be there before: each script fences earlier runs."""

    def write_part(self, batch: StagedBatch, part: int) -> Written:
        """Apply the documents of a part."""
        return self.write(batch)

    def end(self, batch: StagedBatch) -> None:
        """Nothing is left to be done."""

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents under the prefix, some perhaps twice."""
        client = self._redis
        if client is None:
            raise SinkError(f"{self.target} is not open")
        at = f"{self._prefix}:"
        try:
            for name in client.scan_iter(match=f"{literal(at)}*", count=_SCANNED_AT_ONCE):
                yield listed_key(name.decode().removeprefix(at), batch.key, self.target)
        except redis_errors() as error:
            raise failure(error, self.target, "could not read from") from error

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the highest batch of the checkpoint of which a document was written."""
        client = self._redis
        if client is None:
            raise SinkError(f"{self.target} is not open")
        try:
            found: Any = client.get(self._batch_key(batch))
        except redis_errors() as error:
            raise failure(error, self.target, "could not read from") from error
        return None if found is None else int(found)

    def close(self) -> None:
        """Disconnect."""
        if self._redis is not None:
            self._redis.close()
            self._redis = None

    def _write(self, client: Redis, batch: StagedBatch) -> Written:
        refused: list[Refusal] = []
        older = 0
        script: Any = client.script_load(_APPLY)
        chunks = read_chunks(batch.files, rows=_CHUNK_ROWS, characters=_CHUNK_CHARACTERS)
        for some in slices(chunks, _CHUNKS_AT_ONCE):
            refused += [_refusal(row) for chunk in some for row in chunk if _too_large(row)]
            batch.check()
            pipeline = client.pipeline(transaction=False)
            for chunk in some:
                keys, values = self._arguments(batch, chunk)
                pipeline.evalsha(script, len(keys), *keys, *values)
            older += sum(pipeline.execute())
        return Written(refused=tuple(refused), older=older)

    def _batch_key(self, batch: StagedBatch) -> str:
        return f"joinery:batch:{self._prefix}:{batch.query_id}"

    def _arguments(
        self, batch: StagedBatch, rows: Sequence[StagedRow]
    ) -> tuple[list[str], list[str | int]]:
        keys = [f"joinery:epoch:{self._prefix}:{batch.query_id}", self._batch_key(batch)]
        values: list[str | int] = [batch.epoch, _remembered_ms(batch), batch.batch_id]
        for row in rows:
            if not _too_large(row):
                place = f"{self._prefix}:{key_text(row.key_values())}"
                keys += (place, f"joinery:version:{place}")
                values += (row.version, row.value or "")
        return keys, values


@options
class RedisOptions:
    """`{redis: {url: redis://host:6379/0}}`; the prefix is the product's name."""

    keeps_all: ClassVar[bool] = False
    url: str = text(
        "The server.",
        default="redis://127.0.0.1:6379/0",
        pattern=r"^(rediss?|unix)://\S+$",
        examples=["redis://host:6379/0"],
        secret=True,
    )
    prefix: str = text("What each key begins with; by default the product's name.", default="")
    user: str = text("The user; by default that of the URL.", default="", secret=True)
    password: str = text("The password; take it from the environment.", default="", secret=True)

    def make(self, product: str, folder: Path) -> RedisSink:
        """Return the sink of a product."""
        if urlsplit(self.url).scheme not in _SCHEMES:
            raise SinkOptionError(
                'option "url" of sink "redis" is not the address of a Redis server',
                hint="Write {redis: {url: redis://host:6379/0}}.",
            )
        return RedisSink(self.url, self.prefix or product, self._access)

    def target(self, product: str, folder: Path) -> Target:
        """Return the keys of the product."""
        return Target("redis", self.url, self.prefix or product, "prefix")

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> RedisReader:
        """Return what reads the documents of a product."""
        return RedisReader(self.url, self.prefix or product, self._access, key)

    @property
    def _access(self) -> dict[str, str]:
        given = {"username": self.user, "password": self.password}
        return {name: value for name, value in given.items() if value}


def _remembered_ms(batch: StagedBatch) -> int | str:
    """Return how long a delete is remembered from now on; empty forever."""
    if batch.forget_before <= 0:
        return ""
    return max(1, (int(time.time() * 1_000_000) - batch.forget_before) // 1000)


def _too_large(row: StagedRow) -> bool:
    value = row.value
    if value is None or len(value) * 4 < _LONGEST_VALUE:
        return False
    return len(value.encode()) > _LONGEST_VALUE


def _refusal(row: StagedRow) -> Refusal:
    return Refusal(row, "document_too_large", f"Redis holds values up to {_LONGEST_VALUE} bytes.")
