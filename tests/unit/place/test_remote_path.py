"""A name in an object store is taken apart and put together as a path is."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from joinery.errors import RunError
from joinery.place.place import LocalOnlyError, local, with_short_patience
from joinery.place.remote_path import RemotePath
from joinery.place.s3 import S3Options, hadoop_settings
from joinery.place.store import StorageError
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations: {user: {key: [id], fields: {id: long}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""
HERE = RemotePath.of("s3a://bucket/folder/file.json", S3Options(secret_key="hidden"))


def test_its_parts_are_those_of_a_path() -> None:
    assert (HERE.name, HERE.stem, HERE.suffix) == ("file.json", "file", ".json")
    assert str(HERE.parent) == "s3a://bucket/folder"
    assert str(HERE.parent.parent) == "s3a://bucket"
    assert str(HERE.with_suffix(".asked")) == "s3a://bucket/folder/file.asked"
    assert str(HERE.with_name("other")) == "s3a://bucket/folder/other"
    assert str(HERE.parent.parent / "a" / "b") == "s3a://bucket/a/b"


def test_a_whole_bucket_has_names_too() -> None:
    assert str(RemotePath.of("s3a://bucket", S3Options()) / "file") == "s3a://bucket/file"


def test_what_is_secret_is_not_printed_and_goes_to_tasks() -> None:
    assert "hidden" not in repr(HERE)
    assert "hidden" not in repr(HERE.options)
    assert pickle.loads(pickle.dumps(HERE)).options.secret_key == "hidden"


def test_what_needs_a_disk_says_so() -> None:
    assert local(Path("x"), "this") == Path("x")
    with pytest.raises(LocalOnlyError, match="this needs a checkpoint on a disk"):
        local(HERE, "this")


def test_hadoop_s_settings_are_joinery_s() -> None:
    said = {
        "spark.hadoop.fs.s3a.endpoint": "127.0.0.1:9000",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.sql.shuffle.partitions": "2",
    }

    options = S3Options.of(said)

    assert options == S3Options(endpoint="http://127.0.0.1:9000", access_key="key", path_style=True)


def test_hadoop_is_told_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert hadoop_settings() == {}

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://x:1")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")

    assert hadoop_settings() == {
        "spark.hadoop.fs.s3a.endpoint": "http://x:1",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-central-1",
    }


def test_what_goes_to_tasks_names_the_store_of_the_driver_s_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://x:1")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    said = "{spark.hadoop.fs.s3a.endpoint.region: us-east-1}"
    spec = load_text(f"run: {{checkpoint: 's3a://bucket/x', spark: {said}}}\n{PROJECT}")
    sent = pickle.dumps(spec.checkpoint)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")

    place = pickle.loads(sent)

    assert ("http://x:1", "us-east-1") == (place.options.endpoint, place.options.region)


def test_a_failure_of_the_store_is_one_of_a_disk_too() -> None:
    error = StorageError("could not read x", detail="Why.", hint="Do.")

    assert isinstance(error, OSError)
    assert (error.message, error.detail, error.hint) == ("could not read x", "Why.", "Do.")
    assert pickle.loads(pickle.dumps(error)).message == "could not read x"


def test_a_client_that_is_not_installed_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)

    with pytest.raises(RunError, match="s3a:// needs boto3"):
        RemotePath.of("s3a://bucket/x", S3Options(region="nowhere")).read_bytes()


def test_a_renewal_has_less_patience_and_is_of_the_same_file() -> None:
    hurried = with_short_patience(HERE, tries=2)

    assert isinstance(hurried, RemotePath)
    assert HERE == hurried
    assert S3Options(secret_key="hidden", answer_s=4.0, tries=2) == hurried.options
    assert with_short_patience(Path("x"), tries=2) == Path("x")
