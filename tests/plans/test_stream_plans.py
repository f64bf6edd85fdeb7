"""Golden plans of streams: a spec and what follows from it; `make golden` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joinery.plan.build import build_plan
from joinery.plan.explain.page import explain_stream
from joinery.project.load import load_spec

CASES = sorted(Path(__file__).with_name("streams").glob("*.txt"))
MARK = "-- logical\n"


def golden(spec_text: str, folder: Path) -> str:
    """Return the whole text that belongs to a spec."""
    file = folder / "joinery.yaml"
    file.write_text(spec_text.removeprefix("-- spec\n"), encoding="utf-8")
    streams = build_plan(load_spec(file)).streams
    return spec_text + "\n\n".join(str(explain_stream(each, why=True)) for each in streams) + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_stream_reads_as_written(case: Path, tmp_path: Path) -> None:
    text = case.read_text(encoding="utf-8")

    made = golden(text.partition(MARK)[0], tmp_path)

    if os.environ.get("JOINERY_GOLDEN") == "write":
        case.write_text(made, encoding="utf-8")
    assert made == case.read_text(encoding="utf-8")


def test_there_are_golden_streams() -> None:
    assert CASES
