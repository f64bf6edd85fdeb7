"""The store `rocksdb`: entries in a folder of this machine, larger than memory where need be.

Invariant: a call of `put_many` is durable on disk when it returns; the folder has one owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.solutions.key_value.option import check_options
from joinery.solutions.key_value.store import Address
from joinery.solutions.store import StoreError

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

FOLDER = "rocksdb"
_ENTRIES_A_BATCH = 20_000
_MEGABYTE = 1 << 20


class RocksDbStore:
    """Keeps entries in the RocksDB of a folder, under `<partition> NUL <sort key>`.

    Args:
        folder: Is made where it is missing.
        cache_mb: Memory for blocks read; the database itself may be of any size.
    """

    def __init__(self, folder: Path, *, cache_mb: int = 256) -> None:
        self._folder = folder
        self._rocks = _driver()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database: Any = self._rocks.Rdict(str(folder), self._options(cache_mb))
        except Exception as error:
            raise _told(folder, error) from error

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address; neighbours are read together."""
        keys = [partition + b"\0" + sort for partition, sort in addresses]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        values: list[bytes | None] = [None] * len(keys)
        for start in range(0, len(order), _ENTRIES_A_BATCH):
            some = order[start : start + _ENTRIES_A_BATCH]
            for at, value in zip(some, self._read([keys[at] for at in some]), strict=True):
                values[at] = value
        return values

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put and remove entries."""
        waiting = iter(entries.items())
        try:
            while some := list(islice(waiting, _ENTRIES_A_BATCH)):
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

    def clear(self, head: bytes) -> None:
        """Remove all entries of all partitions that begin with `head`."""
        batch = self._rocks.WriteBatch(raw_mode=True)
        batch.delete_range(head, head + b"\xff")
        try:
            self._database.write(batch)
            self._database.flush_wal(sync=True)
        except Exception as error:
            raise _told(self._folder, error) from error

    def close(self) -> None:
        """Close the database, so that another may open it."""
        self._database.close()

    def _read(self, keys: list[bytes]) -> list[bytes | None]:
        try:
            found: list[bytes | None] = self._database.get(keys)
        except Exception as error:
            raise _told(self._folder, error) from error
        return found

    def _options(self, cache_mb: int) -> Any:
        blocks = self._rocks.BlockBasedOptions()
        blocks.set_block_cache(self._rocks.Cache(cache_mb * _MEGABYTE))
        blocks.set_bloom_filter(10, block_based=False)
        options = self._rocks.Options(raw_mode=True)
        options.set_block_based_table_factory(blocks)
        options.set_compression_type(self._rocks.DBCompressionType.lz4())
        options.set_write_buffer_size(64 * _MEGABYTE)
        return options


def rocksdb_store(options: Mapping[str, object], place: SolutionPlace) -> RocksDbStore:
    """Make the store `{store: rocksdb, path: …}`; the path is in the checkpoint by default."""
    check_options("rocksdb", options, ("path",))
    path = options.get("path")
    if not path:
        return RocksDbStore(place.folder / FOLDER)
    return RocksDbStore((place.project / Path(str(path)).expanduser()).absolute() / place.query)


def _driver() -> Any:
    try:
        import rocksdict
    except ImportError as missing:
        raise StoreError(
            'store "rocksdb" needs the package rocksdict', hint="Run `pip install 'joinery[kv]'`."
        ) from missing
    return rocksdict


def _told(folder: Path, error: Exception) -> StoreError:
    if "lock" in str(error).lower():
        return StoreError(
            f"another process uses the store in {folder}",
            detail=f"{error}.",
            hint="Stop the other run.",
        )
    return StoreError(
        f"could not use the store in {folder}",
        detail=f"{error}.",
        hint="Free the disk, or give back the folder as it was.",
    )
