"""What operators load (alert rules, a dashboard, a unit, a runbook) fits what a run exports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from joinery.model.audit import AuditProgress
from joinery.model.batch import BatchProgress
from joinery.model.frontier import SourceFrontier
from joinery.model.lookup import LookupProgress
from joinery.model.progress import Progress, Silence, Waiting
from joinery.observe.http import ProgressMetrics

ROOT = Path(__file__).resolve().parents[2]
OPS = ROOT / "ops"
METRIC = re.compile(r"\bjoinery_[a-z_]+")
RUNBOOK = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")


def exported() -> set[str]:
    """Return the names of all metrics that a run in which everything happened exports."""
    batch = BatchProgress(
        query="q",
        batch_id=0,
        relations={"r": {"read": 1, "stale": 1, "timed": 1, "age_ms": 1}},
        documents={"p": {"upserts": 1, "bytes": 1}},
        counters={"p": {"expression_errors": 1}},
        dead=1,
        seconds=1.0,
        ended_at=1.0,
        durations_ms={"stage": 1},
        remaining={"r": 1},
        lag={"t": {"0": 1}},
        state_bytes=1,
        lookups={"s/t": LookupProgress()},
    )
    waiting = Waiting(product="p", target="t", reason="", attempts=1, since=0.0)
    silence = Silence(source="s", reason="", since=0.0)
    progress = Progress().plus(batch).waits("t", waiting).waits(silence.target, silence)
    reached = SourceFrontier(source="s", sure="exact", place="0/1", committed_at=1.0)
    progress = replace(progress, frontiers={"q": (reached,)})
    progress = progress.audited(AuditProgress(product="p", target="t", ended_at=1.0))
    text = ProgressMetrics(lambda: progress, lambda: True).text().decode()
    names = (line for line in text.splitlines() if not line.startswith("#"))
    return {re.split(r"[{ ]", line)[0] for line in names}


def rules() -> list[dict[str, Any]]:
    told = YAML(typ="safe").load((OPS / "alerts.yml").read_text(encoding="utf-8"))
    return [rule for group in told["groups"] for rule in group["rules"]]


def dashboard_queries() -> Iterator[str]:
    board = json.loads((OPS / "dashboard.json").read_text(encoding="utf-8"))
    yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])
    yield from (
        str(each["query"]) for each in board["templating"]["list"] if each["type"] == "query"
    )


def test_alerts_ask_for_metrics_that_a_run_exports() -> None:
    asked = {name for rule in rules() for name in METRIC.findall(rule["expr"])}

    assert set() == asked - exported()


def test_the_dashboard_asks_for_metrics_that_a_run_exports() -> None:
    asked = {name for query in dashboard_queries() for name in METRIC.findall(query)}

    assert set() == asked - exported()
    assert len(asked) > 10


def test_the_page_on_operation_lists_every_metric() -> None:
    page = (ROOT / "docs/operation.md").read_text(encoding="utf-8")
    listed = {re.sub(r"_(sum|count|bucket|created)$", "", each) for each in METRIC.findall(page)}

    bare = {re.sub(r"_(sum|count|bucket|created)$", "", each) for each in exported()}

    lookups = {each for each in bare if each.startswith("joinery_lookup_")}
    assert set() == bare - lookups - listed


def test_each_alert_has_its_section_in_the_runbook() -> None:
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", line[3:].lower()).replace(" ", "-")
        for line in RUNBOOK.splitlines()
        if line.startswith("## ")
    }

    for rule in rules():
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert ("docs/runbook.md", True) == (page, anchor in anchors), rule["alert"]
        assert rule["alert"] in RUNBOOK


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_the_alerts_fire_when_they_should() -> None:
    told = subprocess.run(
        ["promtool", "test", "rules", str(OPS / "alerts_test.yml")], capture_output=True, text=True
    )

    assert 0 == told.returncode, told.stdout + told.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (OPS / "joinery.service").read_text(encoding="utf-8")
    here = re.sub(r"ExecStart=\S+", f"ExecStart={shutil.which('true')}", unit)
    (tmp_path / "joinery.service").write_text(here, encoding="utf-8")

    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "joinery.service")],
        capture_output=True,
        text=True,
    )

    assert (0, "") == (told.returncode, told.stderr)
