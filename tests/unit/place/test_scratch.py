"""What is of one machine alone is kept apart for each checkpoint, where it can be written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options
from joinery.place.scratch import scratch_of
from joinery.testing.conformance.project import load_text

PROJECT = """
run: {checkpoint: "PLACE"}
relations: {user: {key: [id], fields: {id: long}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""


def place(address: str, endpoint: str | None = None) -> RemotePath:
    return RemotePath.of(address, S3Options(endpoint=endpoint))


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that cannot be written, as a ConfigMap is mounted."""
    folder = tmp_path / "project"
    folder.mkdir()
    access = os.access

    def asked(path: Path, mode: int) -> bool:
        return access(path, mode) and not (mode & os.W_OK and Path(path) == folder)

    monkeypatch.setattr(os, "access", asked)  # root, as whom tests may run, can write all
    return folder


def test_a_checkpoint_has_one_folder(tmp_path: Path) -> None:
    one, again = place("s3a://bucket/prod"), place("s3a://bucket/prod/")

    assert scratch_of(one, tmp_path) == scratch_of(again, tmp_path)
    assert scratch_of(one, tmp_path).parent == tmp_path / ".joinery" / "local"


def test_two_checkpoints_of_a_project_have_two(tmp_path: Path) -> None:
    places = [
        place("s3a://bucket/prod"),
        place("s3a://bucket/test"),
        place("s3a://other/prod"),
        place("s3a://bucket/prod", "http://127.0.0.1:9000"),
    ]

    assert len({scratch_of(each, tmp_path) for each in places}) == 4


def test_the_environment_names_another_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = load_text(PROJECT.replace("PLACE", "s3a://bucket/prod"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    one = spec.scratch
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")

    assert one != spec.scratch


def test_beside_a_project_that_is_mounted_to_be_read_temporary_files_are_taken(
    read_only: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    found = scratch_of(place("s3a://bucket/prod"), read_only)

    assert (found.parent, True) == (tmp_path, found.name.startswith("joinery-"))
    assert found != scratch_of(place("s3a://bucket/test"), read_only)


def test_a_project_goes_by_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places = ("s3a://bucket/one", "s3a://bucket/two", "kept")

    one, two, local = (load_text(PROJECT.replace("PLACE", each)).scratch for each in places)

    assert one != two
    assert local.name == "kept"
