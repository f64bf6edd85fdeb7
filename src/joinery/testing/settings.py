"""One project over the same logs in eight settings: what it makes of them must be the same.

What a product holds in the end is a function of its logs. So six of the settings keep the logs
and change how they are read: in batches of three sizes, by a run that is killed in the middle,
twice into one sink, with other shuffle partitions. Two lay the same rows out anew, shuffled
within the delay of their relation, and over 2 and 7 partitions of Kafka. Each is compared with an
oracle over its own logs; documents and rows told late must be exactly the oracle's.

Limits: streams are left out. A topic of files is one partition, so partitions need a broker.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.app.project import Project, load, run
from joinery.clients.kafka import Brokers, create_topic, make_producer
from joinery.errors import JoineryError
from joinery.files import write_whole
from joinery.model.change import Change
from joinery.plan.aggregate import AggregateForm
from joinery.plan.nodes import Product, Relation
from joinery.project.kinds import FORMATS
from joinery.project.load import dump_spec
from joinery.project.product import ProjectSpec, RelationSpec, SinkSpec
from joinery.semantics.merge import RowMerge
from joinery.semantics.read_change import change_line
from joinery.semantics.render import document_json
from joinery.semantics.rows import Findings
from joinery.testing.changes import RowChange
from joinery.testing.driver import Driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE, _LINES = "joinery.yaml", 1_000
_IN, _OUT, _DEAD, _CHECKPOINT = "in", "out", "dead_letters", "checkpoint"
_PATIENCE_S = 900
_SHOWN = 5
_DECODER = json.JSONDecoder()
_BY_PLACE = frozenset({"first", "last", "collect"})


class SettingError(JoineryError):
    """A setting cannot be run: the run failed, or ended before it could be killed."""

    code = "TEST_SETTING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How logs are laid out and read.

    Attributes:
        name: For people.
        rows: What a batch takes at most; None for a sixth of all rows.
        killed: The run is killed in the middle, and another goes on.
        twice: All is read a second time by a run without a checkpoint, into the same sinks.
        shuffle_partitions: Spark's own.
        shuffled: Rows arrive in another order, each within the delay of its relation.
        partitions: Over how many partitions of Kafka the rows are laid out; None for files.
    """

    name: str
    rows: int | None = 7_777
    killed: bool = False
    twice: bool = False
    shuffle_partitions: int = 2
    shuffled: bool = False
    partitions: int | None = None


SETTINGS = (
    Setting(name="batches of 1,000 rows", rows=1_000),
    Setting(name="batches of 7,777 rows"),
    Setting(name="batches of 200,000 rows", rows=200_000),
    Setting(name="killed in the middle", rows=None, killed=True),
    Setting(name="run twice into one sink", twice=True),
    Setting(name="5 shuffle partitions", shuffle_partitions=5),
    Setting(name="shuffled within the delay", shuffled=True),
    Setting(name="2 partitions", partitions=2),
    Setting(name="7 partitions", partitions=7),
)
"""Those that `disagreements` tries; the last two are one, and need a broker."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One thing that a setting made otherwise than it should.

    Attributes:
        setting: Its name.
        product: Of which product.
        what: The key of a document, or `told late`, or `another layout` where two oracles differ.
        expected: As JSON text; empty for nothing.
        found: As JSON text; empty for nothing.
    """

    setting: str
    product: str
    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        expected, found = self.expected or "nothing", self.found or "nothing"
        return f"{self.setting}: {self.product} {self.what}: expected {expected}, got {found}"


Documents = Mapping[str, str]
"""The documents of one product: the JSON text of a value by that of its key."""
Oracle = Callable[[Product, Sequence[RowChange]], Documents]
"""What a product must hold once some changes are read: of one log after the other, in order."""
Runner = Callable[[Path, Setting], None]
"""Runs the project file of a folder to the end of its logs."""


def disagreements(
    project: Project,
    changes: Iterable[RowChange],
    *,
    settings: Sequence[Setting] = SETTINGS,
    kafka: str | None = None,
    runner: Runner | None = None,
    oracle: Oracle | None = None,
    folder: Path | None = None,
) -> list[Disagreement]:
    """Return where the settings and the oracle disagree: nowhere, if the project holds.

    Args:
        project: Its products are run into files; its sources, sinks, formats without lines and
            checkpoint are put aside.
        changes: The logs of its relations, each in the order of its log; some ten thousand rows,
            so that batch sizes differ.
        settings: Which to try.
        kafka: The bootstrap servers of a broker to which topics are written; without it
            settings with partitions are left out.
        runner: Runs a project: `joinery run` in a process of its own, by default.
        oracle: What must come out; by default the reference's documents.
        folder: Where runs keep what they write; a temporary one by default.

    Raises:
        SettingError: A run failed.

    Example:
        changes = [insert("view", page="home", at=moment) for moment in moments]
        assert [] == disagreements(jn.load("joinery.yaml"), changes)
    """
    logs = list(changes)
    with tempfile.TemporaryDirectory(prefix="joinery-settings-") as temporary:
        place = folder or Path(temporary)
        tried = _Trial(project, logs, runner or by_command, oracle or by_reference, kafka)
        return [
            each
            for number, setting in enumerate(settings)
            if kafka is not None or setting.partitions is None
            for each in tried.of(setting, place / f"{number}")
        ]


