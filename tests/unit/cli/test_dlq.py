"""The commands of `joinery dlq`, on letters as a run leaves them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from joinery.cli import main as module
from joinery.cli.run_arguments import RunArguments, dead_letters_command
from joinery.delivery.control import who

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, sink: {files: {path: out}}}
"""
Command = Callable[..., int]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["joinery", "dlq", *arguments])
        with pytest.raises(SystemExit) as ended:
            module.main()
        return int(ended.value.code or 0)

    return run


@pytest.fixture
def letters(tmp_path: Path) -> None:
    folder = tmp_path / ".joinery/dead_letters"
    folder.mkdir(parents=True)
    facts = {"source": "changes", "topic": "customer", "file": "1.jsonl", "key": None}
    lines = [
        {"reason": reason, "detail": "why", **facts, "line": line, "time": time, "value": value}
        for reason, line, time, value in [
            ("undecodable", 1, "2026-01-02T03:04:05Z", "{broken"),
            ("undecodable", 2, "2026-01-02T03:04:06Z", "{broken too"),
            ("wrong_type", 3, "2026-01-02T03:04:07Z", '{"id":"x"}'),
        ]
    ]
    text = "".join(f"{json.dumps(each)}\n" for each in lines)
    (folder / "profile-000001-0000000000.jsonl").write_text(text)


def ids(capsys: pytest.CaptureFixture[str], command: Command, *options: str) -> list[str]:
    capsys.readouterr()
    assert command("list", "--json", *options) == 0
    return [each["newest"]["id"] for each in json.loads(capsys.readouterr().out)]


