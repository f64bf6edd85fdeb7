"""What a run tells of its queries in their status files."""

from __future__ import annotations

import time
from pathlib import Path

from joinery.errors import RunError
from joinery.model.batch import BatchProgress
from joinery.model.progress import Progress
from joinery.model.status import QueryStatus
from joinery.observe.read_status import read_status
from joinery.observe.status_file import StatusFiles


def batch(*, live: bool) -> BatchProgress:
    return BatchProgress(
        query="person",
        batch_id=0,
        relations={"user": {"read": 3}},
        documents={},
        counters={},
        dead=0,
        seconds=1.0,
        ended_at=time.time() - 3600,
        live=live,
    )


def written(folder: Path, progress: Progress) -> QueryStatus:
    file = folder / "person.json"
    StatusFiles({"person": file}, {"person": ()}, {}, lambda: progress).begin()
    told, unreadable = read_status(file)
    assert told is not None, unreadable
    return told


def test_a_query_in_real_time_is_not_behind_while_nothing_comes(tmp_path: Path) -> None:
    """Spark does not tell what is left to read then, and what comes is taken at once."""
    assert written(tmp_path, Progress().plus(batch(live=True))).caught_up


def test_a_query_in_batches_is_caught_up_where_spark_says_so(tmp_path: Path) -> None:
    assert not written(tmp_path, Progress().plus(batch(live=False))).caught_up


def test_what_is_built_first_is_told_until_the_first_batch_is_through(tmp_path: Path) -> None:
    begun = Progress(building={"person": ("cards",)})

    assert ("cards",) == written(tmp_path, begun).building
    assert () == written(tmp_path, begun.plus(batch(live=False))).building


def test_a_run_that_was_replaced_leaves_the_status_of_the_one_that_goes_on(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("kept", "lost")}
    lost: set[str] = set()
    products = dict.fromkeys(files, ())
    status = StatusFiles(files, products, {}, Progress, lost.__contains__)
    status.begin()

    lost.add("lost")
    status.end(RunError("another run has taken over"))

    told = {name: read_status(file)[0] for name, file in files.items()}
    assert {"kept": "failed", "lost": "running"} == {
        name: each and each.state for name, each in told.items()
    }


def test_why_a_run_failed_is_told_apart_from_its_code(tmp_path: Path) -> None:
    file = tmp_path / "person.json"
    failure = RunError("Spark's process ended")
    StatusFiles({"person": file}, {"person": ()}, {}, Progress).end(failure)
    told, _ = read_status(file)
    assert told is not None
    assert ("Spark's process ended", "RUN") == (told.why, told.code)
