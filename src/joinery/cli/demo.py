"""`joinery demo`: a code-hosting history grows, and its users' documents follow.

The history is written as change files while the product runs, as a connector would; what is
shown is read back from the product's own output files.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.cli.follow import Follower
from joinery.cli.live import Targets, summary_line, waiting_line
from joinery.cli.project import write_warning
from joinery.cli.real import RealOptions, run_real_demo
from joinery.cli.run import StopSignals, run_project
from joinery.cli.run_arguments import RunArguments
from joinery.errors import SpecError
from joinery.files import write_whole
from joinery.model.batch import BatchProgress
from joinery.model.phase import Phase
from joinery.model.progress import Progress, Silence, Totals, Waiting
from joinery.model.warning import RunWarning
from joinery.testing.github import (
    STAR,
    TOPICS,
    USER,
    History,
    Line,
    Mix,
    debezium_line,
    write_lines,
)

_CHANGES, _USERS = 6000, 300
_SLICES, _SLICE, _PAUSE_S, _STORY_S = 16, 120, 0.3, 20.0
_FOLLOWED = 3
BEFORE, AFTER = 2, 3
_BROKEN = '{"before":null,"after":{"username":"half a rec\n'
_LIVELY = Mix(updates=(0.5, 0.9, 0.0, 0.6, 0.7), deletes=(0.02, 0.01, 0.2, 0.05, 0.02))


class DemoError(SpecError):
    """The demo cannot run in the folder it was given."""

    code = "DEMO"


def _rows(lines: list[Line], relation: int, image: int) -> Iterator[dict[str, str]]:
    """Yield the rows of one image of a relation's changes; of `before`, only of deletes."""
    for line in lines:
        if line[0] == relation and (image == AFTER or line[1] == "d"):
            text = line[image]
            if isinstance(text, str):
                yield json.loads(text)


def _wait(until: Callable[[], bool]) -> None:
    while not until():
        time.sleep(0.05)


