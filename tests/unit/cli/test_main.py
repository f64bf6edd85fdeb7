"""The command line tells what is wrong in one line, with the right exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from joinery.cli import main as module
from joinery.cli.commands import NOT_YET, app
from joinery.cli.demo import project_text
from joinery.cli.project import plan_project
from joinery.project.kinds import SINKS
from joinery.project.load import load_spec

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, group: both, sink: {files: {path: out}}}
  names: {root: customer, group: both, fields: [name], sink: {files: {path: out}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "data").mkdir()
    (folder / "joinery.yaml").write_text(PROJECT)
    return folder


def joinery(*arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["joinery", *arguments])
        with pytest.raises(SystemExit) as ended:
            module.main()
    return int(ended.value.code or 0)


COMMANDS = typer.main.get_command(app)
assert isinstance(COMMANDS, typer.core.TyperGroup)
BUILT = COMMANDS.commands
GROUPS = {name: each for name, each in BUILT.items() if isinstance(each, typer.core.TyperGroup)}
NAMES = [
    *((name,) for name in BUILT),
    *((name, inner) for name, group in GROUPS.items() for inner in group.commands),
]


@pytest.mark.parametrize("names", [(), *NAMES], ids=" ".join)
def test_every_command_has_its_help(
    names: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery(*names, "--help") == 0

    shown = capsys.readouterr().out
    assert f"Usage: {' '.join(('joinery', *names))}" in shown
    assert "<bool>" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_usage_tells_what_is_required_and_what_may_be_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for names in (("pause",), ("dlq", "show"), ("table", "add"), ("run",)):
        joinery(*names, "--help")

    lines = [each.strip() for each in capsys.readouterr().out.splitlines()]
    assert [
        "Usage: joinery pause [OPTIONS] P...",
        "Usage: joinery dlq show [OPTIONS] [ID]...",
        "Usage: joinery table add [OPTIONS] SOURCE [TABLE]...",
        "Usage: joinery run [OPTIONS] [FILE]",
    ] == [each for each in lines if each.startswith("Usage: ")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("why", "-5", "--product", "customer_profile"), "no record of customer has the key -5"),
        (("why", "--row", "customer:-5", "-6"), "why takes a key or --row RELATION:KEY, not both"),
        (("erase", "customer", "-5"), 'relation "customer" has no personal columns'),
    ],
)
def test_a_key_may_be_below_zero(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert joinery("init") == 0

    assert joinery(*arguments) == 2

    assert said in capsys.readouterr().err


def test_init_writes_a_project_that_checks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("init") == 0
    assert joinery("check") == 0

    assert "joinery.yaml: no errors; 2 relations, 1 product" in capsys.readouterr().out


def test_init_overwrites_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "joinery.yaml").write_text("mine")

    assert joinery("init") == 2

    assert "joinery.yaml exists already" in capsys.readouterr().err
    assert ["joinery.yaml"] == [each.name for each in folder.iterdir()]


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


def test_a_preview_of_an_unknown_product_names_the_one_like_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("preview", "profil") == 2

    told = capsys.readouterr().err
    assert 'there is no product or stream "profil". Known are profile, names.' in told
    assert 'Use "profile". [PREVIEW_ARGUMENT]' in told


def test_check_of_a_missing_file_stands_at_its_first_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("check", "nowhere.yaml") == 2

    assert capsys.readouterr().out.startswith("nowhere.yaml:1:1: ")


def test_an_unknown_product_is_told_with_the_known_ones(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("run", "--product", "profil") == 2

    told = capsys.readouterr().err
    assert 'there is no product "profil". Known: profile, names. Use "profile".' in told
    assert told.count("\n") == 1


def test_an_unknown_solution_is_told_with_the_known_ones(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("run", "--solution", "spark") == 2

    assert "Known: spark-state, rdbms-trigger," in capsys.readouterr().err


def test_a_part_of_a_group_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert joinery("run", "--product", "profile") == 2

    assert "Left out: names." in capsys.readouterr().err


def test_real_time_is_refused_with_the_reason(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("run", "--real-time") == 2

    assert "real time reads only kafka, postgres and mysql" in capsys.readouterr().err


def test_check_names_what_real_time_cannot_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (project / "joinery.yaml").open("a", encoding="utf-8") as file:
        file.write("run: {real_time: true}\n")

    assert joinery("check") == 2

    assert "RUN_REAL_TIME" in (told := "".join(capsys.readouterr()))
    assert "real time reads only kafka, postgres and mysql" in told


def test_a_sink_that_is_not_installed_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(SINKS.built_in, "files")

    assert joinery("run") == 2

    assert '"sink" of product "profile" has no kind "files"' in capsys.readouterr().err


def test_a_missing_java_is_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(project))

    assert joinery("run", "--once") == 1

    told = capsys.readouterr().err
    assert told.startswith("error: there is no Java in JAVA_HOME")
    assert told.count("\n") == 1
    lease = json.loads((project / ".joinery/checkpoint/_leases/both.lease").read_text())
    assert lease["released"]


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


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert joinery("--version") == 0

    assert capsys.readouterr().out.startswith("joinery ")


def test_checking_does_not_import_spark(project: Path) -> None:
    code = (
        "import sys; from joinery.cli.check import run_check; from pathlib import Path;"
        "run_check(Path('joinery.yaml'), as_json=False); print('pyspark' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=project
    )

    assert told.stdout.splitlines()[-1] == "False"


def test_the_demo_runs_the_example() -> None:
    example = Path(__file__).parents[3] / "examples/github/joinery.yaml"

    assert example.read_text(encoding="utf-8") == project_text()


def test_a_plan_that_does_not_fit_its_checkpoint_ends_the_run_before_spark_starts(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offsets = project / ".joinery/checkpoint/both/offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").touch()

    assert joinery("run", "--once") == 1

    told = capsys.readouterr().err.strip()
    assert told.startswith('error: the checkpoint of query "both" holds state that another plan')
    assert told.endswith("[STATE_MISMATCH]")
    assert "\n" not in told
    assert not (project / "out").exists()


def test_join_state_comes_from_the_sources_or_a_checkpoint_that_is_there(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("run", "--solution", "kv", "--bootstrap-from", "nowhere") == 2
    known = "Use --bootstrap-from source, database, parquet FOLDER or checkpoint."
    assert known in capsys.readouterr().err

    assert joinery("run", "--bootstrap-from", "database") == 2
    assert "no source of the project is a database" in capsys.readouterr().err

    assert joinery("run", "--bootstrap-from", "parquet", "--once") == 2
    assert "--bootstrap-from parquet needs the folder" in capsys.readouterr().err

    assert joinery("run", "--bootstrap-from", "parquet", "export") == 2
    assert "no source of the project is a PostgreSQL database" in capsys.readouterr().err

    assert joinery("run", "--solution", "kv", "--bootstrap-from", "checkpoint") == 1
    assert 'query "both" has no checkpoint to start from' in capsys.readouterr().err


SOURCES = {
    "postgres": '{changes: {postgres: {url: "postgresql://h/shop"}}}',
    "mysql": '{changes: {mysql: {url: "mysql://h/shop"}}}',
}


@pytest.mark.parametrize(
    ("source", "more", "code", "told"),
    [
        ("postgres", "", 1, 'the log of source "changes" was not started for an export'),
        ("postgres", ", append: true", 1, 'relation "customer" is append, and its rows cannot'),
        ("mysql", "", 2, "tables of MySQL cannot be loaded from an export yet"),
    ],
)
def test_an_export_needs_a_log_that_was_begun_for_it(
    project: Path, capsys: pytest.CaptureFixture[str], source: str, more: str, code: int, told: str
) -> None:
    text = PROJECT.replace("{changes: {files: {path: data}}}", SOURCES[source])
    text = text.replace("{key: [id], fields: {id: long, name: string}}", f"{{key: [id]{more}}}")
    text = text.replace("key: [id]", "key: [id], fields: {id: long, name: string}")
    (project / "joinery.yaml").write_text(text)

    assert joinery("run", "joinery.yaml", "--bootstrap-from", "parquet", "export") == code

    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_a_run_tells_what_auto_has_chosen_and_why(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, _ = plan_project(load_spec(project / "joinery.yaml"), solution="auto")

    assert {"spark-state"} == {each.solution.name for each in spec.products}
    assert "runs on spark-state: nothing has been measured yet" in capsys.readouterr().err


@pytest.mark.parametrize("name", NOT_YET)
def test_a_command_that_is_specified_and_not_built_says_so(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery(name, "joinery.yaml", "--json") == 2

    told = capsys.readouterr().err
    assert f"error: joinery {name} is specified, but not built yet." in told
    assert 1 == told.count("\n")


def test_a_command_that_is_built_is_not_called_missing() -> None:
    assert set() == BUILT.keys() & set(NOT_YET)


def test_only_a_run_that_ends_closes_what_is_open(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("run", "--until-closed") == 2
    assert joinery("run", "--once", "--until-closed", "--rebuild") == 2

    told = capsys.readouterr().err
    assert "--until-closed says how --once ends, so it needs --once" in told
    assert "--until-closed cannot be combined with --rebuild" in told


def test_a_longest_wait_is_for_once_alone_and_a_duration(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("run", "--wait", "5m") == 2
    assert joinery("run", "--once", "--wait", "soon") == 2

    told = capsys.readouterr().err
    assert "--wait limits how long --once waits, so it needs --once" in told
    assert '--wait needs a duration, not "soon". Write one such as 5m or 90s.' in told


@pytest.mark.parametrize(
    ("argument", "option"),
    [("joinery.yaml", "--file"), ("other.yaml", "--file"), ("profile", "--product")],
)
def test_diff_names_the_option_that_an_argument_belongs_to(
    argument: str, option: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("diff", argument) == 2

    told = capsys.readouterr().err
    assert told == (
        f'error: diff takes no argument "{argument}" without an option.'
        f" Use {option} {argument}. [DIFF]\n"
    )


def test_why_names_what_takes_an_argument_behind_its_key(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("why", "profile", "42") == 2

    told = capsys.readouterr().err
    assert told == (
        'error: why takes one key, and no argument "42" behind it. Name the product with'
        " --product P; write the columns of a key as one, with commas: de,42. [WHY]\n"
    )


def test_diff_takes_its_project_file_as_the_other_commands_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.yaml").write_text(PROJECT)

    assert joinery("diff", "--file", "other.yaml", "--product", "nobody") == 2
    assert joinery("diff", "--file", "nowhere.yaml") == 2

    told = capsys.readouterr().err.splitlines()
    assert "nobody" in told[0]
    assert told[1].startswith("nowhere.yaml:1:1: ")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("explain", "--html", "data"), "data: Is a directory. Name a file, or move"),
        (("pause", "profile", "names"), "_control: File exists. Name a folder, or move"),
    ],
)
def test_a_place_that_cannot_be_written_is_no_defect(
    project: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], told: str
) -> None:
    (project / ".joinery/checkpoint/_control").parent.mkdir(parents=True)
    (project / ".joinery/checkpoint/_control").touch()

    assert joinery(*command) == 1

    said = capsys.readouterr().err
    assert told in said
    assert said.endswith(" [FILE]\n")
    assert 1 == said.count("\n")


def test_of_very_many_problems_the_first_are_told_and_check_tells_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "".join(f"  r{each}: {{key: [id], fields: {{id: long}}, x: 1}}\n" for each in range(50))
    (folder / "joinery.yaml").write_text(PROJECT.replace("products:", f"{wrong}products:"))

    assert joinery("status") == 2
    told = capsys.readouterr().err.splitlines()
    assert sum("SPEC_UNKNOWN_KEY" in each for each in told) == 20
    assert told[-1] == "… 30 more problems: joinery check tells all"

    assert joinery("check") == 2
    assert capsys.readouterr().out.count("SPEC_UNKNOWN_KEY") == 50


def test_one_problem_more_than_are_told_is_counted_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "".join(f"  r{each}: {{key: [id], fields: {{id: long}}, x: 1}}\n" for each in range(21))
    (folder / "joinery.yaml").write_text(PROJECT.replace("products:", f"{wrong}products:"))

    assert joinery("status") == 2

    assert capsys.readouterr().err.endswith("… 1 more problem: joinery check tells all\n")


@pytest.mark.parametrize(
    "command", [("status", "shop"), ("status", "shop/joinery.yaml"), ("erase", "shop", "2")]
)
def test_a_project_given_as_another_argument_is_told_how_to_be_named(
    folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "joinery.yaml").write_text(PROJECT)

    code = joinery(*command)

    assert code == 2
    assert f"  hint: For {command[1]}, write --file {command[1]}.\n" in capsys.readouterr().err


def test_who_names_no_other_project_is_told_of_the_one_that_is_missing_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (("status", "orders"), ("check", "joinery.yaml")):
        joinery(*command)

    assert "--file" not in capsys.readouterr().err


def test_preview_takes_a_project_without_a_product(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joinery("init", "shop")
    capsys.readouterr()

    assert joinery("preview", "shop") == joinery("preview", "shop/joinery.yaml") == 0
    assert capsys.readouterr().out
