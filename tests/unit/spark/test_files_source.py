"""What a files source refuses before Spark is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from joinery.spark.files_source import open_files
from joinery.spark.source import SourceNotThereError
from joinery.spec.product import ProjectSpec, SourceSpec


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    source = SourceSpec("changes", "files", (("path", "data"),))
    spec = ProjectSpec("shop", (source,), folder=tmp_path)

    with pytest.raises(SourceNotThereError, match='source "changes" reads a folder'):
        open_files(cast(Any, None), spec, source, ["user"])
