"""The stores that need no server hold the rules of a key-value store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from joinery.solutions.key_value.rocksdb import RocksDbStore
from joinery.solutions.key_value.store import MemoryStore
from joinery.solutions.stored.state import StoreError
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


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError) as refused:
        RocksDbStore(tmp_path / "file" / "store", cache_mb=8)

    assert refused.value.message.startswith("could not use the store in")
