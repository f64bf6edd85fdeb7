"""A run that cannot be is refused in one line, before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.shop import PROJECT, joinery

from joinery.project.kinds import SINKS


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
