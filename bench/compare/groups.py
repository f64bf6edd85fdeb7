"""Groups and windows beside Spark's own and Flink SQL: the rows `groups-…` of `make bench`.

All sides read the same JSON lines, one file a batch where batches can be told, on two cores, with
RocksDB as the state store. What is timed is one whole run, from the start of its process to its
end. In the first round the newest value of each group is compared with a plain computation.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.compare.contenders import (
    TIMEOUT_S,
    Contender,
    ContenderError,
    Flink,
    Joinery,
    SparkItself,
    finished,
)
from bench.harness.builds import BENCH
from bench.harness.measure import Measured, measure

START = datetime(2026, 1, 1, tzinfo=UTC)
GAP_S, HOUR_S = 1800, 3600
FILES = 5
Group = tuple[int, int]
"""A card, 0 for all cards, and the second at which its window starts."""
Groups = dict[Group, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked.

    Attributes:
        project: What stands in the project file beside the relation.
        rows: How many payments there are.
        keys: How many cards.
        hours: Over how long their times go.
        once: True where a group is sent when it is over, as Spark's own sessions are: those still
            open in the end are sent by Flink alone, whose input ends.
    """

    project: str
    rows: int
    keys: int
    hours: float
    once: bool = False


KINDS = {
    "tumbling": Kind(
        "by: [card], window: {tumbling: 1h}, values: {n: count(*), total: sum(amount)}",
        rows=1_000_000,
        keys=100_000,
        hours=3,
    ),
    "hopping": Kind(
        "by: [card], window: {hopping: 1h, every: 1m}, values: {n: count(*), total: sum(amount)}",
        rows=200_000,
        keys=1_000,
        hours=3,
    ),
    "session": Kind(
        "by: [card], window: {session: 30m}, values: {n: count(*), total: sum(amount)},"
        " emit: {when: closed}",
        rows=1_000_000,
        keys=50_000,
        hours=24,
        once=True,
    ),
    "distinct": Kind(
        "window: {tumbling: 1h}, values: {n: count(*), total: count(distinct card)}",
        rows=1_000_000,
        keys=100_000,
        hours=3,
    ),
}
PROJECT = """\
name: groups
sources: {{changes: {{files: {{path: "{data}"}}}}}}
defaults: {{source: changes, format: json}}
relations:
  payment:
    append: true
    fields: {{card: long, at: timestamp, amount: long}}
    time: at
    watermark: {{delay: 2m}}
products:
  totals: {{aggregate: payment, {product}, sink: {{files: {{path: "{out}"}}}}}}
run: {{checkpoint: "{out}/checkpoint", max_rows_per_batch: {rows}}}
"""


def payments(kind: Kind, rows: int, seed: int = 7) -> Iterator[tuple[int, int, int]]:
    """Yield card, time in milliseconds and amount; times go on, but for a minute of disorder."""
    dice = random.Random(seed)
    for row in range(rows):
        seconds = row * kind.hours * HOUR_S / rows + dice.uniform(0, 60)
        yield dice.randrange(kind.keys), round(seconds * 1000), dice.randrange(10_000)


