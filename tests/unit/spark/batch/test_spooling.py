"""A spool stands in the checkpoint, one a target, and is never forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.delivery.spool import DEFAULT_MAX_BYTES
from joinery.plan.product import Sink
from joinery.sinks.files import FilesSink
from joinery.sinks.protocol import SinkError
from joinery.spark.batch.setup import spool_places

SPOOLED = Sink("files", (("path", "a"), ("spool", True), ("spool_max_bytes", "2 MiB")))
PLAIN = Sink("files", (("path", "a"),))


def test_only_a_sink_that_asks_for_it_has_a_spool(tmp_path: Path) -> None:
    sinks = (FilesSink(Path("a")), FilesSink(Path("b")))

    first, second = spool_places("p", sinks, (SPOOLED, PLAIN), tmp_path)

    assert first is not None
    assert 2 << 20 == first.max_bytes
    assert second is None


def test_a_spool_has_a_bound_where_none_is_declared(tmp_path: Path) -> None:
    sink = Sink("files", (("spool", True),))

    (place,) = spool_places("p", (FilesSink(Path("a")),), (sink,), tmp_path)

    assert place is not None
    assert DEFAULT_MAX_BYTES == place.max_bytes


def test_each_target_has_a_spool_of_its_own(tmp_path: Path) -> None:
    sinks = (FilesSink(Path("a")), FilesSink(Path("b")))

    first, second = spool_places("p", sinks, (SPOOLED, SPOOLED), tmp_path)

    assert first is not None
    assert second is not None
    assert first.folder != second.folder


def test_documents_left_for_another_target_stop_the_run(tmp_path: Path) -> None:
    (place,) = spool_places("p", (FilesSink(Path("a")),), (SPOOLED,), tmp_path)
    assert place is not None
    (place.folder / "000000000001").mkdir(parents=True)

    with pytest.raises(SinkError, match="without a spool"):
        spool_places("p", (FilesSink(Path("b")),), (SPOOLED,), tmp_path)
    with pytest.raises(SinkError, match="without a spool"):
        spool_places("p", (FilesSink(Path("a")),), (PLAIN,), tmp_path)
