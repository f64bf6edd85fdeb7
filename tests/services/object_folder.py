"""A folder of an object store for each test, also as it is seen through a network that fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.services.s3_server import BUCKET, BadNetwork, S3Server, s3_settings

from joinery.delivery.query_paths import rebuild_paths
from joinery.files import write_whole
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options
from joinery.spark.recovery.replacement import mark_done


@pytest.fixture
def folder(s3: S3Server, request: pytest.FixtureRequest) -> RemotePath:
    """A folder of the test's own."""
    return RemotePath(BUCKET, request.node.name, S3Options.of(s3.settings))


@pytest.fixture
def network(s3: S3Server) -> Iterator[BadNetwork]:
    with BadNetwork(s3.port).open() as opened:
        yield opened


@pytest.fixture
def spoilt(network: BadNetwork, folder: RemotePath) -> RemotePath:
    """The folder as it is seen through the network."""
    return over(network, folder)


def over(network: BadNetwork, folder: RemotePath) -> RemotePath:
    """Return a folder as it is seen through a network."""
    return RemotePath(BUCKET, folder.key, S3Options.of(s3_settings(network.port)))


def finished_rebuild(folder: RemotePath) -> None:
    """Leave a checkpoint, and a rebuild of it that is to take its place."""
    for name in ("offsets/0", "offsets/1", "state/0/old.zip"):
        write_whole(folder / "q" / name, "old", synced=True)
    fresh = rebuild_paths(folder, "q").checkpoint
    for name in ("offsets/0", "state/0/new.zip", "joinery-held/belongs"):
        write_whole(fresh / name, "new", synced=True)
    mark_done(fresh)


def contents(folder: Place) -> dict[str, str]:
    """Return what the files below a folder hold, by their names."""
    assert isinstance(folder, RemotePath)
    files = (each for each, _ in folder.listed())
    return {each.key.removeprefix(f"{folder.key}/"): each.read_text() for each in files}
