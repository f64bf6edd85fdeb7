"""The stores that need no server hold the rules of a key-value store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import randbytes

import pytest
from redis.exceptions import NoPermissionError

from joinery.solutions.key_value.memory import MemoryStore
from joinery.solutions.key_value.redis import RedisStore
from joinery.solutions.key_value.rocksdb import RocksDbEntries, RocksDbStore
from joinery.solutions.stored.state import StoreError, StoreUnavailableError
from joinery.testing.conformance.store_suite import STORE_RULES, Make

EACH_RULE = pytest.mark.parametrize("rule", STORE_RULES, ids=lambda each: each.__name__)


@EACH_RULE
def test_memory(rule: Callable[[Make], None]) -> None:
    store = MemoryStore()

    rule(lambda: store)


@EACH_RULE
def test_rocksdb(rule: Callable[[Make], None], tmp_path: Path) -> None:
    rule(lambda: RocksDbStore(tmp_path / "store", cache_mb=8))


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    owner = RocksDbStore(tmp_path / "store", cache_mb=8)

    with pytest.raises(StoreError) as refused:
        RocksDbStore(tmp_path / "store", cache_mb=8)

    assert f"another process uses the store in {tmp_path / 'store'}" == refused.value.message
    owner.close()


def test_what_cannot_be_read_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    store = RocksDbStore(tmp_path / "store", cache_mb=8)
    store.put_many({(b"part", b"%04d" % at): randbytes(200) for at in range(2_000)})
    store._database.flush()
    store.close()
    _spoil(next((tmp_path / "store").glob("*.sst")))
    spoiled = RocksDbStore(tmp_path / "store", cache_mb=8)

    with pytest.raises(StoreError) as scanned:
        list(spoiled.scan([b"part"]))
    with pytest.raises(StoreError):
        list(spoiled.partitions(b"par"))
    spoiled.close()

    assert f"could not use the store in {tmp_path / 'store'}" == scanned.value.message
    assert "block checksum mismatch" in scanned.value.detail


def _spoil(file: Path) -> None:
    """Alter some bytes in the midst of a file, as a failing disk does."""
    with file.open("r+b") as content:
        content.seek(file.stat().st_size // 2)
        content.write(bytes(64))


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError) as refused:
        RocksDbStore(tmp_path / "file" / "store", cache_mb=8)

    assert refused.value.message.startswith("could not use the store in")


class Full:
    """A database that cannot write what it holds."""

    def close(self) -> None:
        raise RuntimeError("IO error: No space left on device: while appending to a file")


def test_a_full_disk_that_keeps_a_store_from_closing_is_an_outage(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        RocksDbEntries(Full(), tmp_path).close()


class Remote:
    """A Redis of which nothing is asked but what its memory is."""

    def __init__(self, policy: str | None, limit: int = 1 << 30) -> None:
        self._policy, self._limit = policy, limit

    def ping(self) -> bool:
        return True

    def info(self, section: str) -> dict[str, object]:
        if self._policy is None:
            raise NoPermissionError("this user has no permissions to run the 'info' command")
        return {"maxmemory_policy": self._policy, "maxmemory": self._limit}

    def register_script(self, script: str) -> None:
        pass


def open_on(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> RedisStore:
    monkeypatch.setattr("joinery.solutions.key_value.redis.open_redis", lambda url, access: remote)
    return RedisStore("redis://cache", "joinery:p")


def test_a_redis_that_removes_keys_when_it_is_full_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(StoreError, match="is a cache") as refused:
        open_on(Remote("allkeys-lru"), monkeypatch)

    assert "Its maxmemory-policy is allkeys-lru." == refused.value.detail


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru", None])
def test_a_redis_that_keeps_what_has_no_end_is_taken(
    policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_on(Remote(policy), monkeypatch)


def test_a_redis_without_a_limit_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    open_on(Remote("allkeys-lru", limit=0), monkeypatch)
