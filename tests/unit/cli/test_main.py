"""The command line tells what is wrong in one line, with the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.unit.cli.shop import PROJECT, joinery

from joinery.cli import main
from joinery.cli.commands import app
from joinery.cli.demo import project_text
from joinery.cli.project import plan_project
from joinery.project.load import load_spec

COMMANDS = typer.main.get_command(app)
assert isinstance(COMMANDS, typer.core.TyperGroup)
BUILT = COMMANDS.commands
GROUPS = {name: each for name, each in BUILT.items() if isinstance(each, typer.core.TyperGroup)}
NAMES = [
    *((name,) for name in BUILT),
    *((name, inner) for name, group in GROUPS.items() for inner in group.commands),
]


@pytest.mark.parametrize("arguments", [("check",), ("schema",), ("status",)], ids=" ".join)
@pytest.mark.parametrize("errors", [False, True], ids=["output", "errors too"])
def test_a_reader_who_leaves_makes_no_command_fail(
    tmp_path: Path, arguments: tuple[str, ...], errors: bool
) -> None:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    read, write = os.pipe()
    os.close(read)

    ended = subprocess.run(
        [sys.executable, "-m", "joinery.cli.main", *arguments],
        cwd=tmp_path,
        stdout=write,
        stderr=write if errors else subprocess.DEVNULL,
    )

    os.close(write)
    assert 0 == ended.returncode


def test_another_pipe_that_breaks_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        try:
            raise BrokenPipeError(32, "Broken pipe")
        except OSError:
            sys.exit(1)  # as Typer does

    monkeypatch.setattr(main, "_run", broken)

    with pytest.raises(SystemExit) as ended:
        main.main()

    assert 1 == ended.value.code
    assert "BrokenPipeError: [Errno 32] Broken pipe. This is a defect" in capsys.readouterr().err


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


def test_a_preview_of_an_unknown_product_names_the_one_like_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joinery("preview", "profil") == 2

    told = capsys.readouterr().err
    assert 'there is no product or stream "profil". Known: profile, names.' in told
    assert 'Use "profile". [PREVIEW_ARGUMENT]' in told


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert joinery("--version") == 0

    assert capsys.readouterr().out.startswith("joinery ")


def test_the_demo_runs_the_example() -> None:
    example = Path(__file__).parents[3] / "examples/github/joinery.yaml"

    assert example.read_text(encoding="utf-8") == project_text()


def test_a_run_tells_what_auto_has_chosen_and_why(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, _ = plan_project(load_spec(project / "joinery.yaml"), solution="auto")

    assert {"spark-state"} == {each.solution.name for each in spec.products}
    assert "runs on spark-state: nothing has been measured yet" in capsys.readouterr().err


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


@pytest.mark.parametrize("command", ["run", "explain", "apply"])
def test_a_product_given_in_place_of_the_file_is_told_how_to_be_named(
    project: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code = joinery(command, "profile")

    assert code == 2
    assert "  hint: For a product, write --product profile.\n" in capsys.readouterr().err


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
