"""What `joinery erase` says: of the key, and of each product and stream on one line."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.cli.erase import run_erase
from joinery.delivery.action_log import ActionLog
from joinery.vault.tables import open_vault

PROJECT = """\
name: web
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: vault.db}, master: "not a secret, since this is only a test"}
relations:
  view:
    append: true
    key: [id]
    fields: {id: long, user: long, email: string}
    personal: {subject: user, fields: [email]}
  click: {append: true, key: [id], fields: {id: long, user: long}}
  customer:
    key: [id]
    fields: {id: long, name: string, tier: string}
    personal: {subject: id, fields: [name]}
products:
  profile: {root: customer}
  per_tier: {aggregate: customer, by: [tier], values: {customers: count(*)}}
  looks:
    {pattern: view, by: [user], order: [id], match: A A, define: {A: id > 0}, fields: {n: count(A)}}
streams:
  again: {from: click, steps: [LOOKUP, on_change: re_emit, for: 7d}, {select: [id, name]}]}
  kept: {from: click, steps: [LOOKUP}, {select: [id, name, tier]}]}
  clear: {from: click, steps: [LOOKUP}, {select: [id, tier]}]}
  tiers:
    from: click
    steps:
      - {lookup: customer, on: {id: user}, fields: [tier], on_change: re_emit, for: 7d}
      - select: [id, tier]
  logged: {from: view, steps: []}
""".replace("LOOKUP", "{lookup: customer, on: {id: user}, fields: [name, tier]")


def project(folder: Path, *, sealed: str) -> Path:
    """Write the project, whose vault has a key of the subject 7 of a relation."""
    (folder / "joinery.yaml").write_text(PROJECT)
    vault = open_vault(jn.load(folder / "joinery.yaml").spec)
    vault.keys([vault.name_of(sealed, "7")])
    vault.close()
    return folder / "joinery.yaml"


def told(folder: Path, relation: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    project(folder, sealed=relation)
    assert 0 == run_erase(folder / "joinery.yaml", relation, "7")
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{relation} 7: key destroyed at ")
    assert last.startswith("receipt: ")
    return lines


def test_what_an_erasure_sends_again_is_told_apart_from_what_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [
        "documents that held its values are sent again with the next batch of: profile",
        "events that a lookup still remembers are sent again by: again",
        "streams no longer send its values, and what was sent stays as it is: kept",
    ] == told(tmp_path, "customer", capsys)
    (noted,) = ActionLog(tmp_path / ".joinery/checkpoint").actions()
    assert ("erase", ("customer",), "receipt") == (noted.verb, noted.about, noted.told.split()[0])


def test_streams_keep_what_they_sent_of_their_own_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = told(tmp_path, "view", capsys)

    assert "streams no longer send its values, and what was sent stays as it is: logged" == line


def test_a_subject_of_whom_nothing_was_read_is_told_apart_from_one_that_is_erased(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project(tmp_path, sealed="customer")

    for key in ("8", "7", "7"):
        assert 0 == run_erase(file, "customer", key)
    lines = capsys.readouterr().out.splitlines()
    mistyped, receipt = lines[:2]
    assert mistyped.startswith("customer 8: had no key, since none of its values has been read; ")
    assert mistyped.endswith("Is this the right key?")
    assert receipt.startswith("receipt: ")
    assert lines[2].startswith("customer 7: key destroyed at ")
    (again,) = [each for each in lines[3:] if each.startswith("customer 7: ")]
    assert again.startswith("customer 7: key had been destroyed before; erased again at ")
