"""Dead letters in an object store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.services import object_folder
from tests.services.object_folder import over
from tests.services.s3_server import BadNetwork, S3Server

from joinery.dead_letters.dead_letter import Resolution
from joinery.dead_letters.open import dead_letter_writer
from joinery.dead_letters.remote import RemoteDeadLetters, RemoteDeadLettersReader
from joinery.observe.kept_letters import kept_letters
from joinery.observe.outline import letters_folder
from joinery.place.remote_path import RemotePath
from joinery.sinks.protocol import FencedError
from joinery.testing.conformance.project import load_text

pytestmark = pytest.mark.services
folder = object_folder.folder
network = object_folder.network
PROJECT = """\
relations: {user: {key: [id], fields: {id: long, name: string}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""


@pytest.fixture
def settings(s3: S3Server) -> dict[str, str]:
    """What `run.spark` says of the store."""
    return s3.settings


def test_dead_letters_of_a_batch_that_runs_again_stand_once(
    folder: RemotePath, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.write_bytes(b'{"a": 1}\n{"a": 2}\n')
    writer, reader = RemoteDeadLetters(folder, "q"), RemoteDeadLettersReader(folder)

    for _ in range(2):
        writer.put([part], query_id="id", batch_id=3, check=lambda: None)
    at = "2026-01-01T00:00:00Z"
    mark = Resolution(id="x", state="dropped", until=at, at=at)
    reader.mark([mark])

    assert [b'{"a": 1}\n', b'{"a": 2}\n'] == list(reader.lines())
    assert [mark] == list(reader.marks())


def test_open_dead_letters_are_told_to_who_looks(
    folder: RemotePath, settings: dict[str, str], tmp_path: Path
) -> None:
    said = json.dumps(settings)
    spec = load_text(f"run: {{checkpoint: '{folder}', spark: {said}}}\n{PROJECT}")
    part = tmp_path / "part"
    letter = {"reason": "undecodable", "topic": "user", "file": "1.jsonl"}
    lines = [{**letter, "line": n, "time": "2026-01-01T00:00:00Z"} for n in (1, 2)]
    part.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    dead_letter_writer(spec, "person").put([part], query_id="id", batch_id=3, check=lambda: None)

    kept = kept_letters(letters_folder(spec))

    assert kept is not None
    assert ["user", "user"] == [each.of for each in kept.open]


def test_dead_letters_of_a_run_that_was_replaced_are_not_kept(
    folder: RemotePath, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"{}\n")

    def replaced() -> None:
        raise FencedError("another run has taken over")

    with pytest.raises(FencedError):
        RemoteDeadLetters(folder, "q").put([part], query_id="id", batch_id=3, check=replaced)

    assert not folder.exists()


def test_dead_letters_tell_their_size_and_are_read_once(
    folder: RemotePath, network: BadNetwork, tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.write_bytes(b'{"a": 1}\n')
    there = over(network, folder)
    RemoteDeadLetters(there, "q").put([part], query_id="id", batch_id=3, check=lambda: None)
    assert [b'{"a": 1}\n'] == list(RemoteDeadLettersReader(there).lines())
    asked = network.asked

    reader = RemoteDeadLettersReader(there)

    assert (9, [b'{"a": 1}\n']) == (reader.size, list(reader.lines()))
    assert network.asked == asked + 2  # both list
