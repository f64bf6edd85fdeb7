"""How a project runs: what its keys hold, and every problem with them at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors, SpecError
from joinery.project.load import dump_spec, load_spec
from joinery.project.part import part_data
from joinery.project.run import LineageSpec, RunSpec

REST = "relations: {}\nproducts: {}\nrun:\n"
WRONG = """\
  checkpoint: [cp]
  dead_letters: {files: {path: dead, spool: true}}
  dead_letters_wait: 1
  trigger: soon
  real_time: "true"
  checkpoint_interval: 4s
  max_rows_per_batch: all
  max_bytes_per_batch: 0
  spark: [a]
  tombstone_retention: 1 month
  max_record_bytes: big
  max_document_bytes: {}
  http: 9464
  lineage: {namespace: shop}
  audit: {rate: fast}
  marks: {every: 500ms, keep: 0}
  solutions: {kv: {stor: redis}}
  chekpoint: cp
"""


def load(folder: Path, text: str) -> RunSpec:
    file = folder / "joinery.yaml"
    file.write_text(REST + text, encoding="utf-8")
    return load_spec(file).run


def problems(folder: Path, text: str) -> list[SpecError]:
    with pytest.raises(ProjectErrors) as caught:
        load(folder, text)
    return [each for each in caught.value.problems if isinstance(each, SpecError)]


def test_every_problem_with_a_key_is_told_at_its_place(tmp_path: Path) -> None:
    found = problems(tmp_path, WRONG)

    assert [
        '4:15 "checkpoint" of "run" needs a text, not a list',
        '5:17 "dead_letters" cannot have "spool"',
        '6:22 "dead_letters_wait" needs true or false, not "1"',
        '7:12 "trigger" needs a duration, not "soon"',
        '8:14 "real_time" needs true or false, not "true"',
        '9:24 "checkpoint_interval" cannot be "4s"',
        '10:23 "max_rows_per_batch" needs auto or a whole number from 1, not "all"',
        '11:24 "max_bytes_per_batch" needs a size from 1, not "0"',
        '12:10 "spark" of "run" needs a map, not a list',
        '13:24 "tombstone_retention" needs a duration, not "1 month"',
        '14:21 "max_record_bytes" needs a size from 1, not "big"',
        '15:23 "max_document_bytes" needs a size from 1, not a map',
        '16:9 "http" of "run" needs host:port, not "9464"',
        '17:12 "lineage" of "run" needs "url"',
        '18:17 "rate" of "audit" cannot be "fast"',
        '19:18 "every" of "marks" of "run" cannot be "500ms"',
        '19:31 "keep" of "marks" of "run" needs a whole number from 1, not "0"',
        '20:20 "kv" of "solutions" of "run" has no key "stor"',
        '21:3 "run" has no key "chekpoint"',
    ] == [
        f"{each.location.line}:{each.location.column} {each.message}"
        for each in found
        if each.location
    ]


def test_a_problem_says_what_to_write(tmp_path: Path) -> None:
    hints = [each.hint for each in problems(tmp_path, WRONG)]

    assert [
        "Dead letters are kept with their batch.",
        "Spark needs 5s or more; 5m is the default.",
        "Write 127.0.0.1:9464.",
        "Write {url: http://host:5000}.",
        "Write it as 100/s.",
        "Write 1s or more; 1h is the default.",
        'Use "checkpoint".',
    ] == [hints[place] for place in (1, 5, 12, 13, 14, 15, 18)]


@pytest.mark.parametrize("text", ["  lineage:\n", "  spark:\n  solutions:\n", "  {}\n"])
def test_a_map_that_is_left_empty_is_none(text: str, tmp_path: Path) -> None:
    assert RunSpec() == load(tmp_path, text)


def test_a_lineage_that_is_no_map_has_one_problem(tmp_path: Path) -> None:
    found = problems(tmp_path, "  lineage: http://host:5000\n")

    assert ['"lineage" of "run" needs a map, not "http://host:5000"'] == [
        each.message for each in found
    ]


def test_lineage_has_a_namespace_of_its_own(tmp_path: Path) -> None:
    run = load(tmp_path, "  lineage: {url: http://host:5000}\n")

    assert LineageSpec("http://host:5000", "joinery", None) == run.lineage


def test_a_run_is_written_as_a_user_would_write_it(tmp_path: Path) -> None:
    run = load(
        tmp_path,
        "  trigger: 120s\n  max_record_bytes: 1048576\n  max_bytes_per_batch: 1000\n"
        "  lineage: {url: u, api_key: k}\n  audit: {}\n  solutions: {kv: {}}\n",
    )

    assert {
        "trigger": "2m",
        "max_bytes_per_batch": "1000 B",
        "max_record_bytes": "1 MiB",
        "lineage": {"url": "u", "api_key": "k"},
        "audit": {},
        "solutions": {"kv": {}},
    } == part_data(run)


def test_what_may_be_secret_is_not_shown(tmp_path: Path) -> None:
    run = load(
        tmp_path,
        "  lineage: {url: u, api_key: planted}\n"
        "  audit: {database: 'postgresql://u:planted@h/d'}\n"
        "  solutions: {rdbms-store: {database: 'postgresql://u:planted@h/d'}}\n",
    )

    assert "planted" not in repr(run)
    assert "planted" not in repr(run.lineage)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(
        REST + "  dead_letters: {kafka: {topic: dead}}\n  http: 127.0.0.1:9464\n"
        "  real_time: true\n  checkpoint_interval: 90s\n  spark: {spark.ui.enabled: true}\n",
        encoding="utf-8",
    )
    spec = load_spec(file)

    file.write_text(dump_spec(spec), encoding="utf-8")

    assert spec.run == load_spec(file).run
