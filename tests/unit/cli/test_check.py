"""`joinery check` tells each problem at its place, and `explain` the plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.cli.shop import PROJECT, joinery


def test_check_tells_the_place_the_code_and_the_nearest_name(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "joinery.yaml").write_text(PROJECT.replace("[name]", "[nmae]"))

    assert joinery("check") == 2

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("joinery.yaml:7:")
    assert ': PLAN_UNKNOWN_FIELD relation "customer" has no field "nmae"' in lines[0]
    assert '  hint: Use "name".' in lines


def test_check_gives_json_of_every_problem(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "joinery.yaml").write_text(PROJECT.replace("customer, group", "custmer, group"))

    assert joinery("check", "--json") == 2

    problems = json.loads(capsys.readouterr().out)
    assert [6, 7] == [each["line"] for each in problems]
    names = {"file", "line", "column", "code", "message", "hint"}
    assert names <= problems[0].keys()


def test_check_warns_of_a_folder_that_no_relation_reads(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "data/customers").mkdir()

    assert joinery("check") == 0

    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("joinery.yaml:4:3: WARN_TOPIC_MISNAMED warning: relation")
    assert "  Near it: customers, which no relation reads." in told


def test_check_warns_of_a_source_folder_that_is_not_there(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "data").rmdir()

    assert joinery("check", "--json") == 0

    (told,) = json.loads(capsys.readouterr().out)
    assert ("WARN_SOURCE_FOLDER", "warning") == (told["code"], told["severity"])


def test_check_warns_of_a_product_without_a_sink_at_its_place(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "joinery.yaml").write_text(PROJECT.replace(", sink: {files: {path: out}}}", "}", 1))

    assert joinery("check") == 0

    told = capsys.readouterr().out
    assert told.startswith('joinery.yaml:6:3: WARN_NO_SINK warning: product "profile" has no sink')


def test_check_does_not_warn_of_a_product_without_a_sink_that_another_reads(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROJECT.replace(", sink: {files: {path: out}}}", "}", 1)
    more = (
        "  p: {aggregate: profile, values: {n: count(*)}, group: both, sink: {files: {path: o}}}\n"
    )
    (project / "joinery.yaml").write_text(text + more)

    assert joinery("check") == 0

    assert "WARN_NO_SINK" not in capsys.readouterr().out


def test_check_of_a_missing_file_stands_at_its_first_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("check", "nowhere.yaml") == 2

    assert capsys.readouterr().out.startswith("nowhere.yaml:1:1: ")


def test_check_names_what_real_time_cannot_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (project / "joinery.yaml").open("a", encoding="utf-8") as file:
        file.write("run: {real_time: true}\n")

    assert joinery("check") == 2

    assert "RUN_REAL_TIME" in (told := "".join(capsys.readouterr()))
    assert "real time reads only kafka, postgres and mysql" in told


def test_explain_prints_the_plan(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert joinery("explain", "--product", "names") == 0

    assert "Emit names by id" in capsys.readouterr().out


def test_explain_warns_of_what_the_solution_cannot_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relation = "  saved: {key: [id], fields: {id: long, query: string}}\n"
    product = "  alert: {search: customer, queries: saved, query: query, group: alerts}\n"
    file = project / "joinery.yaml"
    file.write_text(file.read_text().replace("products:\n", f"{relation}products:\n{product}"))

    assert joinery("explain", "--solution", "rdbms-store") == 0
    assert 'rdbms-store cannot run "alert" yet' in capsys.readouterr().err

    assert joinery("explain", "--product", "names", "--solution", "rdbms-store") == 0
    assert not capsys.readouterr().err


def test_explain_shows_the_kernel_s_program_where_it_is_asked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("explain") == 0
    assert "-- kernel" not in capsys.readouterr().out

    assert joinery("explain", "--kernel") == 0
    assert "-- kernel of profile, names" in capsys.readouterr().out


def test_explain_writes_several_products_into_one_page(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("explain", "--html", "plan.html") == 0

    page = (project / "plan.html").read_text()
    assert capsys.readouterr().out == "plan.html\n"
    assert "<title>Plan of shop</title>" in page
    assert page.count("<svg ") == 2
    assert '<h1 class="chapter">names</h1>' in page


def test_explain_writes_a_page(project: Path) -> None:
    assert joinery("explain", "--product", "names", "--html", "plan.html") == 0

    assert (project / "plan.html").read_text().startswith("<!doctype html>")


def test_checking_does_not_import_spark(project: Path) -> None:
    code = (
        "import sys; from joinery.cli.check import run_check; from pathlib import Path;"
        "run_check(Path('joinery.yaml'), as_json=False); print('pyspark' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=project
    )

    assert told.stdout.splitlines()[-1] == "False"


def test_of_very_many_problems_the_first_are_told_and_check_tells_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "".join(f"  r{each}: {{key: [id], fields: {{id: long}}, x: 1}}\n" for each in range(50))
    (folder / "joinery.yaml").write_text(PROJECT.replace("products:", f"{wrong}products:"))

    assert joinery("status") == 2
    told = capsys.readouterr().err.splitlines()
    assert sum("SPEC_UNKNOWN_KEY" in each for each in told) == 20
    assert told[-1] == "… 30 more problems: joinery check lists all"

    assert joinery("check") == 2
    assert capsys.readouterr().out.count("SPEC_UNKNOWN_KEY") == 50


def test_one_problem_more_than_are_told_is_counted_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "".join(f"  r{each}: {{key: [id], fields: {{id: long}}, x: 1}}\n" for each in range(21))
    (folder / "joinery.yaml").write_text(PROJECT.replace("products:", f"{wrong}products:"))

    assert joinery("status") == 2

    assert capsys.readouterr().err.endswith("… 1 more problem: joinery check lists all\n")
