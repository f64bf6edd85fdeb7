"""The store `redis`: one entry of a partition as a text, several as a hash, under a prefix.

All that one call asks for goes in few requests: `MGET` for texts, and scripts for hashes. Two
are under way at a time, so that the server works while the next one is made.
A script also compares the fence before it writes, so a run that was replaced writes nothing.

Limits: one Redis, or a primary with replicas; no cluster. What a call wrote is as durable as
that Redis is set up to be (`appendonly`, `appendfsync`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from joinery.clients.redis import failure, open_redis, redis_errors, said_of, shown
from joinery.errors import StoreOptionError
from joinery.project.option import options, text
from joinery.sinks.protocol import SinkError, SinkUnavailableError
from joinery.slices import slices
from joinery.solutions.key_value.store import Address, emptied
from joinery.solutions.stored.state import StoreError, StoreFencedError, StoreUnavailableError

if TYPE_CHECKING:
    from redis import Redis

    from joinery.solutions.choose import SolutionPlace

_SCHEMES = ("redis", "rediss", "unix")
_LOCAL = "redis://127.0.0.1:6379/0"
_KEYS_A_REQUEST = 2_000
_BYTES_A_REQUEST = 4 << 20
_LARGE_HASH = 20_000
_NOTHING = b"-"
_AT_A_TIME = 2
_A = TypeVar("_A")
_B = TypeVar("_B")

# KEYS: the fence, then those of texts to put, of texts to remove, and of fields. ARGV: what the
# fence must hold (empty: anything, `-`: nothing), how many texts are put, how many removed; the
# texts; then sort key and value of each field: `-` removes, `+…` puts. Lua unpacks a few thousand.
_PUT = """
local stands = redis.call('GET', KEYS[1])
if ARGV[1] ~= '' and (stands or '-') ~= ARGV[1] then
  return redis.error_reply(stands and 'FENCED' or 'EMPTIED')
