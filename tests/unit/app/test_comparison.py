"""What cannot be compared is said before anything is, and left out where a run compares."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import joinery as jn
from joinery.app.against import against_of
from joinery.app.auditor import Auditor
from joinery.app.comparison import DiffOptions, ProductComparison, checked
from joinery.audit.error import DiffError
from joinery.audit.verdict import Difference, DiffReport, NotCompared, Open, ProductDiff
from joinery.cli.diff import run_diff
from joinery.cli.ending import FAILED, WRONG
from joinery.delivery.query_paths import QueryPaths
from joinery.model.audit import AuditProgress
from joinery.model.status import QueryStatus
from joinery.plan.build import build_plan
from joinery.project.audit import AuditSpec
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

PROJECT = """\
name: shop
sources:
  data: {files: {path: data}}
  db: {mysql: {url: "mysql://joinery@127.0.0.1:1/shop", spool: {path: spool}}}
defaults: {source: data, format: json}
relations:
  user: {key: [id], fields: {id: long}}
  item: {source: db, format: debezium-json, key: [id], fields: {id: long}}
products:
  person: {root: user, sink: {files: {path: out}}}
  shown: {root: user, sink: {console: {}}}
  stock: {root: item, sink: {files: {path: out}}}
  sold: {aggregate: item, by: [id], values: {n: count(*)}, sink: {files: {path: out}}}
  kept: {aggregate: item, by: [id], values: {n: count(*)}}
"""


class Run:
    """A run that ends after some looks."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self.told: AuditProgress | None = None

    def audits(self, told: AuditProgress) -> None:
        self.told = told

    def await_termination(self, timeout: float | None = None) -> bool:
        self._looks -= 1
        return self._looks < 0


@pytest.fixture
def spec(tmp_path: Path) -> ProjectSpec:
    (tmp_path / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    for each in ("person", "shown", "stock"):
        begin(tmp_path, each)
    return load_spec(tmp_path)


def begin(folder: Path, product: str) -> None:
    """Leave what a run of a product leaves that has begun its first batch."""
    log = folder / ".joinery" / "checkpoint" / product / "offsets"
    log.mkdir(parents=True)
    (log / "0").write_text("v1\n{}\n", encoding="utf-8")


def test_what_is_kept_in_real_time_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "joinery.yaml").write_text(f"{PROJECT}run: {{real_time: true}}\n", encoding="utf-8")
    spec = load_spec(tmp_path)

    with pytest.raises(DiffError, match='"person" cannot be compared: it is kept in real-time'):
        checked(spec, ["person"], DiffOptions())


def test_what_a_run_keeps_in_real_time_by_its_own_option_is_not_compared(spec: ProjectSpec) -> None:
    told = QueryStatus(query="person", state="running", began_at=0.0, written_at=0.0, live=True)
    file = QueryPaths.of(spec.checkpoint, "person").status_file
    assert isinstance(file, Path)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(told.to_json()), encoding="utf-8")

    with pytest.raises(DiffError, match='"person" cannot be compared: it is kept in real-time'):
        checked(spec, ["person"], DiffOptions())


def test_a_product_that_never_ran_is_not_compared(tmp_path: Path) -> None:
    text = PROJECT.replace("console: {}", "sqlite: {path: shown.db}")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    begin(tmp_path, "person")

    found = jn.diff(tmp_path, "person", "shown")

    assert [("shown", False)] == [(each.product, each.failed) for each in found.refused]
    assert "it has never run" in found.refused[0].why
    with pytest.raises(DiffError, match=r'"shown" cannot be compared: it has never run'):
        jn.diff(tmp_path, "shown")


def test_a_sink_that_cannot_be_read_hinders_no_other(tmp_path: Path) -> None:
    text = PROJECT.replace("sink: {console: {}}", "sink: {sqlite: {path: shown.db}}")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    begin(tmp_path, "person")
    begin(tmp_path, "shown")

    found = jn.diff(tmp_path, "shown", "person")

    assert ["person"] == [each.product for each in found.parts]
    assert [("shown", "sqlite", True)] == [
        (each.product, each.sink, each.failed) for each in found.refused
    ]
    assert FAILED == compare_all(tmp_path)


