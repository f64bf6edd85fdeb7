"""The sink suite on the sinks that need no server, and on the plug-in of the examples."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.sqlite_file import sqlite_file

from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, StagedBatch, Written, make_sink
from joinery.testing.conformance import (
    SinkCase,
    SinkTarget,
    check_sink,
    examine_sink,
    sink_cases,
)
from joinery.testing.conformance.suite import ConformanceError

ROOT = Path(__file__).parents[2]
EACH_CASE = pytest.mark.parametrize("case", sink_cases(), ids=str)


def keep(case: SinkCase, target: SinkTarget) -> None:
    """Run a case; a gap or a lack is told as a skip with its reason."""
    outcome = case.run(target)
    assert "" == outcome.problem
    if outcome.left_out:
        pytest.skip(outcome.left_out)


@EACH_CASE
def test_files(case: SinkCase, tmp_path: Path) -> None:
    def read(product: str) -> Iterator[StagedRow]:
        return read_rows(sorted((tmp_path / "out" / product).glob("*.jsonl")))

    keep(
        case,
        SinkTarget(
            make=lambda name: make_sink("files", name, {"path": "out"}, tmp_path), read=read
        ),
    )


@EACH_CASE
def test_sqlite(case: SinkCase, tmp_path: Path) -> None:
    def read(product: str) -> Iterator[StagedRow]:
        with sqlite_file(tmp_path / "out.db") as database:
            if product not in {
                row[0] for row in database.execute("SELECT name FROM sqlite_master")
            }:
                return
            found = database.execute(f'SELECT owner, number, document, version FROM "{product}"')
            for owner, number, text, version in found:
                yield StagedRow(f'{{"owner":"{owner}","number":{number}}}', text, version)

    options = {"path": "out.db"}
    keep(
        case, SinkTarget(make=lambda name: make_sink("sqlite", name, options, tmp_path), read=read)
    )


@EACH_CASE
def test_the_plug_in_of_the_examples(case: SinkCase, tmp_path: Path) -> None:
    plug_in = load_plug_in()

    def read(product: str) -> Iterator[StagedRow]:
        for file in (tmp_path / "out" / product).glob("*.json"):
            owner, number = file.stem.split(",")
            key = f'{{"owner":"{owner}","number":{number}}}'
            text = file.read_text(encoding="utf-8").rstrip("\n")
            version, document = text[len('{"version":') : -1].split(',"document":', 1)
            yield StagedRow(key, None if document == "null" else document, int(version))

    options = {"path": "out"}
    keep(
        case,
        SinkTarget(
            make=lambda name: plug_in.FolderOptions(**options).make(name, tmp_path), read=read
        ),
    )


FUNCTION = r"""
import json, re
from pathlib import Path

def deliver(documents):
    refused = [each for each in documents if each.value and each.value["title"] == "refused"]
    with Path(documents[0].product).open("a") as lines:
        for each in documents:
            if each not in refused:
                row = {"key": each.key, "value": each.value, "version": each.version}
                text = json.dumps(row, default=lambda number: f"decimal {number}", separators=",:")
                lines.write(re.sub('"decimal ([^"]+)"', r"\1", text) + "\n")
    return [(each, "it is called so") for each in refused]
"""


@EACH_CASE
def test_foreach(case: SinkCase, tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(FUNCTION)

    def read(product: str) -> Iterator[StagedRow]:
        return read_rows([tmp_path / product])

    def refused(number: int, version: int) -> StagedRow:
        key = f'{{"owner":"ann","number":{number}}}'
        return StagedRow(key, '{"title":"refused"}', version)

    options = {"function": "hooks:deliver"}
    keep(
        case,
        SinkTarget(
            make=lambda name: make_sink("foreach", name, options, tmp_path),
            read=read,
            refused=refused,
        ),
    )


def load_plug_in() -> ModuleType:
    """Return the module of the example, which is not installed here."""
    file = ROOT / "examples/plugin_sink/src/joinery_folder_sink/__init__.py"
    spec = importlib.util.spec_from_file_location("joinery_folder_sink", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name, as it finds one that is imported.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class ForgetfulSink:
    """Keeps what came last, whatever its version."""

    guarantee = Guarantee(summary="None that holds.")
    target = "memory"

    def __init__(self, held: dict[str, StagedRow]) -> None:
        self._held = held

    def open(self) -> None:
        pass

    def write(self, batch: StagedBatch) -> Written:
        for row in read_rows(batch.files):
            self._held[row.key] = row
        return Written()

    def close(self) -> None:
        pass


def test_a_sink_that_promises_too_much_is_found_out() -> None:
    tables: dict[str, dict[str, StagedRow]] = {}
    target = SinkTarget(
        make=lambda name: ForgetfulSink(tables.setdefault(name, {})),
        read=lambda name: [each for each in tables[name].values() if each.value],
    )

    broken = {each.sentence for each in examine_sink(target) if each.problem}

    assert {
        "an older document never replaces a newer one",
        "an older delete never removes a newer one",
        "a document older than its delete does not come back",
        "a delete within its retention is not forgotten",
        "a run that has lost its lease makes nothing visible",
        "a run that was replaced, and does not know it, is refused",
    } <= broken
    with pytest.raises(ConformanceError, match="cases do not hold"):
        check_sink(target, [each for each in sink_cases() if each.sentence in broken])
