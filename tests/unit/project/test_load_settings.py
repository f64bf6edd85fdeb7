"""Environment variables in a project file, and settings that replace what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.project.loading import ROOT, load, problems


def test_an_environment_variable_is_put_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("TOWN", "Riga")

    spec = load(tmp_path, 'name: "a${EMPTY}b ${JOINERY_NOT_SET:-c} ${TOWN} $${TOWN}"\n' + ROOT)

    assert "ab c Riga ${TOWN}" == spec.name


def test_a_plain_environment_variable_keeps_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWS", "5")

    spec = load(tmp_path, ROOT + "run:\n  max_rows_per_batch: ${ROWS}\n")

    assert 5 == spec.run.max_rows_per_batch


def test_a_missing_environment_variable_is_named(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT + '    where: "${JOINERY_NOT_SET} > 1"\n')

    assert ['7:12 SPEC_ENVIRONMENT environment variable "JOINERY_NOT_SET" is not set'] == found


@pytest.mark.parametrize("text", ["${TOWN", "${TO WN}", "${TOWN-x}", "${}"])
def test_a_variable_that_is_not_written_right_is_no_plain_text(tmp_path: Path, text: str) -> None:
    found = problems(tmp_path, ROOT + f'    where: "name > {text}"\n')

    assert ['7:12 SPEC_ENVIRONMENT "${" begins no environment variable'] == found


def test_what_follows_from_a_missing_variable_is_not_told(tmp_path: Path) -> None:
    found = problems(tmp_path, 'sources: {a: {files: {path: "${JOINERY_NOT_SET}"}}}\n' + ROOT)

    assert ["1:29 SPEC_ENVIRONMENT"] == [" ".join(each.split()[:2]) for each in found]


def test_a_setting_replaces_what_the_file_says(tmp_path: Path) -> None:
    settings = ("run.trigger=3s", "run.spark.spark.ui.enabled=true", "name=other")

    spec = load(tmp_path, ROOT + "run: {trigger: 2s}\n", settings)

    assert ("other", 3000) == (spec.name, spec.run.trigger_ms)
    assert (("spark.ui.enabled", "true"),) == spec.run.spark


def test_a_setting_with_an_unknown_name_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT, ("run.triger=3s",))

    assert ['1:1 SPEC_UNKNOWN_KEY "run" has no key "triger"'] == found


def test_a_setting_of_all_of_spark_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, ROOT, ("run.spark={spark.ui.enabled: true}",))

    assert [
        '1:1 SPEC_VALUE "run.spark" is a mapping, and a setting replaces one of its entries'
    ] == found
