"""Runs of a project in a folder, to the end of its logs: in a process, or in a session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.app.project import Project, load
from joinery.app.run import run
from joinery.plan.aggregate import AggregateForm
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, Product
from joinery.testing.settings.layout import OUT, PROJECT
from joinery.testing.settings.setting import Setting, SettingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_S = 900

Runner = Callable[[Path, Setting], None]
"""Runs the project file of a folder to the end of its logs."""


def by_command(folder: Path, setting: Setting) -> None:
    """Run `joinery run --once` in a process of its own, killed before if the setting says so.

    Raises:
        SettingError: It failed, or ended before it could be killed.
    """
    command = _command(folder)
    if setting.killed:
        _kill_once(folder)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, cwd=folder
    )
    if done.returncode != 0:
        raise SettingError(f"{setting.name}: the run failed", detail=done.stderr[-2000:])


def _command(folder: Path) -> list[str]:
    command = [sys.executable, "-m", "joinery.cli.main", "run", str(folder / PROJECT), "--once"]
    return command + (["--until-closed"] if _waits(load(folder / PROJECT)) else [])


def _kill_once(folder: Path) -> None:
    """Start a run and kill it in the midst, unless that was done before."""
    if not (folder / OUT).exists():
        _kill(_command(folder), after_batches=3)


def _kill(command: Sequence[str], *, after_batches: int) -> None:
    """Start a run, and kill it with all its processes once some batches are through."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as began:
        assert began.stdout is not None
        batches = 0
        for line in began.stdout:
            batches += '"event":"batch"' in line.replace(" ", "")
            if batches == after_batches:
                os.killpg(began.pid, signal.SIGKILL)
                break
    if began.returncode != -signal.SIGKILL:
        raise SettingError(
            "the run ended before it could be killed",
            detail=f"It had {batches} batches; it is killed after {after_batches}.",
        )


def in_session(spark: SparkSession) -> Runner:
    """Return what runs projects in a session that is there; what is killed has its own process.

    Args:
        spark: With the Kafka connector where partitions are asked for.
    """

    def runner(folder: Path, setting: Setting) -> None:
        if setting.killed:
            _kill_once(folder)
        project = load(folder / PROJECT)
        begun = run(spark, project, once=True, until_closed=_waits(project))
        begun.await_termination(_PATIENCE_S)

    return runner


def _waits(project: Project) -> bool:
    """Return whether anything is sent once it is closed: the oracle takes all logs as ended."""
    return any(waits(each) for each in project.plan.products)


def waits(product: Product) -> bool:
    """Return whether a product sends anything only once it is closed."""
    match product.form:
        case PatternForm() as form:
            return form.waits
        case AggregateForm() | DocumentForm() as form:
            return form.emit.when == "closed"
        case _:
            return False
