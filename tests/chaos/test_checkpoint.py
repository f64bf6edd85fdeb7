"""A checkpoint that was damaged is refused or recovered, never used in silence."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.chaos.crash import CHECKPOINT
from tests.chaos.runs import LIMIT_S, RUN, run_once
from tests.chaos.world import World, assert_documents, make_world, write_project

pytestmark = [pytest.mark.spark, pytest.mark.chaos]


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=11)


@pytest.fixture(scope="module")
def half_run(tmp_path_factory: pytest.TempPathFactory, world: World) -> Path:
    """A project that has read the first half of its files."""
    folder = tmp_path_factory.mktemp("half")
    write_project(folder, world)
    later = folder / "later"
    for file in sorted((folder / "data").glob("*/00[23].jsonl")):
        (later / file.parent.name).mkdir(parents=True, exist_ok=True)
        file.rename(later / file.parent.name / file.name)
    run_once(folder)
    for file in later.glob("*/*.jsonl"):
        file.rename(folder / "data" / file.parent.name / file.name)
    return folder


@pytest.fixture
def project(tmp_path: Path, half_run: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    shutil.copytree(half_run, folder)
    yield folder
    shutil.rmtree(folder)


def flip(file: Path) -> None:
    """Turn a byte in the middle over."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def newest(folder: Path) -> Path:
    numbers = [each for each in folder.iterdir() if each.name.isdigit()]
    return max(numbers, key=lambda each: int(each.name))


def state_files(checkpoint: Path) -> list[Path]:
    found = [
        each
        for kind in ("changelog", "delta", "zip", "snapshot")
        for each in checkpoint.glob(f"state/*/*/*.{kind}")
    ]
    assert found, "there are no files of state"
    return found


def damage_offsets(checkpoint: Path, how: Callable[[Path], None]) -> None:
    how(newest(checkpoint / "offsets"))


def damage_commits(checkpoint: Path, how: Callable[[Path], None]) -> None:
    how(newest(checkpoint / "commits"))


def damage_state(checkpoint: Path, how: Callable[[Path], None]) -> None:
    for file in state_files(checkpoint):
        how(file)


def damage_fingerprint(checkpoint: Path, how: Callable[[Path], None]) -> None:
    how(checkpoint / "joinery.json")


@pytest.mark.parametrize("how", [flip, truncate])
@pytest.mark.parametrize(
    "damage", [damage_offsets, damage_commits, damage_state, damage_fingerprint]
)
def test_damage_is_found_or_does_no_harm(
    project: Path,
    world: World,
    damage: Callable[[Path, Callable[[Path], None]], None],
    how: Callable[[Path], None],
) -> None:
    damage(project / CHECKPOINT, how)

    done = subprocess.run(
        [*RUN, "--once"], cwd=project, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )

    if done.returncode == 0:
        assert_documents(project, world.documents())
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