def write(folder: Path, kind: Kind, rows: int) -> Path:
    """Write the payments once, in as many files as there are to be batches."""
    if (folder / ".ready").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "payment").mkdir(parents=True)
    each = -(-rows // FILES)
    made = payments(kind, rows)
    for file in range(FILES):
        with (folder / f"payment/{file:04d}.jsonl").open("w", encoding="utf-8") as out:
            for _ in range(min(each, rows - file * each)):
                card, millis, amount = next(made)
                at = START + timedelta(milliseconds=millis)
                text = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
                out.write(f'{{"card":{card},"at":"{text}","amount":{amount}}}\n')
    (folder / ".ready").touch()
    return folder


def expected(name: str, kind: Kind, rows: int) -> Groups:
    """Compute the groups plainly."""
    base = int(START.timestamp())
    if name == "session":
        return _sessions(kind, rows, base)
    step = 60 if name == "hopping" else HOUR_S
    found: dict[Group, list[Any]] = {}
    for card, millis, amount in payments(kind, rows):
        newest = (base * 1000 + millis) // 1000 // step * step
        for start in range(newest, newest - HOUR_S, -step):
            key = (0 if name == "distinct" else card, start)
            n_total = found.setdefault(key, [0, set() if name == "distinct" else 0])
            n_total[0] += 1
            if name == "distinct":
                n_total[1].add(card)
            else:
                n_total[1] += amount
    return {
        key: (n, len(total) if isinstance(total, set) else total)
        for key, (n, total) in found.items()
    }


def _sessions(kind: Kind, rows: int, base: int) -> Groups:
    by_card: dict[int, list[tuple[int, int]]] = {}
    for card, millis, amount in payments(kind, rows):
        by_card.setdefault(card, []).append((millis, amount))
    found: Groups = {}
    for card, each in by_card.items():
        run: list[tuple[int, int]] = []
        for millis, amount in sorted(each):
            if run and millis - run[-1][0] >= GAP_S * 1000:
                found[card, base * 1000 + run[0][0]] = len(run), sum(a for _, a in run)
                run = []
            run.append((millis, amount))
        found[card, base * 1000 + run[0][0]] = len(run), sum(a for _, a in run)
    return found


def run(side: Contender, name: str, *, scale: float, work: Path, compare: bool) -> dict[str, Any]:
    """Let a side read all payments; return its figures, once its groups were compared.

    Raises:
        ContenderError: It did not come to its end, or its groups are wrong.
    """
    kind = KINDS[name]
    rows = max(1_000, int(kind.rows * scale))
    data = write(BENCH / ".data" / f"groups-{name}-{rows}", kind, rows)
    measured, groups = _run(side, name, data, work, rows, printed=False)
    if compare:
        if isinstance(side, Flink):
            _, groups = _run(side, name, data, work, rows, printed=True)
        _same(
            expected(name, kind, rows),
            dict(groups),
            partly=kind.once and not isinstance(side, Flink),
        )
    return {
        "seconds": round(measured.seconds, 2),
        "rate": round(rows / measured.seconds),
        "cpu_s": round(measured.cpu_seconds, 1),
        "peak_mb": round(measured.peak_bytes / 1e6),
    }


def _run(
    side: Contender, name: str, data: Path, work: Path, rows: int, *, printed: bool
) -> tuple[Measured, Iterable[tuple[Group, tuple[int, int]]]]:
    sessions = name == "session"
    match side:
        case Joinery():
            project = work / "joinery.yaml"
            product = KINDS[name].project
            each = -(-rows // FILES)
            text = PROJECT.format(data=data, out=work, product=product, rows=each)
            project.write_text(text, encoding="utf-8")
            command = [str(side.build.joinery), "run", str(project), "--once"]
            command += ["--master", "local[2]", *side.options()]
            log = work / "joinery.log"
            measured = measure(
                command, output=log, cwd=work, env=dict(os.environ), timeout_s=TIMEOUT_S
            )
            finished(measured, log)
            return measured, _of_lines((work / "totals").glob("*.jsonl"), sessions=sessions)
        case SparkItself():
            measured, _ = side.start(data, work, "--work", str(work), "--kind", name)
            lines = (work / "totals").rglob("part-*.json")
            return measured, _of_lines(lines, sessions=sessions)
        case Flink():
            flink = replace(side, script="flink_groups.py")
            more = ("--print",) if printed else ()
            measured, _ = flink.start(data, work, "--work", str(work), "--kind", name, *more)
            return measured, _of_print(work / f"{side.name}.log", sessions=sessions)
        case _:
            raise ContenderError(f"{side.name} has no groups")


def _of_lines(files: Iterable[Path], *, sessions: bool) -> Iterator[tuple[Group, tuple[int, int]]]:
    """Yield what JSON lines say of each group, the newest last; tombstones as no rows."""
    for path in sorted(files):
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                value = line.get("value", line) or {}
                told = line.get("key", line)
                start = _start(told.get("window_start") or told["start"], sessions=sessions)
                group = told.get("card", 0), start
                yield group, (value.get("n", 0), value.get("total", 0))


_PRINTED = re.compile(r"^(?:\d+> )?([+-][IUD])\[(\d+), ([\d:. -]+), (\d+), (\d+)\]$")


def _of_print(file: Path, *, sessions: bool) -> Iterator[tuple[Group, tuple[int, int]]]:
    """Yield what Flink's connector `print` says of each group, the newest last."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if (told := _PRINTED.match(line.strip())) and told[1] in ("+I", "+U"):
                start = _start(f"{told[3]}+00:00", sessions=sessions)
                yield (int(told[2]), start), (int(told[4]), int(told[5]))


def _start(text: str, *, sessions: bool) -> int:
    """Return a window's start in seconds since 1970, a session's in milliseconds."""
    seconds = datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    return round(seconds * 1000) if sessions else int(seconds)


def _same(wanted: Groups, found: Groups, *, partly: bool) -> None:
    """Refuse groups that differ; `partly` lets those be missing that it never sends."""
    found = {key: value for key, value in found.items() if value[0]}
    missing = (
        [] if partly and 2 * len(found) > len(wanted) else sorted(wanted.keys() - found.keys())
    )
    wrong = [key for key, value in found.items() if wanted.get(key) != value]
    if missing or wrong:
        key = (missing or wrong)[0]
        raise ContenderError(
            f"wrong groups: {len(missing)} missing, {len(wrong)} wrong, such as {key}:"
            f" wanted {wanted.get(key)}, found {found.get(key)}"
        )
