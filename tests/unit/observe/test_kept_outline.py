"""Outlines that are kept, and when none of them is used."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.observe.kept_outline import load_outline
from joinery.observe.outline import Outline
from joinery.project.load import load_spec, variables_of

PROJECT = """\
name: shop
sources: {changes: {files: {path: "${DATA:-data}"}}}
relations:
  customer: {key: [id], topic: crm.customer, fields: {id: long, name: string}}
products:
  profile: {root: customer, group: all, sink: {files: {path: out}}, expect: {fresh: 5s, dead: 0}}
  names: {root: customer, fields: [name], group: all, sink: {files: {path: out}}}
run: {checkpoint: "${PLACE:-state}"}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOINERY_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "shop" / "joinery.yaml"
    file.parent.mkdir()
    file.write_text(PROJECT)
    return file


def kept(file: Path) -> list[Path]:
    return sorted((file.parents[1] / "cache" / "outlines").glob("*.json"))


def test_an_outline_that_was_kept_is_the_one_of_the_project(file: Path) -> None:
    read, again = load_outline(file), load_outline(file)

    assert Outline.of(load_spec(file)) == read == again
    assert 1 == len(kept(file))


def test_an_edit_is_seen_though_size_and_time_of_the_file_are_the_same(file: Path) -> None:
    load_outline(file)
    before = file.stat()
    file.write_text(PROJECT.replace("names:", "named:"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert {"profile": "all", "named": "all"} == load_outline(file).queries


def test_an_environment_variable_that_changed_is_seen(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_outline(file)
    monkeypatch.setenv("PLACE", "elsewhere")

    assert file.parent / "elsewhere" == load_outline(file).checkpoint
    assert frozenset({"DATA", "PLACE"}) == variables_of(load_spec(file))


def test_a_copy_in_another_folder_has_its_own_places(file: Path, tmp_path: Path) -> None:
    load_outline(file)
    shutil.copytree(file.parent, tmp_path / "copy")

    assert tmp_path / "copy" / "state" == load_outline(tmp_path / "copy" / file.name).checkpoint


def test_a_file_that_joins_the_folder_of_a_project_is_seen(file: Path) -> None:
    load_outline(file.parent)
    (file.parent / "more.yaml").write_text(
        "products: {more: {root: customer, sink: {files: {path: out}}}}\n"
    )

    assert {"profile", "names", "more"} == load_outline(file.parent).queries.keys()
    assert {"profile", "names"} == load_outline(file).queries.keys()


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"0" * 64 + b"\n{}"])
def test_a_file_that_is_damaged_is_as_none(file: Path, damage: bytes) -> None:
    read = load_outline(file)
    [place] = kept(file)
    whole = place.read_bytes()
    place.write_bytes(damage)

    assert read == load_outline(file)
    assert whole == place.read_bytes()


def test_one_letter_that_is_another_is_damage(file: Path) -> None:
    read = load_outline(file)
    [place] = kept(file)
    place.write_bytes(place.read_bytes().replace(b'"names"', b'"nomes"'))

    assert read == load_outline(file)


def test_nothing_is_kept_of_a_project_with_problems(file: Path) -> None:
    file.write_text(PROJECT.replace("root: customer", "rot: customer"))

    for _ in range(2):
        with pytest.raises(ProjectErrors):
            load_outline(file)
    assert [] == kept(file)


def test_nothing_is_kept_where_a_checkpoint_is_in_a_store(file: Path) -> None:
    file.write_text(PROJECT.replace("${PLACE:-state}", "s3a://bucket/state"))

    assert "s3a://bucket/state" == str(load_outline(file).checkpoint)
    assert [] == kept(file)


def test_a_cache_that_cannot_be_written_is_no_problem(file: Path) -> None:
    (file.parents[1] / "cache").write_text("a file")

    assert Outline.of(load_spec(file)) == load_outline(file)


def test_the_newest_twenty_are_kept_for_their_user_alone(file: Path) -> None:
    for number in range(25):
        file.write_text(PROJECT.replace("name: shop", f"name: shop{number}"))
        load_outline(file)

    assert 20 == len(kept(file))
    assert 0o700 == kept(file)[0].parent.stat().st_mode & 0o777
