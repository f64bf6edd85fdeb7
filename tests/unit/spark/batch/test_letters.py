"""Documents that a sink refuses between two batches are kept, all of them, in bounded memory."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joinery.dead_letters.folder import DeadLetterFolder, DeadLetterFolderReader
from joinery.delivery.lease import Lease
from joinery.delivery.outlet import SinkResult
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Refusal, Written
from joinery.spark.batch.letters import QueryLetters


def refused(version: int) -> list[SinkResult]:
    row = StagedRow('{"id":1}', '{"id":1}', version)
    return [SinkResult("target", Written(refused=(Refusal(row, "document_refused", "no"),)))]


@contextmanager
def letters_of(folder: Path) -> Iterator[QueryLetters]:
    """Yield the letters of one run."""
    lease = Lease(folder / "lease", "q")
    lease.take()
    yield QueryLetters(DeadLetterFolder(folder, "q"), lease)
    lease.release()


def versions(folder: Path) -> list[int]:
    return [json.loads(line)["version"] for line in DeadLetterFolderReader(folder).lines()]


def generations(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / ".q-generations.json").read_text())
    return found


def test_what_is_refused_between_batches_is_kept_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_790_000_000.0)

    with letters_of(tmp_path) as letters:
        letters.keep_refused("p", refused(1))
        letters.keep_refused("p", refused(2))
        letters.keep_refused("p", refused(3))

    assert [1, 2, 3] == versions(tmp_path)


def test_a_folder_of_dead_letters_remembers_each_product_once(tmp_path: Path) -> None:
    with letters_of(tmp_path) as first:
        first.keep_refused("p", refused(1))
        first.keep_refused("other", refused(2))
        first.keep_refused("p", refused(3))
    with letters_of(tmp_path) as second:
        second.keep_refused("p", refused(4))

    assert {"p-between": 1, "other-between": 2} == generations(tmp_path)
    assert {1, 2, 3, 4} == set(versions(tmp_path))
    assert 4 == len(versions(tmp_path))


def test_a_batch_s_letters_and_those_between_batches_keep_apart(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_text('{"version": 7}\n')

    with letters_of(tmp_path) as letters:
        letters.keep((part,), query_id="c", batch_id=0)
        letters.keep_refused("p", refused(8))
        letters.keep((part,), query_id="c", batch_id=0)

    assert [7, 8] == versions(tmp_path)