def test_without_letters_the_list_says_where_it_looked(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("list") == 0

    assert "There are no dead letters in" in capsys.readouterr().out


@pytest.mark.usefixtures("letters")
def test_without_open_letters_the_list_says_how_many_are_closed(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("drop", "--reason", "wrong_type") == 0
    assert command("drop", "--reason", "undecodable") == 0
    assert command("list") == 0
    assert command("list", "--reason", "wrong_type") == 0

    one, two, none, such = capsys.readouterr().out.splitlines()
    assert ("1 dead letter dropped.", "2 dead letters dropped.") == (one, two)
    assert none.startswith("There are no open dead letters in ")
    assert none.endswith(". --closed lists 3 dead letters replayed or dropped.")
    assert such.startswith("There are no such open dead letters in ")
    assert such.endswith(" --closed lists 1 dead letter replayed or dropped.")


@pytest.mark.usefixtures("letters")
def test_the_list_groups_by_reason_with_count_and_times(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("list") == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    first, last = ("2026-01-02", "03:04:05Z"), ("2026-01-02", "03:04:06Z")
    assert ["undecodable", "customer", "2", *first, *last] == lines[1][:-1]
    assert "wrong_type" == lines[2][0]


@pytest.mark.usefixtures("letters")
def test_a_letter_is_shown_whole_or_by_its_bytes(
    command: Command, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    command("list", "--json", "--reason", "wrong_type")
    id = json.loads(capsysbinary.readouterr().out)[0]["newest"]["id"]

    assert command("show", id) == 0
    shown = capsysbinary.readouterr().out
    assert command("show", "--raw", id) == 0

    assert b"reason     wrong_type" in shown
    assert b'value      {"id":"x"}' in shown
    assert b'{"id":"x"}' == capsysbinary.readouterr().out


@pytest.mark.usefixtures("letters")
def test_letters_are_put_back_and_listed_no_more(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command("replay", "--reason", "undecodable") == 0

    assert "2 of 2 dead letters replayed.\n" == capsys.readouterr().out
    (file,) = (tmp_path / "data/customer").iterdir()
    assert "1\t{broken\n2\t{broken too\n" == file.read_text()
    assert 1 == len(ids(capsys, command))
    assert 2 == len(ids(capsys, command, "--closed"))


@pytest.mark.usefixtures("letters")
def test_a_letter_is_put_back_mended(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (id,) = ids(capsys, command, "--reason", "wrong_type")
    (tmp_path / "mended.json").write_text('{\n  "id": 7\n}\n')

    assert command("replay", id, "--value", "mended.json") == 0

    (file,) = (tmp_path / "data/customer").iterdir()
    assert '3\t{   "id": 7 }\n' == file.read_text()


@pytest.mark.usefixtures("letters")
def test_bytes_that_are_no_text_are_put_back_as_they_are(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (id,) = ids(capsys, command, "--reason", "wrong_type")
    (tmp_path / "mended.avro").write_bytes(b"\0\0\0\0\7\2\x20\t")

    assert command("replay", id, "--value", "mended.avro") == 0

    (file,) = (tmp_path / "data/customer").iterdir()
    assert b"3\t\0\0\0\0\7\2\x20\t\n" == file.read_bytes()


@pytest.mark.usefixtures("letters")
def test_a_letter_is_shown_without_what_a_terminal_would_obey(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = {"reason": "poison", "detail": "not \x1b[2J", "topic": "customer", "line": 9}
    letter = {**facts, "key": "\0\2", "value": "a\x1b[2J\ufeff é\n"}
    file = tmp_path / ".joinery/dead_letters/profile-000002-0000000000.jsonl"
    file.write_text(f"{json.dumps(letter)}\n")

    assert command("show", "--reason", "poison") == 0

    shown = capsys.readouterr().out
    assert "  key        \\x00\\x02\n  value      a\\x1b[2J\\ufeff é\n" in shown
    assert "  detail     not \\x1b[2J\n" in shown
    assert command("list") == 0
    assert ": not \\x1b[2J\n" in capsys.readouterr().out


@pytest.mark.usefixtures("letters")
def test_a_letter_is_not_put_back_as_nothing(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (id,) = ids(capsys, command, "--reason", "wrong_type")
    (tmp_path / "mended.json").write_bytes(b"\xef\xbb\xbf\n")

    assert command("replay", id, "--value", "mended.json") == 2

    assert "the value is empty" in capsys.readouterr().err


@pytest.mark.usefixtures("letters")
def test_letters_are_dropped(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("drop", "--of", "customer", "--reason", "undecodable") == 0

    assert "2 dead letters dropped.\n" == capsys.readouterr().out
    assert command("list", "--closed", "--reason", "undecodable", "--json") == 0
    [group] = json.loads(capsys.readouterr().out)
    assert ("dropped", who()) == (group["newest"]["state"], group["newest"]["state_by"])
    assert 1 == len(ids(capsys, command))


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("replay",), "no dead letters are named"),
        (("drop",), "no dead letters are named"),
        (("show", "zz"), 'there is no dead letter "zz"'),
        (("list", "--of", "custmer"), 'Use "customer".'),
        (
            ("replay", "--all", "--value", "x"),
            "--value is for one dead letter, not for 3",
        ),
        (("list", "--file", "gone.yaml"), "gone.yaml"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    assert command(*arguments) == 2

    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("letters")
def test_each_letter_is_listed_with_its_id_page_by_page(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("list", "--all", "--limit", "2") == 0
    first = capsys.readouterr().out
    last_id = first.splitlines()[2].split()[0]

    assert command("list", "--all", "--after", last_id) == 0
    second = capsys.readouterr().out

    rows = [line.split() for line in (*first.splitlines()[1:3], *second.splitlines()[1:])]
    assert [
        ["undecodable", "customer", "2026-01-02", "03:04:05Z", "1.jsonl:1"],
        ["undecodable", "customer", "2026-01-02", "03:04:06Z", "1.jsonl:2"],
        ["wrong_type", "customer", "2026-01-02", "03:04:07Z", "1.jsonl:3"],
    ] == [row[1:] for row in rows]
    assert f"1 more behind these: add --after {last_id}" in first
    for row in rows:
        assert command("show", row[0]) == 0


@pytest.mark.usefixtures("letters")
def test_letters_of_a_reason_are_listed_and_shown_together(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("list", "--all", "--reason", "undecodable", "--json") == 0
    listed = [each["id"] for each in json.loads(capsys.readouterr().out)]

    assert command("show", "--reason", "undecodable", "--json") == 0
    shown = [each["id"] for each in json.loads(capsys.readouterr().out)]

    assert 2 == len(set(listed))
    assert listed == shown


@pytest.mark.usefixtures("letters")
def test_what_a_letter_does_not_have_is_not_shown(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("show", "--all") == 0

    assert "None" not in capsys.readouterr().out


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize("verb", ["list", "show", "replay", "drop"])
def test_a_reason_that_is_none_is_refused_with_those_that_are_there(
    verb: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(verb, "--reason", "wrongtype") == 2

    told = capsys.readouterr().err
    assert 'no dead letter has the reason "wrongtype"' in told
    assert "Here: undecodable, wrong_type." in told
    assert 'Use "wrong_type".' in told


def test_a_reason_of_which_there_are_no_letters_is_not_wrong(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("drop", "--reason", "poison") == 0

    assert "No dead letters matched." in capsys.readouterr().out


def test_a_run_names_the_command_that_lists_its_letters() -> None:
    plain = RunArguments(file=Path("joinery.yaml"))
    other = RunArguments(file=Path("my shop.yaml"), real_time=True)

    assert "joinery dlq list" == dead_letters_command(plain)
    assert "joinery dlq list --file 'my shop.yaml' --real-time" == dead_letters_command(other)
