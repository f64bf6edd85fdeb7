"""The Joinery that is measured: this checkout, or a commit in an environment of its own.

A commit is checked out below `.builds/` as a worktree of this repository, and set up there by its
own `make setup`: its locked packages, its kernel's jar, its archive of classes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
CACHE = BENCH / ".builds"


@dataclass(frozen=True, slots=True)
class Build:
    """Where one Joinery stands.

    Attributes:
        commit: None for this checkout, which `make bench` has set up.
    """

    commit: str | None = None

    @property
    def joinery(self) -> Path:
        """Its command."""
        return (
            Path(sys.executable).with_name("joinery")
            if self.commit is None
            else self._folder / ".venv" / "bin" / "joinery"
        )

    @property
    def _folder(self) -> Path:
        return CACHE / str(self.commit)

    def install(self) -> None:
        """Set the commit up; nothing where it stands."""
        if self.commit is None or (self._folder / ".complete").exists():
            return
        sys.stdout.write(f"setting {self.commit} up in {self._folder.relative_to(ROOT)}\n")
        shutil.rmtree(self._folder, ignore_errors=True)
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "prune"], check=True)
        subprocess.run([*git, "add", "-q", "--detach", str(self._folder), self.commit], check=True)
        # What `make bench` was asked is not for the other checkout's make.
        kept = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
        kept.pop("MFLAGS", None)
        subprocess.run(
            ["make", "-C", str(self._folder), "setup"],
            check=True,
            env=kept,
            stdout=subprocess.DEVNULL,
        )
        (self._folder / ".complete").touch()


def commit_named(name: str) -> str:
    """Return the short hash of a commit."""
    line = ["git", "-C", str(ROOT), "rev-parse", "--short=7", f"{name}^{{commit}}"]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def add_joinery(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark be told which Joinery it runs, and with what settings."""
    own = Path(sys.executable).with_name("joinery")
    parser.add_argument("--joinery", type=Path, default=own, help="the command that is measured")
    parser.add_argument("--work", type=Path, help="default: a folder below .runs")
    parser.add_argument("--set", action="append", default=[], type=lambda each: f"--set={each}")
