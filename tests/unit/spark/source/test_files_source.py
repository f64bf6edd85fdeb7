"""What a files source refuses before Spark is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec
from joinery.spark.source.files import open_files
from joinery.spark.source.source import BatchRoom, SourceNotThereError


@pytest.mark.parametrize("file", ["data", "data/user"])
def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    source = SourceSpec("changes", "files", (("path", "data"),))
    spec = ProjectSpec("shop", (source,), run=RunSpec(), folder=tmp_path)

    with pytest.raises(
        SourceNotThereError, match=f'source "changes" reads a folder, and .*/{file} is'
    ):
        open_files(cast(Any, None), spec, source, ["user"], BatchRoom())
