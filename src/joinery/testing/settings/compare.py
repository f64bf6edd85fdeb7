"""Each setting beside an oracle over its own logs: what they make must be the same.

Documents and rows reported late must be exactly the oracle's. Where no value goes by place, the
documents of another layout must be those of the logs as they were, too.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from joinery.app.project import Project
from joinery.model.change import Change
from joinery.model.type import Field, Struct
from joinery.plan.aggregate import AggregateForm
from joinery.plan.lasting import judged_relations
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Relation
from joinery.project.emit import AS_CHANGED, Emit
from joinery.project.window import Sliding
from joinery.semantics.read_change import change_line
from joinery.semantics.render import document_json
from joinery.testing.changes import RowChange
from joinery.testing.driver import Driver
from joinery.testing.settings.layout import (
    CHECKPOINT,
    DEAD_LETTERS,
    OUT,
    arranged,
    event_time_us,
    lay_out,
)
from joinery.testing.settings.output import (
    Documents,
    late_text,
    newest_documents,
    rows_reported_late,
)
from joinery.testing.settings.run import Runner, by_command, waits
from joinery.testing.settings.setting import SETTINGS, Setting

_SHOWN = 5
_BY_PLACE = frozenset({"first", "last", "collect"})

Oracle = Callable[[Product, Sequence[RowChange]], Documents]
"""What a product must hold once some changes are read: of one log after the other, in order."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One thing that a setting made otherwise than it should.

    Attributes:
        setting: Its name, and `against the logs as they were` where two oracles differ.
        product: Of which product.
        what: The key of a document, `in all` above some of them, or `reported late`.
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
        changes = arranged(kept, self._relations, setting)
        rows = setting.rows or max(1, len(changes) // 6)
        lay_out(self.project, changes, replace(setting, rows=rows), folder, self.kafka)
        self.runner(folder, setting)
        if setting.twice:
            shutil.rmtree(folder / CHECKPOINT)
            self.runner(folder, setting)
        told_late = rows_reported_late(folder / DEAD_LETTERS)
        for product in self._products:
            before = self._once(product, kept)
            expected = before if changes is kept else self.oracle(product, changes)
            yield from _documents(
                setting, product, expected, newest_documents(folder / OUT / product.name)
            )
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


# Oracles


def by_reference(product: Product, changes: Sequence[RowChange]) -> Documents:
    """Return what the reference holds once all changes are read, and all windows are closed."""
    driver = Driver(product)
    relations = {each.name: each for each in product.relations}
    driver.send(_placed(changes, relations))
    if waits(product):
        driver.until_closed()
    return {
        document_json(_named(key, product.key), product.key): document_json(value, product.output)
        for key, value in driver.documents().items()
    }


def _named(key: Any, type_: Struct) -> Mapping[str, Any]:
    """Return the columns of a key that the driver tells without their names."""
    values = key if isinstance(key, tuple) else (key,)
    return {
        each.name: _named(value, each.type) if isinstance(each.type, Struct) else value
        for each, value in zip(type_.fields, values, strict=True)
    }


def _placed(changes: Iterable[RowChange], relations: Mapping[str, Relation]) -> Iterator[Change]:
    for number, each in enumerate(changes):
        if each.relation in relations:
            yield replace(each.change(relations[each.relation]), place=(0, number))


def late_rows(product: Product, changes: Sequence[RowChange]) -> list[str]:
    """Return the lines of the rows that a product tells as late: each partition is read once.

    Where rows change, it is their keys with what is told of them, each once.
    """
    match product.form:
        case DocumentForm() as form if form.emit.late == "dead_letter":
            told = (_late_updates(each, form.emit, changes) for each in judged_relations(form))
            return sorted({line for each in told for line in each})
        case AggregateForm() | PatternForm() as form if form.emit.late == "dead_letter":
            if form.relation.append:
                return _late_inserts(form.relation, form.emit, changes)
            return sorted(set(_late_updates(form.relation, form.emit, changes)))
        case _:
            return []


def _late_inserts(relation: Relation, emit: Emit, changes: Iterable[RowChange]) -> list[str]:
    """Return the late rows of a log, in its order."""
    delay_us, allowed_us = relation.delay_ms * 1000, emit.allowed_us
    newest, late = dict[int, int](), list[str]()
    for each in changes:
        time_us = event_time_us(each, relation) if each.relation == relation.name else None
        if time_us is None or each.snapshot:
            continue
        before = newest.get(each.partition, time_us)
        if time_us < before - delay_us - allowed_us:
            late.append(change_line(each.change(relation), relation))
        newest[each.partition] = max(before, time_us)
    return late


def _late_updates(relation: Relation, emit: Emit, changes: Iterable[RowChange]) -> Iterator[str]:
    """Yield the updates that are late; they are as if not in the log, so others may be early."""
    allowed_us = emit.allowed_us
    key_type = Struct(tuple(Field(each, relation.type_of(each)) for each in relation.key))
    newest, rows = dict[int, int](), dict[str, Mapping[str, Any]]()
    for each in changes:
        if each.relation != relation.name:
            continue
        key = document_json(each.change(relation).key, key_type)
        if each.op not in ("insert", "update"):
            rows.pop(key, None)
            continue
        row = {**rows.get(key, {}), **each.columns}
        time_us = event_time_us(replace(each, columns=row), relation)
        told_us = event_time_us(each, relation)
        before = newest.get(each.partition)
        if told_us is not None and not each.snapshot:
            newest[each.partition] = told_us if before is None else max(before, told_us)
        limit = None if before is None else before - relation.delay_ms * 1000 - allowed_us
        late = limit is not None and time_us is not None and time_us < limit
        if late and limit is not None and time_us is not None and not each.snapshot:
            yield late_text(key, (limit - time_us) / 1_000_000)
        else:
            rows[key] = row


def _is_one_for_all_layouts(product: Product) -> bool:
    """Return whether rows alone decide what a product holds, not where they stand in logs.

    What slides goes by where the watermark ends, which is the least over all partitions.
    """
    match product.form:
        case DocumentForm() as form:
            return not judged_relations(form) or _loses_nothing(form.emit)
        case PatternForm() as form:
            return _loses_nothing(form.emit)
        case AggregateForm() as form:
            place = not form.relation.key and any(e.function in _BY_PLACE for e in form.aggregates)
            forgets = form.window is not None and not _loses_nothing(form.emit)
            slides = isinstance(form.window, Sliding)
            return form.emit.late == "correct" and not (place or forgets or slides)
        case _:
            return True


def _loses_nothing(emit: Emit) -> bool:
    """Return whether rows that are late correct what was sent, however late they are."""
    return emit.late == "correct" and emit.retention_us == AS_CHANGED.retention_us


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
        yield Disagreement(setting.name, product.name, "reported late", line, "")
    for line in list(more)[:_SHOWN]:
        yield Disagreement(setting.name, product.name, "reported late", "", line)
