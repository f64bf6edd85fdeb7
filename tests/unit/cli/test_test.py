"""`joinery test` as a user types it: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joinery.cli.init import run_init
from joinery.cli.test import CaseArguments, NoCasesError, run_tests
from joinery.errors import ProjectErrors

FAILING = """\
product: customer_profile
cases:
  - name: Ada has spent too much
    given: {customer: [{id: 1, name: Ada}]}
    expect: [{id: 1, name: Ada, spent: 5}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run_init(Path())
    return Path("joinery.yaml")


def test_the_example_that_init_writes_passes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_tests(CaseArguments(project)) == 0

    assert "tests/customer_profile.yaml: 2 passed\n" in capsys.readouterr().out


def test_a_failing_case_is_shown_with_its_place_and_gives_exit_code_3(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tests/b.yaml").write_text(FAILING)
    capsys.readouterr()

    assert run_tests(CaseArguments(project)) == 3

    shown = capsys.readouterr().out.splitlines()
    assert shown[:4] == [
        'tests/b.yaml:3:5: FAILED product "customer_profile": Ada has spent too much',
        "  id=1 spent  (line 5)",
        "    expected 5",
        "    got      null",
    ]
    assert shown[-1].startswith("1 failed, 2 passed in ")


def test_only_the_cases_of_a_name_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests/b.yaml").write_text(FAILING)
    capsys.readouterr()

    assert run_tests(CaseArguments(project, "CANCELLED", as_json=True)) == 0

    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["line"], row["passed"]) == (
        "a cancelled order does not count",
        5,
        True,
    )


def test_a_name_that_no_case_has_is_an_error(project: Path) -> None:
    with pytest.raises(NoCasesError, match='no case has "zork" in its name'):
        run_tests(CaseArguments(project, "zork"))


def test_a_project_without_cases_is_told_where_they_go(project: Path) -> None:
    Path("tests/customer_profile.yaml").unlink()

    with pytest.raises(NoCasesError, match="there are no tests: no tests/"):
        run_tests(CaseArguments(project))


def test_no_case_runs_where_a_file_is_wrong(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tests/b.yaml").write_text("cases: {}")
    capsys.readouterr()

    with pytest.raises(ProjectErrors, match='"cases" needs a list'):
        run_tests(CaseArguments(project))

    assert capsys.readouterr().out == ""
