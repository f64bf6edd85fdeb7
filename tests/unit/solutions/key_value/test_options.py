"""Key-value stores are found by name: the built-in ones, and those of installed packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from joinery.errors import StoreOptionError
from joinery.plan.build import build_plan
from joinery.project.kinds import KEY_VALUE_STORES, UnknownKindError
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.key_value.rocksdb import RocksDbStore
from joinery.testing import Driver, insert, upsert
from joinery.testing.conformance.project import load_text
from joinery.testing.conformance.store_suite import STORE_RULES, Make

EXAMPLE = Path(__file__).parents[4] / "examples/plugin_store"
PRODUCT = build_plan(
    load_text("""
relations:
  user: {key: [id], fields: {id: long}}
  star: {key: [user, repo], fields: {user: int, repo: string}}
products:
  p: {root: user, embed: {stars: {many: star, on: {user: id}, fields: [repo]}}}
""")
).products[0]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example package on the path, with the entry point that its wheel would have."""
    facts = tmp_path / "site" / "joinery_file_store-0.1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: joinery-file-store\n")
    (facts / "entry_points.txt").write_text(
        "[joinery.stores]\nfile = joinery_file_store:FileOptions\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    monkeypatch.delitem(sys.modules, "joinery_file_store", raising=False)


def place(folder: Path) -> SolutionPlace:
    return SolutionPlace(folder / "state", "query", folder)


def test_rocksdb_in_the_checkpoint_is_the_default(tmp_path: Path) -> None:
    open_solution("kv", [PRODUCT], {}, place(tmp_path)).close()

    assert (tmp_path / "state" / "rocksdb" / "CURRENT").exists()


def test_two_queries_at_one_path_have_a_folder_each(tmp_path: Path) -> None:
    store = KEY_VALUE_STORES.make("rocksdb", {"path": "stores"}, place(tmp_path))

    assert isinstance(store, RocksDbStore)
    assert (tmp_path / "stores" / "query" / "CURRENT").exists()
    store.close()


def test_an_unknown_store_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownKindError) as refused:
        KEY_VALUE_STORES.make("rocksbd", {}, place(tmp_path))

    assert 'store "rocksbd" is not installed' == refused.value.message
    assert "SPEC_UNKNOWN_STORE" == refused.value.code
    assert 'Use "rocksdb".' == refused.value.hint


def test_an_option_of_another_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreOptionError, match='store "rocksdb" of "kv" has no option "url"'):
        KEY_VALUE_STORES.make("rocksdb", {"url": "redis://"}, place(tmp_path))


def test_an_address_that_is_no_redis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreOptionError, match="is not the address of a Redis"):
        KEY_VALUE_STORES.make("redis", {"url": "http://localhost"}, place(tmp_path))


@pytest.mark.usefixtures("installed")
def test_a_package_adds_a_store_by_its_entry_point(tmp_path: Path) -> None:
    assert "file" in KEY_VALUE_STORES

    driver = Driver(PRODUCT, solution="kv", options={"store": "file"}, folder=tmp_path)
    emitted = driver.send(insert("user", id=1), insert("star", user=1, repo="x"))

    assert [upsert(1, {"id": 1, "stars": [{"repo": "x"}]})] == emitted
    assert (tmp_path / "state.db").exists()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("rule", STORE_RULES, ids=lambda each: each.__name__)
def test_the_plug_in_of_the_examples_holds(rule: Callable[[Make], None], tmp_path: Path) -> None:
    rule(lambda: KEY_VALUE_STORES.make("file", {"path": "state.db"}, place(tmp_path)))