@dataclass(frozen=True, slots=True)
class _Trial:
    project: Project
    changes: Sequence[RowChange]
    runner: Runner
    oracle: Oracle
    kafka: str | None
    kept: dict[str, Documents] = field(default_factory=dict)

    def of(self, setting: Setting, folder: Path) -> Iterator[Disagreement]:
        """Run one setting in a folder, and yield where it is not as it should be."""
        kept = [each.within(0) for each in self.changes]
        changes = self._laid_out(kept, setting)
        rows = setting.rows or max(1, len(changes) // 6)
        self._prepare(folder, changes, replace(setting, rows=rows))
        self.runner(folder, setting)
        if setting.twice:
            shutil.rmtree(folder / _CHECKPOINT)
            self.runner(folder, setting)
        told_late = letters(folder / _DEAD)
        for product in self._products:
            before = self._once(product, kept)
            expected = before if changes is kept else self.oracle(product, changes)
            yield from _documents(setting, product, expected, newest(folder / _OUT / product.name))
            yield from _late(setting, product, late_rows(product, changes), told_late[product.name])
            if changes is not kept and _is_one_for_all_layouts(product):
                told = replace(setting, name=f"{setting.name}, against the logs as they were")
                yield from _documents(told, product, before, expected)

    def _once(self, product: Product, kept: Sequence[RowChange]) -> Documents:
        """Return what the logs as they are must come to, computed once for all settings."""
        if product.name not in self.kept:
            self.kept[product.name] = self.oracle(product, kept)
        return self.kept[product.name]

    @property
    def _products(self) -> Sequence[Product]:
        return self.project.plan.products

    @property
    def _relations(self) -> Mapping[str, Relation]:
        return {each.name: each for product in self._products for each in product.relations}

    def _laid_out(self, changes: Sequence[RowChange], setting: Setting) -> Sequence[RowChange]:
        if setting.shuffled:
            return shuffled(changes, self._relations)
        if setting.partitions is not None:
            return dealt(changes, self._relations, setting.partitions)
        return changes

    def _prepare(self, folder: Path, changes: Sequence[RowChange], setting: Setting) -> None:
        topics = ""
        if setting.partitions is not None:
            topics = f"-{uuid.uuid4().hex[:8]}"
        spec = _in_folder(self.project.spec, folder, setting, self.kafka, topics)
        write_whole(folder / _FILE, dump_spec(spec), synced=False)
        relations = {
            each.name: each for one in Project.of(spec).plan.products for each in one.relations
        }
        told = ((relations[each.relation], each) for each in changes if each.relation in relations)
        if setting.partitions is None:
            write_files(folder / _IN, told)
        else:
            assert self.kafka is not None  # settings with partitions are left out without it
            _write_topics(self.kafka, told, relations.values(), setting.partitions)


# Layouts


def shuffled(
    changes: Sequence[RowChange], relations: Mapping[str, Relation], seed: int = 7
) -> Sequence[RowChange]:
    """Return the changes as they may arrive where each is delayed by up to its relation's delay.

    A row in time stays in time, and one that is behind by more stays behind those that it was
    behind. Changes of one key keep their order.
    """
    pick, clock = random.Random(seed), dict[str, float]()
    last = dict[tuple[Any, ...], float]()
    arrivals = list[tuple[str, float, int]]()
    for number, each in enumerate(changes):
        relation = relations.get(each.relation)
        if relation is None or relation.time is None:
            arrivals.append((each.relation, float(number), number))
            continue
        delay_us = relation.watermark.delay_ms * 1000 if relation.watermark else 0
        time_us = _time_us(each, relation)
        newest = clock.get(each.relation, -float("inf"))
        arrival = newest + delay_us
        if time_us is not None:
            if time_us >= newest - delay_us:
                arrival = time_us + pick.uniform(0, delay_us)
            clock[each.relation] = max(newest, time_us)
        if relation.key:
            key = (each.relation, *(each.columns[name] for name in relation.key))
            arrival = last[key] = max(arrival, last.get(key, arrival))
        arrivals.append((each.relation, arrival, number))
    return [changes[number] for *_, number in sorted(arrivals)]


def dealt(
    changes: Sequence[RowChange], relations: Mapping[str, Relation], partitions: int, seed: int = 7
) -> Sequence[RowChange]:
    """Return the changes over so many partitions: those of a key in one, others at random."""
    pick = random.Random(seed)

    def partition(each: RowChange) -> int:
        relation = relations.get(each.relation)
        if relation is None or not relation.key:
            return pick.randrange(partitions)
        key = repr([each.columns[name] for name in relation.key])
        return zlib.crc32(key.encode()) % partitions

    return [each.within(partition(each)) for each in changes]


def _time_us(change: RowChange, relation: Relation) -> int | None:
    """Return the time that a change tells, derived or not, in microseconds since 1970."""
    if relation.time is None or change.op not in ("insert", "update"):
        return None
    row = RowMerge(relation, Findings()).first(change.change(relation))
    moment = row[relation.time]
    return None if moment is None else round(moment.timestamp() * 1_000_000)


# Oracles


def by_reference(product: Product, changes: Sequence[RowChange]) -> Documents:
    """Return what the reference holds once all changes are read, and all windows are closed."""
    driver = Driver(product)
    relations = {each.name: each for each in product.relations}
    driver.send(_placed(changes, relations))
    if isinstance(product.form, AggregateForm) and product.form.emit.when == "closed":
        driver.until_closed()
    names = [each.name for each in product.key.fields]
    found = {}
    for key, value in driver.documents().items():
        values = key if isinstance(key, tuple) else (key,)
        row = dict(zip(names, values, strict=True))
        found[_key_text(row, product)] = document_json(value, product.output)
    return found


def _key_text(row: Mapping[str, Any], product: Product) -> str:
    return document_json(row, product.key)


def _placed(changes: Iterable[RowChange], relations: Mapping[str, Relation]) -> Iterator[Change]:
    for number, each in enumerate(changes):
        if each.relation in relations:
            yield replace(each.change(relations[each.relation]), place=(0, number))


def late_rows(product: Product, changes: Iterable[RowChange]) -> list[str]:
    """Return the lines of the rows that a product tells as late: each partition is read once."""
    form = product.form
    if not isinstance(form, AggregateForm) or form.emit.late != "dead_letter":
        return []
    relation, allowed_us = form.relation, form.emit.allowed_us
    delay_us = relation.watermark.delay_ms * 1000 if relation.watermark else 0
    newest, late = dict[int, int](), list[str]()
    for each in changes:
        time_us = _time_us(each, relation) if each.relation == relation.name else None
        if time_us is None or each.snapshot:
            continue
        before = newest.get(each.partition, time_us)
        if time_us < before - delay_us - allowed_us:
            late.append(change_line(each.change(relation), relation))
        newest[each.partition] = max(before, time_us)
    return late


def _is_one_for_all_layouts(product: Product) -> bool:
    """Return whether rows alone decide what a product holds, not where they stand in logs."""
    form = product.form
    if not isinstance(form, AggregateForm):
        return True
    by_place = not form.relation.key and any(e.function in _BY_PLACE for e in form.aggregates)
    return form.emit.late == "correct" and not by_place


# Comparing


def _documents(
    setting: Setting, product: Product, expected: Documents, found: Documents
) -> Iterator[Disagreement]:
    known = sorted(expected.keys() | found.keys())
    wrong = [key for key in known if expected.get(key) != found.get(key)]
    for key in wrong[:_SHOWN]:
        told = expected.get(key, ""), found.get(key, "")
        yield Disagreement(setting.name, product.name, key, *told)
    if len(wrong) > _SHOWN:
        counts = f"{len(expected)} documents", f"{len(wrong)} that differ"
        yield Disagreement(setting.name, product.name, "in all", *counts)


def _late(
    setting: Setting, product: Product, expected: Sequence[str], found: Sequence[str]
) -> Iterator[Disagreement]:
    missing, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    for line in list(missing)[:_SHOWN]:
        yield Disagreement(setting.name, product.name, "told late", line, "")
    for line in list(more)[:_SHOWN]:
        yield Disagreement(setting.name, product.name, "told late", "", line)


def newest(folder: Path) -> Documents:
    """Return what stands in a folder of the sink `files`: the highest version of each key."""
    lines: dict[str, tuple[int, str]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8") as told:
            for line in told:
                key, value, version = _parts(line)
                if version >= lines.get(key, (0, ""))[0]:
                    lines[key] = version, value
    return {key: value for key, (_, value) in lines.items() if value != "null"}


def _parts(line: str) -> tuple[str, str, int]:
    """Return the texts of a line's key and value as they were written, and its version."""
    start = len('{"key":')
    _, end = _DECODER.raw_decode(line, start)
    value = end + len(',"value":')
    _, stop = _DECODER.raw_decode(line, value)
    return (
        line[start:end],
        line[value:stop],
        int(line[stop + len(',"version":') : line.rindex("}")]),
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def letters(folder: Path) -> Mapping[str, list[str]]:
    """Return the rows that a folder of dead letters tells late, by product.

    A row that is told twice at one place counts once.
    """
    told: dict[tuple[Any, ...], tuple[str, str]] = {}
    for file in folder.rglob("*.jsonl"):
        with file.open(encoding="utf-8") as lines:
            for letter in map(json.loads, lines):
                at = [letter.get(each) for each in ("file", "line", "partition", "offset")]
                if letter["reason"] == "late":
                    name = str(letter["product"])
                    told[name, letter["topic"], *at] = name, str(letter["value"])
    found = defaultdict[str, list[str]](list)
    for name, value in told.values():
        found[name].append(value)
    return found


# Projects and logs


def _in_folder(
    spec: ProjectSpec, folder: Path, setting: Setting, kafka: str | None, topics: str
) -> ProjectSpec:
    """Return the project with all that it reads and writes in one place."""
    kept = dict(spec.run.spark) | {"spark.sql.shuffle.partitions": str(setting.shuffle_partitions)}
    run = replace(
        spec.run,
        checkpoint=_CHECKPOINT,
        dead_letters=SinkSpec("files", (("path", _DEAD),)),
        max_rows_per_batch=setting.rows,
        spark=tuple(kept.items()),
    )
    kind, options = "files", (("path", _IN),)
    if setting.partitions is not None:
        kind, options = "kafka", (("bootstrap", str(kafka)),)
    sinks = (SinkSpec("files", (("path", _OUT),)),)
    return replace(
        spec,
        folder=folder,
        run=run,
        sources=tuple(replace(each, kind=kind, options=options) for each in spec.sources),
        defaults=replace(spec.defaults, format=_lined(spec.defaults.format)),
        relations=tuple(_relation(each, topics) for each in spec.relations),
        products=tuple(replace(each, sinks=sinks) for each in spec.products),
        streams=(),
    )


def _relation(spec: RelationSpec, topics: str) -> RelationSpec:
    topic = f"{spec.topic or spec.name}{topics}" if topics else spec.topic
    return replace(spec, topic=topic, format=_lined(spec.format))


def _lined(format: str | None) -> str | None:
    """Return a format that has lines."""
    return "json" if format is not None and FORMATS[format].registry else format


def write_files(folder: Path, changes: Iterable[tuple[Relation, RowChange]]) -> None:
    """Write changes as the source `files` reads them, a thousand lines a file."""
    lines = defaultdict[str, list[str]](list)
    for relation, each in changes:
        lines[relation.topic].append(change_line(each.change(relation), relation))
    for topic, told in lines.items():
        for at in range(0, len(told), _LINES):
            text = "".join(f"{line}\n" for line in told[at : at + _LINES])
            write_whole(folder / topic / f"{at // _LINES:06d}.jsonl", text, synced=False)


def _write_topics(
    bootstrap: str,
    changes: Iterable[tuple[Relation, RowChange]],
    relations: Iterable[Relation],
    partitions: int,
) -> None:
    brokers = Brokers(bootstrap, {})
    for relation in relations:
        create_topic(brokers, relation.topic, partitions=partitions, replication=1, settings={})
    producer = make_producer(brokers)
    for number, (relation, each) in enumerate(changes, 1):
        key, value = _record(change_line(each.change(relation), relation))
        producer.produce(relation.topic, value, key, each.partition)
        if number % _LINES == 0:
            producer.poll(0)
    if left := producer.flush(60):
        raise SettingError(f"{left} records could not be written to Kafka at {bootstrap}")


def _record(line: str) -> tuple[str | None, str | None]:
    told = json.loads(line)
    if told.keys() != {"key", "value"}:
        return None, line
    return _text(told["key"]), None if told["value"] is None else _text(told["value"])


# Running


def by_command(folder: Path, setting: Setting) -> None:
    """Run `joinery run --once` in a process of its own, killed before if the setting says so.

    Raises:
        SettingError: It failed, or ended before it could be killed.
    """
    command = [sys.executable, "-m", "joinery.cli.main", "run", str(folder / _FILE), "--once"]
    if setting.killed and not (folder / _OUT).exists():
        _kill(command, after_batches=3)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, cwd=folder
    )
    if done.returncode != 0:
        raise SettingError(f"{setting.name}: the run failed", detail=done.stderr[-2000:])


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
    """Return what runs projects in a session that is there; one to be killed has its own process.

    Args:
        spark: With the Kafka connector where partitions are asked for.
    """

    def runner(folder: Path, setting: Setting) -> None:
        if setting.killed:
            by_command(folder, setting)
        else:
            run(spark, load(folder / _FILE), once=True).await_termination(_PATIENCE_S)

    return runner