def compare_all(folder: Path) -> int:
    """Return the exit code of `joinery diff`."""
    return run_diff(
        folder,
        ("shown", "person"),
        database="",
        sample="",
        rate="",
        resume=False,
        repair=False,
        wait="1m",
        as_json=False,
    )


def test_a_sink_that_cannot_be_read_is_refused_before_any_product_is_compared(
    spec: ProjectSpec, tmp_path: Path
) -> None:
    with pytest.raises(DiffError, match=r'product "shown" cannot be compared.*console'):
        jn.diff(tmp_path, "shown")

    assert ["checkpoint"] == [each.name for each in (tmp_path / ".joinery").iterdir()]


def test_what_cannot_be_compared_is_told_and_the_rest_is_compared(spec: ProjectSpec) -> None:
    found, refused = checked(spec, [], DiffOptions())
    lines = [line for each in refused for line in each.lines()]

    assert ["person", "stock"] == [each.product.name for each in found]
    assert [("shown", "console"), ("sold", "")] == [(each.product, each.sink) for each in refused]
    assert "shown: console not compared" == lines[0]
    assert "console" in lines[1]
    assert "sold: not compared" == next(each for each in lines if each.startswith("sold"))


def test_a_product_of_another_form_hinders_none_that_is_named_beside_it(spec: ProjectSpec) -> None:
    found, refused = checked(spec, ["person", "nobody"], DiffOptions())

    assert ["person"] == [each.product.name for each in found]
    assert [("nobody", "")] == [(each.product, each.sink) for each in refused]


def test_a_run_says_once_what_it_cannot_compare(
    spec: ProjectSpec, caplog: pytest.LogCaptureFixture
) -> None:
    auditor = Auditor(spec, AuditSpec(), ["shown"], Run(3), between_s=0.0)

    with caplog.at_level(logging.WARNING, "joinery.run"):
        auditor.run()

    assert ["documents cannot be compared"] == caplog.messages


def test_what_was_found_wrong_stays_so_where_a_later_comparison_came_too_early(
    spec: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = ProductDiff("person", "files out", "tables", "exact", compared=3)
    late = replace(part, unsettled=(Open('{"id":1}', "not applied in time", late=True),))
    wrong = replace(part, differences=(Difference('{"id":1}', "{}", None, None),))
    rounds = iter((wrong, late))
    monkeypatch.setattr(ProductComparison, "run", lambda self: next(rounds))
    run = Run(3)

    Auditor(spec, AuditSpec(), ["person"], run, between_s=0.0).run()

    assert run.told is not None
    assert (1, 1) == (run.told.differing, run.told.differences)


def test_files_that_are_being_written_are_not_waited_for(spec: ProjectSpec) -> None:
    folder = spec.path_of("data") / "user"
    folder.mkdir(parents=True)
    person = build_plan(spec.alone("person")).products[0]
    reached = []

    for name in (".1.jsonl", "_2.jsonl", "3.jsonl"):
        (folder / name).touch()
        with against_of(spec, person, "", wait_s=0.0) as against:
            reached.append(against.applied.reach(0))

    assert [True, True, False] == reached


def test_the_spool_of_mysql_is_compared_with(spec: ProjectSpec) -> None:
    stock = build_plan(spec.alone("stock")).products[0]
    folder = spec.path_of("spool") / "db" / "files" / stock.root.relation.topic
    reached = []
    steps: list[Callable[[], None]] = [lambda: None, lambda: folder.mkdir(parents=True)]

    for make in [*steps, (folder / "1.jsonl").touch]:
        make()
        with against_of(spec, stock, "", wait_s=0.0) as against:
            reached.append(against.applied.reach(0))

    assert [True, True, False] == reached


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (DiffOptions(sample="200%"), '"200%" is not a share of the documents'),
        (DiffOptions(sample="half"), '"half" is not a share of the documents'),
        (DiffOptions(wait="soon"), '"soon" is not a duration'),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_compared(
    options: DiffOptions, said: str, spec: ProjectSpec
) -> None:
    with pytest.raises(DiffError, match=said):
        checked(spec, ("person",), options)


def test_a_comparison_that_compared_nothing_is_not_told_as_one_that_found_nothing(
    spec: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = DiffReport((), (NotCompared("person", "files", "its logs are gone"),))
    monkeypatch.setattr("joinery.cli.diff.diff", lambda *_, **__: refused)

    assert WRONG == compare_all(Path("joinery.yaml"))
