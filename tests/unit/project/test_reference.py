"""The reference of the project file: its tables are the grammar's, its examples are right."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.unit.project.examples import EXAMPLES, FILE, PAGE, REST, keys_of_examples, merged

from joinery.plan.check import check
from joinery.project import grammar
from joinery.project.form import OutboxSpec
from joinery.project.kinds import FORMATS
from joinery.project.option import Names
from joinery.project.part import names_of
from joinery.project.quantity import duration_ms, size_bytes
from joinery.project.reference import SECTIONS, sections_of, with_tables
from joinery.project.run import RunSpec
from joinery.project.step import LookupSpec


def test_the_tables_of_the_page_are_those_of_the_grammar() -> None:
    if os.environ.get("JOINERY_GOLDEN") == "write":
        FILE.write_text(with_tables(PAGE), encoding="utf-8")

    assert with_tables(PAGE) == FILE.read_text(encoding="utf-8")


def test_the_page_of_formats_lists_each_with_what_it_needs() -> None:
    page = (FILE.parent / "formats.md").read_text(encoding="utf-8")
    rows = [
        f"| `{each.name}` | {each.message} | {'a schema registry ' if each.registry else ''}|"
        for each in FORMATS.values()
    ]

    assert "\n".join(rows) in page


def test_every_format_is_one_that_the_kernel_reads() -> None:
    kernel = FILE.parents[1] / "kernel/src/main/java/dev/joinery/kernel/format"
    decoders = set(re.findall(r'"([a-z-]+)" -> new', (kernel / "RelationFormat.java").read_text()))

    assert decoders == set(FORMATS)


def test_the_page_shows_every_section_once() -> None:
    assert sorted(SECTIONS) == sorted(sections_of(PAGE))


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_page_has_no_problem(example: str, tmp_path: Path) -> None:
    yaml = YAML(typ="safe")
    file = tmp_path / "joinery.yaml"
    with file.open("w", encoding="utf-8") as out:
        yaml.dump(merged(yaml.load(REST), yaml.load(example)), out)

    told = {"PLAN_NOT_YET", "PLAN_UNBOUNDED"}  # of aggregates
    found = [each for each in check(file) if each.code not in told]

    assert [] == [str(each) for each in found]


@pytest.mark.parametrize(
    "section", [each for each in SECTIONS if not each.startswith(("store ", "solution ", "sink "))]
)
def test_every_key_of_a_section_stands_in_an_example(section: str) -> None:
    assert set(SECTIONS[section]) <= keys_of_examples()


def test_every_key_of_the_grammar_has_a_sentence() -> None:
    unsaid = [
        f"{section}.{name}"
        for section, names in SECTIONS.items()
        for name, shape in names.items()
        if not str(shape.get("description", "")).endswith(".")
    ]

    assert [] == unsaid


def test_the_defaults_of_run_are_those_that_a_run_takes() -> None:
    run = RunSpec()

    assert {
        "checkpoint": run.checkpoint,
        "dead_letters_wait": run.dead_letters_wait,
        "trigger": run.trigger_ms,
        "real_time": run.real_time,
        "checkpoint_interval": run.checkpoint_interval_ms,
        "max_rows_per_batch": "auto" if run.max_rows_per_batch is None else run.max_rows_per_batch,
        "tombstone_retention": run.tombstone_retention_ms,
        "max_record_bytes": run.max_record_bytes,
        "max_document_bytes": run.max_document_bytes,
    } == defaults(names_of(RunSpec))


def test_the_defaults_of_a_lookup_are_those_that_it_takes() -> None:
    lookup = LookupSpec("t")

    assert {
        "read": lookup.read,
        "as_of": lookup.as_of,
        "late": lookup.late,
        "on_miss": lookup.on_miss,
        "on_change": lookup.on_change,
    } == defaults(names_of(LookupSpec))


def test_the_defaults_of_an_outbox_are_those_that_it_takes() -> None:
    outbox = OutboxSpec()

    assert {"key": outbox.key, "value": outbox.value} == defaults(grammar.OUTBOX)


def defaults(names: Names) -> dict[str, object]:
    return {name: in_units(each["default"]) for name, each in names.items() if "default" in each}


def in_units(default: object) -> object:
    """Return a default of the page as the code has it: milliseconds, bytes, or the word itself."""
    if not isinstance(default, str):
        return default
    milliseconds, size = duration_ms(default), size_bytes(default)
    return milliseconds if milliseconds is not None else size or default
