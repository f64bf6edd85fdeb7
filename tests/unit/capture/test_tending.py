"""Looking after a capture ends it where its spool is gone, and at nothing that may be mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.capture.mysql import MysqlDatabase
from joinery.capture.spool import CaptureLostError, SpoolFolder
from joinery.capture.tending import Tending


@pytest.fixture
def spool(tmp_path: Path) -> SpoolFolder:
    return SpoolFolder.claim(tmp_path / "spool", slot="joinery_1", tables=("shop.customer",))


@pytest.fixture
def tending(spool: SpoolFolder) -> Tending:
    return Tending(
        MysqlDatabase("mysql://joinery@localhost/shop", "joinery_1", ("shop.customer",), 7),
        spool,
        name="t",
        keep_s=1.0,
        applied=lambda reader: {},
        max_wal=None,
        columns={},
        on_warning=lambda warning: None,
    )


def test_a_spool_whose_files_are_gone_ends_the_capture(
    spool: SpoolFolder, tending: Tending
) -> None:
    (spool.path / "source.json").unlink()

    assert not tending.look()
    assert isinstance(tending.lost, CaptureLostError)


@pytest.mark.parametrize("name", ["source.json", "position.json"])
def test_a_file_that_cannot_be_read_now_is_read_at_the_next_look(
    spool: SpoolFolder, tending: Tending, name: str
) -> None:
    (spool.path / name).write_text("{")

    assert tending.look()
