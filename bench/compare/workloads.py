"""What is measured: each workload is change files, one folder a phase, the same bytes to all.

Phases are read one after the other by the same project, so that what was remembered in one
is met by the next.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from joinery.testing.github import FORMATS, UPDATE_HEAVY, History, Line, write_lines

SEED = 7
TIME = "2026-01-01T00:00:00.000000Z"


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a workload.

    Attributes:
        name: Prefixes its files, so that phases sort in order.
        lines: Its changes, drawn when it is written.
        batch: The most rows a batch, where it differs from the default.
    """

    name: str
    changes: int
    lines: Callable[[], Iterator[Line]]
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """A named series of phases.

    Attributes:
        peers: False where only Joinery is measured.
        project: The project file beside this module that runs it.
    """

    name: str
    title: str
    phases: tuple[Phase, ...]
    peers: bool = True
    project: str = "profile.yaml"

    @property
    def changes(self) -> int:
        """All changes of all phases."""
        return sum(phase.changes for phase in self.phases)


def profile(name: str, changes: int) -> Workload:
    """UserProfile from nothing, in random order of arrival."""
    phase = Phase("0-grow", changes, lambda: History(changes, seed=SEED).lines(changes))
    return Workload(name, f"UserProfile, {changes:,} changes", (phase,))


def updates(base: int, changes: int) -> Workload:
    """Nine changes in ten update a row that stands, some rows far more than others."""
    history = History(base, seed=SEED)
    return Workload(
        "updates",
        f"{base:,} changes, then {changes:,} of which 90 % update rows that stand (Zipf 1.1)",
        (
            Phase("0-grow", base, lambda: history.lines(base)),
            Phase("1-update", changes, lambda: history.lines(changes, UPDATE_HEAVY)),
        ),
    )


def small_batches(base: int, batches: int) -> Workload:
    """After a history has grown, batches of 100 changes."""
    history, changes = History(base, seed=SEED), batches * 100
    return Workload(
        "small-batches",
        f"after {base:,} changes, {batches} batches of 100",
        (
            Phase("0-grow", base, lambda: history.lines(base)),
            Phase("1-small", changes, lambda: history.lines(changes), batch=100),
        ),
        peers=False,
    )


def hot_key(stars: int, more: int) -> Workload:
    """A repository with many stars gets more, twenty a batch; then its description changes."""
    numbers = iter(range(1, 1 << 60))
    users = stars + more
    return Workload(
        "hot-key",
        f"a repository with {stars:,} stars gets {more:,} more, then another description",
        (
            Phase("0-grow", users + stars + 1, lambda: hot_base(users, stars, numbers)),
            Phase("1-star", more, lambda: hot_stars(range(stars, users), numbers), batch=20),
            Phase("2-describe", 1, lambda: iter([hot_repo("after", numbers)])),
        ),
    )


def hot_base(users: int, stars: int, numbers: Iterator[int]) -> Iterator[Line]:
    """Yield the repository, all users, and the first stars, shuffled."""
    lines = list(chain(map(hot_user, range(users)), hot_rows(range(stars))))
    random.Random(SEED).shuffle(lines)
    numbered = ((relation, "c", None, text) for relation, text in lines)
    yield hot_repo("before", numbers)
    for relation, op, before, text in numbered:
        yield relation, op, before, text, next(numbers)


def hot_user(user: int) -> tuple[int, str]:
    """Return one user's row."""
    return 0, json.dumps(
        {"id": user, "email": f"u{user}@example.com", "username": f"u{user}", "registered_at": TIME}
    )


def hot_rows(users: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield a star of each user for the one repository."""
    for user in users:
        row = {"username": f"u{user}", "repo_name": "hot", "repo_owner": "labs", "created_at": TIME}
        yield 2, json.dumps(row)


def hot_stars(users: Iterable[int], numbers: Iterator[int]) -> Iterator[Line]:
    """Yield further stars."""
    for relation, text in hot_rows(users):
        yield relation, "c", None, text, next(numbers)


def hot_repo(moment: str, numbers: Iterator[int]) -> Line:
    """Return the repository's row before or after its description changed."""
    texts = {
        when: json.dumps(
            {
                "name": "hot",
                "owner": "labs",
                "description": f"As it was {when}",
                "star_count": 0,
                "fork_count": 0,
                "created_at": TIME,
                "updated_at": TIME,
            }
        )
        for when in ("before", "after")
    }
    if moment == "before":
        return 1, "c", None, texts["before"], next(numbers)
    return 1, "u", texts["before"], texts["after"], next(numbers)


def write(workload: Workload, folder: Path, format: str) -> list[Path]:
    """Write each phase into a folder of its own, one file a topic; return them in order."""
    folders = [folder / workload.name / format / phase.name for phase in workload.phases]
    if not all((each / ".complete").exists() for each in folders):
        for phase, target in zip(workload.phases, folders, strict=True):
            shutil.rmtree(target, ignore_errors=True)
            write_lines(phase.lines(), target, name=phase.name, render=FORMATS[format])
            (target / ".complete").touch()
    return folders


def joined(phases: Sequence[Path]) -> Path:
    """Return a folder with all phases' lines in one file a topic, for who reads them at once."""
    if len(phases) == 1:
        return phases[0]
    target = phases[0].parent / "all"
    if not (target / ".complete").exists():
        for source in chain.from_iterable(sorted(phase.glob("*/*.jsonl")) for phase in phases):
            (target / source.parent.name).mkdir(parents=True, exist_ok=True)
            with (target / source.parent.name / "all.jsonl").open("ab") as out:
                out.write(source.read_bytes())
        (target / ".complete").touch()
    return target


def write_fanout(folder: Path, *, parents: int, children: int, more: int) -> list[Path]:
    """Write parents that all share one join value with many children, then more children."""
    phases = {
        "0-grow": {
            "parent": ({"id": n, "part": "shared"} for n in range(parents)),
            "child": ({"id": n, "part": "shared", "score": n} for n in range(children)),
        },
        "1-child": {
            "parent": iter(()),
            "child": ({"id": -n, "part": "shared", "score": -n} for n in range(1, more + 1)),
        },
    }
    for phase, topics in phases.items():
        for topic, rows in topics.items():
            target = folder / phase / topic
            target.mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (target / f"{phase}.jsonl").write_text(text, encoding="utf-8")
    return [folder / phase for phase in phases]