end
local put, gone = tonumber(ARGV[2]), tonumber(ARGV[3])
for first = 1, put, 1000 do
  local pairs = {}
  for i = first, math.min(first + 999, put) do
    pairs[#pairs + 1] = KEYS[1 + i]
    pairs[#pairs + 1] = ARGV[3 + i]
  end
  redis.call('MSET', unpack(pairs))
end
for first = put + 1, put + gone, 1000 do
  redis.call('DEL', unpack(KEYS, 1 + first, 1 + math.min(first + 999, put + gone)))
end
for i = 2 + put + gone, #KEYS do
  local at = 3 + put + 2 * (i - 1 - put - gone)
  local sort, value = ARGV[at - 1], ARGV[at]
  if value == '-' then
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
        self._url, self._prefix = url, prefix
        self._target = f"redis {shown(url)}, keys {prefix}:*"
        self._head = f"{prefix}:".encode()
        self._threads = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="joinery-redis")
        self._guard: tuple[bytes, bytes] = (self._head, b"")
        try:
            self._client: Redis = open_redis(url, {})
            self._errors = redis_errors()
        except SinkError as missing:
            raise StoreError(missing.message, hint=missing.hint) from missing
        self._asked("reach", self._client.ping)
        self._refuse_cache()
        self._put: Any = self._client.register_script(_PUT)
        self._scan: Any = self._client.register_script(_SCAN)

    def _refuse_cache(self) -> None:
        """Refuse a Redis that removes keys of its own accord, where its user may ask for that."""
        try:
            memory = self._asked("read", self._client.info, "memory")
        except StoreUnavailableError:
            raise
        except StoreError:
            return
        policy, limited = memory.get("maxmemory_policy", ""), memory.get("maxmemory", 1) != 0
        if limited and str(policy).startswith("allkeys"):
            raise StoreError(
                f"{self._target} is a cache: it removes keys when its memory is full",
                detail=f"Its maxmemory-policy is {policy}.",
                hint="Set maxmemory-policy to noeviction, or use another server.",
            )

    def claim(self, address: Address, before: bytes | None, after: bytes) -> None:
        """Put `after` where `before` stands; from then on write only while `after` stands."""
        key = self._head + address[0]
        self._guard = (key, before or _NOTHING)
        self.put_many({address: after})
        self._guard = (key, after)

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address."""
        values: list[bytes | None] = []
        for found in self._overlapped(self._values, slices(addresses, _KEYS_A_REQUEST)):
            values += found
        return values

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put and remove entries."""
        for _ in self._overlapped(self._write, _sized(entries.items())):
            pass

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions, which hold several each."""
        asked = list(slices(partitions, _KEYS_A_REQUEST))
        for some, found in zip(asked, self._overlapped(self._hashes, asked), strict=True):
            keys = [self._head + partition for partition in some]
            for partition, key, fields in zip(some, keys, found, strict=True):
                for sort, value in self._large(key) if fields is None else _pairs(fields):
                    yield (partition, sort), value

    def clear(self, head: bytes) -> None:
        """Remove all entries of all partitions that begin with `head`."""
        for some in slices(self._names(head), _KEYS_A_REQUEST):
            self._asked("write", self._client.unlink, *some)

    def partitions(self, head: bytes) -> Iterator[bytes]:
        """Yield the partitions that begin with `head`."""
        seen: set[bytes] = set()  # a cursor may tell one twice
        for name in self._names(head):
            if name not in seen:
                seen.add(name)
                yield name.removeprefix(self._head)

    def _names(self, head: bytes) -> Iterator[bytes]:
        """Yield the names in Redis of all partitions that begin with `head`."""
        begin = self._head + head
        pattern = b"".join(b"\\%c" % each if each in b"*?[]\\^" else b"%c" % each for each in begin)
        found: Iterable[bytes] = self._client.scan_iter(match=pattern + b"*", count=_KEYS_A_REQUEST)
        yield from self._each(found)

    def reader(self) -> Callable[[], RedisStore]:
        """Return what connects another process, to read."""
        return partial(RedisStore, self._url, self._prefix)

    def close(self) -> None:
        """Disconnect."""
        self._threads.shutdown()
        self._client.close()

    def _overlapped(self, ask: Callable[[_A], _B], requests: Iterable[_A]) -> Iterator[_B]:
        """Yield what `ask` gives for each request, in their order; the next ones are under way."""
        waiting: deque[Future[_B]] = deque()
        try:
            for request in requests:
                waiting.append(self._threads.submit(ask, request))
                if len(waiting) > _AT_A_TIME:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            wait(waiting)

    def _values(self, some: Sequence[Address]) -> list[bytes | None]:
        if any(sort for _, sort in some):
            found: list[bytes | None] = self._asked("read", self._fields, some)
        else:
            keys = [self._head + partition for partition, _ in some]
            found = self._asked("read", self._client.mget, keys)
        return found

    def _hashes(self, some: Sequence[bytes]) -> Sequence[Any]:
        keys = [self._head + partition for partition in some]
        found: Sequence[Any] = self._asked("read", self._scan, keys, [_LARGE_HASH])
        return found

    def _write(self, some: Sequence[tuple[Address, bytes | None]]) -> None:
        """Put and remove some entries in one request, if the fence still stands."""
        fence, expected = self._guard
        put: dict[bytes, bytes] = {}
        gone: list[bytes] = []
        fields: list[bytes] = []
        arguments: list[bytes] = []
        for (partition, sort), value in some:
            key = self._head + partition
            if sort:
                fields.append(key)
                arguments += (sort, b"-" if value is None else b"+" + value)
            elif value is None:
                gone.append(key)
            else:
                put[key] = value
        keys = [fence, *put, *gone, *fields]
        sizes = (b"%d" % len(put), b"%d" % len(gone))
        self._asked("write", self._put, keys, [expected, *sizes, *put.values(), *arguments])

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
            raise store_error(error, self._target, "read") from error

    def _asked(self, what: str, ask: Any, *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except self._errors as error:
            raise store_error(error, self._target, what) from error


def store_error(error: Exception, target: str, what: str) -> StoreError:
    """Return the error of a store that tells a failure of the driver, or what our script refused.

    Args:
        error: The driver's.
        target: The store.
        what: What could not be done: `read`.
    """
    said = said_of(error)
    if "FENCED" in said:
        return StoreFencedError("another run has taken over the store", hint="Stop one of the two.")
    if "EMPTIED" in said:
        return emptied(target)
    told = failure(error, target, f"could not {what}")
    kind = StoreUnavailableError if isinstance(told, SinkUnavailableError) else StoreError
    return kind(told.message, detail=told.detail, hint=told.hint)


@options
class RedisOptions:
    """`{kv: {store: redis, url: redis://host:6379/0}}`; keys are `<prefix>:<query>:…`."""

    url: str = text("The address of the store's server.", default="", secret=True)
    prefix: str = text("What each key begins with, or the table's name.", default="joinery")

    def make(self, place: SolutionPlace) -> RedisStore:
        """Return the store of a query, opened."""
        url = self.url or _LOCAL
        if urlsplit(url).scheme not in _SCHEMES:
            raise StoreOptionError(
                'option "url" of store "redis" is not the address of a Redis server',
                hint="Write redis://host:6379/0.",
            )
        return RedisStore(url, f"{self.prefix}:{place.query}")


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
