"""Logs with personal columns that are read without a run: sealed before anything is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import joinery as jn
from joinery.app.logs import WhyError
from joinery.app.why import why
from joinery.spark.frames.file_preview import FilePreview, preview_files
from joinery.spark.source import file_feed
from joinery.vault.erasure import erase
from joinery.vault.keys import Vault, VaultError
from joinery.vault.lines import lines_key_name, sealer_of
from joinery.vault.tables import open_vault

pytestmark = pytest.mark.spark

CANARY = "c4n4ry"
PROJECT = """\
name: keyed
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: keys/vault.db}, master: "not a secret, since this is only a test"}
relations:
  user:
    key: [email]
    fields: {email: string, username: string, town: string}
    personal: {subject: email, fields: [email, username], join: [username]}
  star:
    key: [username, repo]
    fields: {username: string, repo: string}
    personal: {subject: username, fields: [username], join: [username]}
products:
  profile:
    root: user
    personal_key: true
    embed: {stars: {many: star, on: [username], fields: [repo]}}
"""
Row = dict[str, Any]


def user(name: str, **more: Any) -> Row:
    return {"email": f"{name}@{CANARY}.org", "username": f"{CANARY} {name}", **more}


def star(name: str, repo: str, **more: Any) -> Row:
    return {"username": f"{CANARY} {name}", "repo": repo, **more}


def write(folder: Path, topic: str, *rows: Row) -> None:
    file = folder / "data" / topic / "1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))


@pytest.fixture
def project(tmp_path: Path) -> jn.Project:
    (tmp_path / "joinery.yaml").write_text(PROJECT)
    users = [user(each, town="York") for each in ("ann", "bob", "cid")]
    moved = {"email": f"bob@{CANARY}.org", "town": "Hull"}
    gone = {"email": f"cid@{CANARY}.org", "__deleted": True}
    write(tmp_path, "user", *users, gone, moved, {**user("dan"), "town": 7})
    with (tmp_path / "data/user/1.jsonl").open("a") as lines:
        lines.write("jyl1:c2xvdCAyMDI2:AAAA\n")  # as if a capture had sealed it
    stars = [star("ann", "a"), star("ann", "b"), star("bob", "b")]
    write(tmp_path, "star", *stars, star("ann", "b", __deleted=True))
    return jn.load(tmp_path / "joinery.yaml")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the reading process wrote into files, as texts."""
    texts: list[str] = []
    ask = file_feed._ask

    def asked(request: Any) -> dict[str, Any]:
        told = ask(request)
        found = [each for each in Path(request["output"]).rglob("*") if each.is_file()]
        texts.extend(each.read_text() for each in found)
        return told

    monkeypatch.setattr(file_feed, "_ask", asked)
    return texts


def previewed(project: jn.Project) -> FilePreview:
    return preview_files(project.spec, project.products["profile"].plan)


def towns(found: FilePreview) -> dict[Any, Any]:
    """Return the stars of each document, by its town."""
    told = [each.value for each in found.documents if each.value is not None]
    assert {None} == {each[name] for each in told for name in ("email", "username")}
    return {each["town"]: [one["repo"] for one in each["stars"]] for each in told}


def erased(project: jn.Project, relation: str, subject: str) -> None:
    plan = project.products["profile"].plan
    read = {each.name: each for each in plan.relations}
    vault = open_vault(project.spec)
    erase(project.spec, project.plan, vault, read[relation], subject)
    vault.close()


def test_a_preview_joins_and_shows_nothing_personal(
    project: jn.Project, written: list[str]
) -> None:
    found = previewed(project)

    assert {"York": ["a"], "Hull": ["b"]} == towns(found)
    assert any("York" in each for each in written)
    assert not any(CANARY in each for each in written)
    letters = found.records.letters
    assert ["undecodable", "wrong_type"] == sorted(each["reason"] for each in letters)
    assert {"jyd1:"} == {each["value"][:5] for each in letters}


def test_a_preview_makes_no_keys_and_knows_who_was_erased(project: jn.Project) -> None:
    previewed(project)
    vault = open_vault(project.spec)
    ann = vault.name_of("user", f"ann@{CANARY}.org")
    assert vault.known([ann]) == {}
    vault.close()

    erased(project, "user", f"ann@{CANARY}.org")

    assert {"York": [], "Hull": ["b"]} == towns(previewed(project))


def test_why_takes_a_personal_key_as_it_is_written_and_shows_none(
    project: jn.Project, tmp_path: Path
) -> None:
    file, key = tmp_path / "joinery.yaml", f"ann@{CANARY}.org"
    told = why(file, "profile", key)
    erased(project, "star", f"{CANARY} ann")
    later = why(file, "profile", key)

    assert told.document is not None
    document = json.loads(told.document)
    assert ("(personal)", [{"repo": "a"}]) == (document["email"], document["stars"])
    assert later.document is not None
    assert json.loads(later.document)["stars"] == []
    everything = json.dumps([told.to_json(), later.to_json()])
    assert CANARY not in everything
    assert why(file, "profile", told.key).document is not None  # the blind index itself
    with pytest.raises(WhyError, match="no record of user has the key"):
        why(file, "profile", "nobody@example.org")


def test_a_sealed_spool_is_opened_where_it_is_read(tmp_path: Path, written: list[str]) -> None:
    source = '{db: {postgres: {url: "postgresql://nobody@localhost/none"}}}'
    text = PROJECT.replace("{changes: {files: {path: data}}}", source)
    (tmp_path / "joinery.yaml").write_text(text)
    project = jn.load(tmp_path / "joinery.yaml")
    (captured,) = project.spec.sources
    vault = open_vault(project.spec)
    seal = sealer_of(vault, lines_key_name(project.spec, captured, "2026-01-05"))
    vault.close()
    after = user("ann", town="York")
    line = json.dumps({"op": "c", "before": None, "after": after, "source": {"lsn": 1}}).encode()
    file = tmp_path / ".joinery/spool/db/files/public.user/1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(seal(line) + b"\njyl1:nonsense\n")

    found = previewed(project)

    assert {"York": []} == towns(found)
    assert not any(CANARY in each for each in written)
    assert ["undecodable"] == [each["reason"] for each in found.records.letters]


def test_another_vault_is_refused(project: jn.Project, tmp_path: Path) -> None:
    from joinery.vault.claim import claim_vault
    from joinery.vault.tables import SqliteVault

    other = Vault(SqliteVault(tmp_path / "other.db"), "m" * 44)
    claim_vault(tmp_path / ".joinery/checkpoint/profile", "profile", other)

    with pytest.raises(VaultError, match="not the one"):
        previewed(project)
