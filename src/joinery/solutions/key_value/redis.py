"""The store `redis`: one entry of a partition as a text, several as a hash, under a prefix.

All that one call asks for goes in few requests: `MGET` for texts, and scripts for hashes.
A script also compares the fence before it writes, so a run that was replaced writes nothing.

Limits: one Redis, or a primary with replicas; no cluster. What a call wrote is as durable as
that Redis is set up to be (`appendonly`, `appendfsync`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from joinery.connect.protocol import SinkError, SinkUnavailableError
from joinery.connect.redis_link import failure, open_redis, redis_errors, shown
from joinery.solutions.key_value.option import StoreOptionError, check_options
from joinery.solutions.key_value.slices import slices
from joinery.solutions.key_value.store import Address
from joinery.solutions.store import FencedError, StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from redis import Redis

    from joinery.solutions.choose import SolutionPlace

_SCHEMES = ("redis", "rediss", "unix")
_LOCAL = "redis://127.0.0.1:6379/0"
_KEYS_A_REQUEST = 2_000
_BYTES_A_REQUEST = 4 << 20
_LARGE_HASH = 20_000
_NOTHING = b"-"

# KEYS: the fence, then one of each entry. ARGV: what the fence must hold (empty: anything, `-`:
# nothing), then sort key and value of each: `-` removes, `+…` puts.
_PUT = """
if ARGV[1] ~= '' and (redis.call('GET', KEYS[1]) or '-') ~= ARGV[1] then
  return redis.error_reply('FENCED')
end
for i = 2, #KEYS do
  local sort, value = ARGV[2 * i - 2], ARGV[2 * i - 1]
  if sort == '' then
    if value == '-' then
      redis.call('DEL', KEYS[i])
    else
      redis.call('SET', KEYS[i], string.sub(value, 2))
    end
  elseif value == '-' then
    redis.call('HDEL', KEYS[i], sort)
  else
    redis.call('HSET', KEYS[i], sort, string.sub(value, 2))
  end
end
"""

# KEYS: hashes. ARGV: the size from which one is left to a cursor. Returns all of each.
_SCAN = """
local found = {}
for i = 1, #KEYS do
  if redis.call('HLEN', KEYS[i]) > tonumber(ARGV[1]) then
    found[i] = false
  else
    found[i] = redis.call('HGETALL', KEYS[i])
  end
end
return found
"""


class RedisStore:
    """Keeps entries in a Redis.

    Args:
        url: Of the Redis; may hold user and password, which are never shown.
        prefix: Stands before each key.
    """

    def __init__(self, url: str, prefix: str) -> None:
        self._target = f"redis {shown(url)}, keys {prefix}:*"
        self._head = f"{prefix}:".encode()
        self._guard: tuple[bytes, bytes] = (self._head, b"")
        try:
            self._client: Redis = open_redis(url, {})
            self._errors = redis_errors()
        except SinkError as missing:
            raise StoreError(missing.message, hint=missing.hint) from missing
        self._asked("reach", self._client.ping)
        self._put: Any = self._client.register_script(_PUT)
        self._scan: Any = self._client.register_script(_SCAN)

    def claim(self, address: Address, before: bytes | None, after: bytes) -> None:
        """Put `after` where `before` stands; from then on write only while `after` stands."""
        key = self._head + address[0]
        self._guard = (key, before or _NOTHING)
        self.put_many({address: after})
        self._guard = (key, after)

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address."""
        values: list[bytes | None] = []
        for some in slices(addresses, _KEYS_A_REQUEST):
            if any(sort for _, sort in some):
                values += self._asked("read", self._fields, some)
            else:
                keys = [self._head + partition for partition, _ in some]
                values += self._asked("read", self._client.mget, keys)
        return values

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put and remove entries."""
        fence, expected = self._guard
        for some in _sized(entries.items()):
            keys = [fence, *(self._head + partition for (partition, _), _ in some)]
            arguments = [expected]
            for (_, sort), value in some:
                arguments += (sort, b"-" if value is None else b"+" + value)
            self._asked("write", self._put, keys, arguments)

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions, which hold several each."""
        for some in slices(partitions, _KEYS_A_REQUEST):
            keys = [self._head + partition for partition in some]
            found = self._asked("read", self._scan, keys, [_LARGE_HASH])
            for partition, key, fields in zip(some, keys, found, strict=True):
                for sort, value in self._large(key) if fields is None else _pairs(fields):
                    yield (partition, sort), value

    def clear(self, head: bytes) -> None:
        """Remove all entries of all partitions that begin with `head`."""
        begin = self._head + head
        pattern = b"".join(b"\\%c" % each if each in b"*?[]\\^" else b"%c" % each for each in begin)
        found: Iterable[bytes] = self._client.scan_iter(match=pattern + b"*", count=_KEYS_A_REQUEST)
        for some in slices(self._each(found), _KEYS_A_REQUEST):
            self._asked("write", self._client.unlink, *some)

    def close(self) -> None:
        """Disconnect."""
        self._client.close()

    def _fields(self, some: Sequence[Address]) -> list[bytes | None]:
        pipeline: Any = self._client.pipeline(transaction=False)
        for partition, sort in some:
            if sort:
                pipeline.hget(self._head + partition, sort)
            else:
                pipeline.get(self._head + partition)
        values: list[bytes | None] = pipeline.execute()
        return values

    def _large(self, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the fields of a hash that would hold up others; a cursor may tell one twice."""
        seen: set[bytes] = set()
        found: Iterable[tuple[bytes, bytes]] = self._client.hscan_iter(key, count=_KEYS_A_REQUEST)
        for sort, value in self._each(found):
            if sort not in seen:
                seen.add(sort)
                yield sort, value

    def _each(self, found: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from found
        except self._errors as error:
            raise self._told("read", error) from error

    def _asked(self, what: str, ask: Any, *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except self._errors as error:
            raise self._told(what, error) from error

    def _told(self, what: str, error: Exception) -> StoreError:
        if "FENCED" in str(error):
            return FencedError("another run has taken over the store", hint="Stop one of the two.")
        told = failure(error, self._target, f"could not {what}")
        kind = StoreUnavailableError if isinstance(told, SinkUnavailableError) else StoreError
        return kind(told.message, detail=told.detail, hint=told.hint)


def redis_store(options: Mapping[str, object], place: SolutionPlace) -> RedisStore:
    """Make the store `{store: redis, url: …, prefix: …}`; keys are `<prefix>:<query>:…`."""
    check_options("redis", options, ("url", "prefix"))
    url = str(options.get("url") or _LOCAL)
    if urlsplit(url).scheme not in _SCHEMES:
        raise StoreOptionError(
            'option "url" of store "redis" is not the address of a Redis',
            hint="Write redis://host:6379/0.",
        )
    return RedisStore(url, f"{options.get('prefix') or 'joinery'}:{place.query}")


def _sized(
    entries: Iterable[tuple[Address, bytes | None]],
) -> Iterator[list[tuple[Address, bytes | None]]]:
    """Cut entries into requests of bounded size."""
    some: list[tuple[Address, bytes | None]] = []
    size = 0
    for entry in entries:
        some.append(entry)
        size += len(entry[1] or b"") + 100
        if len(some) == _KEYS_A_REQUEST or size > _BYTES_A_REQUEST:
            yield some
            some, size = [], 0
    if some:
        yield some


def _pairs(fields: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(fields[::2], fields[1::2], strict=True)
