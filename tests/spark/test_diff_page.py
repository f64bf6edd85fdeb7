"""The drill of docs/diff.md: what the commands say, and what then stands in the sink."""

from __future__ import annotations

import re
import shlex
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import joinery as jn
from joinery.app.auditor import Auditor
from joinery.cli.commands import app
from joinery.model.audit import AuditProgress
from joinery.observe.audit_note import AuditNote
from joinery.project.audit import AuditSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[2] / "docs" / "diff.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ joinery (.*?)\n(.*?)```", PAGE, re.DOTALL)
(SQL,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert 0 == CliRunner().invoke(app, ["init", "hello"]).exit_code
    monkeypatch.chdir(tmp_path / "hello")
    return tmp_path / "hello"


def told(line: str, hello: Path) -> tuple[int, str]:
    """Return the exit code of a command and what it says, without folders and times."""
    done = CliRunner().invoke(app, shlex.split(line))
    return done.exit_code, untimed(done.stdout.replace(f"{hello}/", ""))


def untimed(text: str) -> str:
    return re.sub(r"documents   .*", "documents", text)


def test_the_drill_goes_as_the_page_tells(hello: Path, spark: SparkSession) -> None:
    jn.run(spark, jn.load(hello / "joinery.yaml"), once=True).await_termination()

    well = told(SHOWN[0][0], hello)
    with closing(sqlite3.connect(hello / "out" / "shop.db", timeout=60.0)) as sink:
        sink.executescript(SQL)
    broken = told(SHOWN[1][0], hello)
    sampled = [told(f"diff --sample {each}", hello) for each in ("40%", "40%")]
    repaired = told(SHOWN[2][0], hello)
    exec(CODE, {})
    audited = audit(hello)

    expected = [untimed(text) for _, text in SHOWN]
    assert list(zip([0, 3, 0], expected, strict=True)) == [well, broken, repaired]
    # Of the keys 1, 2, 3 and 99, the same one each time, whose document is right.
    assert sampled[0] == sampled[1]
    assert (0, 2, 2) == (sampled[0][0], *map(sampled[0][1].count, ("compared 1 ", "0 differ")))
    assert [(1.0, 3, 0), (1.0, 3, 0)] == [(e.share, e.compared, e.differ) for e in audited]


class Run:
    """A run that goes on until it is ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def audits(self, told: AuditProgress) -> None:
        pass

    def await_termination(self, timeout: float | None = None) -> bool:
        return self.ended.wait(timeout)


def audit(hello: Path) -> tuple[AuditNote, ...]:
    """Have documents compared forever, for as long as one round takes."""
    spec, run, begun = jn.load(hello / "joinery.yaml").spec, Run(), time.time()
    root = spec.path_of(spec.run.checkpoint)
    auditor = Auditor(spec, AuditSpec(rate="1000/s"), ["customer_profile"], run, between_s=0.0)
    auditor.start()
    deadline = time.monotonic() + 300
    while True:
        notes = AuditNote.of_product(root, "customer_profile")
        if len(notes) == 2 and all(each.ended_at > begun for each in notes):
            break
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)
    run.ended.set()
    auditor.join()
    return notes
