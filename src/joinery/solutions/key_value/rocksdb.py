"""The store `rocksdb`: entries in a folder of this machine, larger than memory where need be.

Invariant: a call of `put_many` is durable on disk when it returns; the folder has one owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from joinery.errors import needs_extra
from joinery.project.option import options, path_in, text
from joinery.slices import slices
from joinery.solutions.key_value.store import Address
from joinery.solutions.stored.state import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

FOLDER = "rocksdb"
CACHE_MB = 256
_ENTRIES_A_BATCH = 20_000
_MEGABYTE = 1 << 20
_LOCK = "LOCK"  # the file that a folder's owner holds; its name stands in errors of that alone
_FULL = "No space left on device"


class RocksDbEntries:
    """Reads entries of a RocksDB, under `<partition> NUL <sort key>`.

    Args:
        database: Opened.
        folder: Its own, for messages.
    """

    def __init__(self, database: Any, folder: Path) -> None:
        self._database, self._folder = database, folder

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address; neighbours are read together."""
        keys = [partition + b"\0" + sort for partition, sort in addresses]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        values: list[bytes | None] = [None] * len(keys)
        for some in slices(order, _ENTRIES_A_BATCH):
            for at, value in zip(some, self._read([keys[at] for at in some]), strict=True):
                values[at] = value
        return values

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions, in order."""
        found = self._database.iter()
        for partition in sorted(partitions):
            head = partition + b"\0"
            size = len(head)
            found.seek(head)
            while found.valid():
                key = found.key()
                if not key.startswith(head):
                    break
                yield (partition, key[size:]), found.value()
                found.next()
            else:
                self._check(found)

    def close(self) -> None:
        """Close the database, so that another may open it.

        Raises:
            StoreError: What it still holds in memory cannot be written, as on a full disk.
        """
        try:
            self._database.close()
        except Exception as error:
            raise _told(self._folder, error) from error

    def _check(self, found: Any) -> None:
        """Raise where an iterator ended because of what it could not read."""
        try:
            found.status()
        except Exception as error:
            raise _told(self._folder, error) from error

    def _read(self, keys: list[bytes]) -> list[bytes | None]:
        try:
            found: list[bytes | None] = self._database.get(keys)
        except Exception as error:
            raise _told(self._folder, error) from error
        return found


class RocksDbStore(RocksDbEntries):
    """Keeps entries in the RocksDB of a folder.

    Args:
        folder: Is made where it is missing.
        cache_mb: Memory for blocks read; the database itself may be of any size.
    """

    def __init__(self, folder: Path, *, cache_mb: int = CACHE_MB) -> None:
        self._rocks = _driver()
        self._cache_mb = cache_mb
        try:
            folder.mkdir(parents=True, exist_ok=True)
            database = self._rocks.Rdict(str(folder), _options(self._rocks, cache_mb))
        except Exception as error:
            raise _told(folder, error) from error
        super().__init__(database, folder)

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put and remove entries."""
        try:
            for some in slices(entries.items(), _ENTRIES_A_BATCH):
                batch = self._rocks.WriteBatch(raw_mode=True)
                for (partition, sort), value in some:
                    if value is None:
                        batch.delete(partition + b"\0" + sort)
                    else:
                        batch.put(partition + b"\0" + sort, value)
                self._database.write(batch)
            self._database.flush_wal(sync=True)
        except Exception as error:
            raise _told(self._folder, error) from error

    def clear(self, head: bytes) -> None:
        """Remove all entries of all partitions that begin with `head`."""
        batch = self._rocks.WriteBatch(raw_mode=True)
        batch.delete_range(head, head + b"\xff")
        try:
            self._database.write(batch)
            self._database.flush_wal(sync=True)
        except Exception as error:
            raise _told(self._folder, error) from error

    def partitions(self, head: bytes) -> Iterator[bytes]:
        """Yield the partitions that begin with `head`."""
        found = self._database.iter()
        found.seek(head)
        last = b""
        while found.valid():
            partition = found.key().partition(b"\0")[0]
            if not partition.startswith(head):
                return
            if partition != last:
                yield partition
            last = partition
            found.next()
        self._check(found)

    def reader(self) -> Callable[[], RocksDbReader]:
        """Return what opens the folder in another process, to be read."""
        return partial(RocksDbReader, self._folder, cache_mb=self._cache_mb)


class RocksDbReader(RocksDbEntries):
    """Reads the RocksDB of a folder that another process writes, as it stood at `catch_up`.

    Args:
        folder: Of the `RocksDbStore`.
        cache_mb: Memory for blocks read.
    """

    def __init__(self, folder: Path, *, cache_mb: int = CACHE_MB) -> None:
        rocks = _driver()
        self._notes = TemporaryDirectory(prefix="joinery-rocksdb-")
        access = rocks.AccessType.secondary(self._notes.name)
        try:
            database = rocks.Rdict(str(folder), _options(rocks, cache_mb), access_type=access)
        except Exception as error:
            self._notes.cleanup()
            raise _told(folder, error) from error
        super().__init__(database, folder)

    def catch_up(self) -> None:
        """See what was put until now.

        Raises:
            StoreUnavailableError: Files went meanwhile; opened again, it sees those that stand.
        """
        try:
            self._database.try_catch_up_with_primary()
        except Exception as error:
            told = _told(self._folder, error)
            raise StoreUnavailableError(told.message, detail=told.detail) from error

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Refuse: the folder has one writer."""
        raise StoreError(f"the store in {self._folder} was opened read-only")

    def close(self) -> None:
        """Close the database."""
        super().close()
        self._notes.cleanup()


@options
class RocksDbOptions:
    """`{kv: {store: rocksdb, path: state}}`; the folder is in the checkpoint by default."""

    path: str = text(
        "The folder of an embedded store; by default next to the checkpoint.", default=""
    )

    def make(self, place: SolutionPlace) -> RocksDbStore:
        """Return the store of a query, opened."""
        if not self.path:
            return RocksDbStore(place.folder / FOLDER)
        return RocksDbStore(path_in(place.project, self.path) / place.query)


def _options(rocks: Any, cache_mb: int) -> Any:
    blocks = rocks.BlockBasedOptions()
    blocks.set_block_cache(rocks.Cache(cache_mb * _MEGABYTE))
    blocks.set_bloom_filter(10, block_based=False)
    options = rocks.Options(raw_mode=True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(rocks.DBCompressionType.lz4())
    options.set_write_buffer_size(64 * _MEGABYTE)
    return options


def _driver() -> Any:
    with needs_extra("kv", 'store "rocksdb" needs the package rocksdict', StoreError):
        import rocksdict
    return rocksdict


def _told(folder: Path, error: Exception) -> StoreError:
    if f"{_LOCK}:" in str(error):
        return StoreError(
            f"another process uses the store in {folder}",
            detail=f"{error}.",
            hint="Stop the other run.",
        )
    kind = StoreUnavailableError if _FULL in str(error) else StoreError
    return kind(
        f"could not use the store in {folder}",
        detail=f"{error}.",
        hint="Free disk space, or restore the folder.",
    )