class DemoHistory:
    """The change files of the demo: a history to begin with, and slices that follow."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        history = History(_CHANGES, seed=seed, users=_USERS)
        self._past = list(history.lines(_CHANGES))
        self._slices = [list(history.lines(_SLICE, _LIVELY)) for _ in range(_SLICES)]
        self.records = 0

    def begin(self) -> None:
        """Write what happened before the product starts."""
        self._write("00000", self._past)

    def go_on(self, read: Callable[[], int]) -> None:
        """Write slice after slice, each when the one before was read, with a broken record.

        Args:
            read: Tells how many records the product has read. A product that falls behind
                is waited for no longer than the story may take.
        """
        _wait(lambda: read() >= self.records)
        late_at = time.monotonic() + _STORY_S
        for at, lines in enumerate(self._slices, 1):
            _wait(lambda: read() >= self.records or time.monotonic() > late_at)
            time.sleep(_PAUSE_S)
            if at == _SLICES // 2:
                self._break(f"{at:05d}-broken")
            self._write(f"{at:05d}", lines)

    def followed(self) -> dict[str, str]:
        """Return the keys and names of the users to whom the most will happen."""
        coming = [each for lines in self._slices for each in lines]
        emails = {row["username"]: row["email"] for row in _rows(self._past, USER, AFTER)}
        gone = {row["email"] for row in _rows([*self._past, *coming], USER, BEFORE)}
        gone |= {row["email"] for row in _rows(coming, USER, AFTER)}
        busy = Counter(row["username"] for row in _rows(coming, STAR, AFTER))
        names = [each for each, _ in busy.most_common() if emails.get(each, "") not in {"", *gone}]
        return {emails[name]: name for name in names[:_FOLLOWED]}

    def _write(self, name: str, lines: list[Line]) -> None:
        self.records += write_lines(iter(lines), self._folder, name=name, render=debezium_line)

    def _break(self, name: str) -> None:
        write_whole(self._folder / TOPICS[STAR] / f"{name}.jsonl", _BROKEN, synced=False)
        self.records += 1


class DemoDisplay:
    """Shows the followed documents, and ends the run when the story is told and read."""

    def __init__(self, story: DemoHistory, follower: Follower, ending: StopSignals) -> None:
        self._story = story
        self._follower = follower
        self._ending = ending
        self._progress: Callable[[], Progress] = Progress
        self._started_at = time.monotonic()

    def prepare(self, log: Path) -> None:
        """Say why nothing is seen for some seconds."""
        self._say("Starting Spark.\n")

    def start(
        self, topics: tuple[str, ...], targets: Targets, progress: Callable[[], Progress]
    ) -> None:
        """Let the history go on, now that the product runs."""
        self._progress = progress
        self._say(f"Spark is up; reading {len(topics)} tables while they change.\n")
        threading.Thread(target=self._tell, name="joinery-story", daemon=True).start()

    def batch(self, batch: BatchProgress) -> None:
        """Show what one batch changed."""
        written = sum(each.get("upserts", 0) for each in batch.documents.values())
        dead = f", {batch.dead} dead letter" if batch.dead else ""
        self._say(
            f"batch {batch.batch_id}: {batch.read:,} changes, {written:,} documents"
            f" in {batch.seconds:.1f} s{dead}\n"
        )
        self._follower.look()

    def wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        """Say what the run waits for; its own folder never makes it wait."""
        if waiting is not None:
            self._say(f"{waiting_line(waiting)}\n")

    def phase(self, phase: Phase) -> None:
        """Nothing to say: the batches are shown as they come."""

    def warn(self, warning: RunWarning) -> None:
        """Write the warning to standard error."""
        write_warning(warning)

    def close(self) -> None:
        """Nothing is held open."""

    def end(self, totals: Totals) -> None:
        """Tell how it went."""
        seconds = time.monotonic() - self._started_at
        self._say(f"\n{summary_line(totals, seconds)}\n")

    def _say(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _tell(self) -> None:
        """Go on with the story, and end the run when all of it was read."""
        self._story.go_on(self._read)
        _wait(lambda: self._read() >= self._story.records)
        self._ending.ask()

    def _read(self) -> int:
        return self._progress().totals.read


def run_demo(folder: Path | None, *, seed: int, real: RealOptions | None = None) -> int:
    """Run the demo in `folder`, by default a new temporary one, to its end.

    Args:
        folder: New or empty.
        seed: Another seed, another history.
        real: Run it on real servers; what they kept in a temporary folder goes with them.
    """
    place = _place(folder)
    if real:
        try:
            return run_real_demo(place, real)
        finally:
            if folder is None:
                shutil.rmtree(place, ignore_errors=True)
    return _run_on_files(place, seed)


def _run_on_files(place: Path, seed: int) -> int:
    story = DemoHistory(place / "data" / "changes", seed)
    project = place / "joinery.yaml"
    project.write_text(project_text(), encoding="utf-8")
    story.begin()
    followed = story.followed()
    sys.stdout.write(
        f"{story.records:,} changes of a code-hosting company are in {place}.\n"
        f"Following {', '.join(followed.values())}: + came, - left, ~ changed.\n\n"
    )
    ending = StopSignals()
    follower = Follower(place / "out" / "user_profile", followed, "email")
    run_project(RunArguments(file=project), DemoDisplay(story, follower, ending), ending)
    _close(place, follower)
    return DONE


def project_text() -> str:
    """Return the project file of the demo, which is also `examples/github/joinery.yaml`."""
    return (files("joinery.cli") / "github.yaml").read_text(encoding="utf-8")


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="joinery-demo-"))
    if folder.exists() and any(folder.iterdir()):
        raise DemoError(f"{folder} is not empty", hint="Name an empty or a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _close(place: Path, follower: Follower) -> None:
    """Show one document as it stands, and where to look next."""
    standing = [each for each in follower.documents.values() if each and each["pull_requests"]]
    if standing:
        smallest = min(standing, key=lambda each: len(json.dumps(each)))
        text = json.dumps(_shortened(smallest), ensure_ascii=False, indent=2)
        sys.stdout.write(f"\nOne of the documents as it is now:\n{text}\n")
    table = "SELECT email, document FROM user_profile LIMIT 3"
    database = place / "out" / "documents.db"
    query = f'sqlite3 {database} "{table}"' if shutil.which("sqlite3") else f"{database}"
    sys.stdout.write(
        "\nLook further:\n"
        f"  every emission    {place}/out/user_profile/*.jsonl\n"
        f"  current documents {query}\n"
        f"  dead letters      {place}/.joinery/dead_letters/*.jsonl\n"
        f"  the declaration   {place}/joinery.yaml\n"
        f"  the plan          joinery explain {place}/joinery.yaml\n"
        f"  the products      joinery ui {place}/joinery.yaml\n"
    )
    if standing:
        email = shlex.quote(str(smallest["email"]))
        sys.stdout.write(f"  why it looks so   joinery why {email} --file {place}/joinery.yaml\n")


def _shortened(document: object) -> object:
    """Return a document with at most two rows a list, and what was left out counted."""
    shown: dict[str, object] = {}
    for name, value in document.items() if isinstance(document, dict) else ():
        shown[name] = value
        if isinstance(value, list) and len(value) > 2:
            shown[name] = [*value[:2], f"… {len(value) - 2} more"]
    return shown
