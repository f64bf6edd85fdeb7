"""A project as a commit of git has it: read with its places, or refused in one line."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.project.committed import CommitError, load_committed

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations: {user: {key: [id], fields: {id: long}}}
"""
PRODUCTS = "products: {p: {root: user, sink: {files: {path: out}}}}\n"


def git(folder: Path, *arguments: str) -> None:
    unset = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    environment = {**os.environ, **unset}
    subprocess.run(["git", *named, *arguments], cwd=folder, env=environment, check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder inside a repository whose branch `main` has a project."""
    inside = tmp_path / "shop"
    inside.mkdir()
    (inside / "joinery.yaml").write_text(PROJECT + PRODUCTS, encoding="utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return inside


def test_a_file_is_read_as_the_commit_has_it(folder: Path) -> None:
    file = folder / "joinery.yaml"
    file.write_text("broken", encoding="utf-8")

    assert ["p"] == [each.name for each in load_committed(file, "main").products]


def test_a_folder_is_read_with_the_files_that_the_commit_has(folder: Path) -> None:
    (folder / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    (folder / "products.yml").write_text(PRODUCTS.replace("p:", "q:"), encoding="utf-8")
    (folder / "notes.txt").write_text("none", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "second")
    (folder / "products.yml").unlink()

    assert ["q"] == [each.name for each in load_committed(folder, "main").products]
    assert ["p"] == [each.name for each in load_committed(folder, "main~1").products]


def test_a_hook_of_git_reads_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("GIT_DIR", ".git")

    assert ["p"] == [each.name for each in load_committed(Path("shop"), "main").products]


def test_a_place_in_the_history_of_a_branch_is_a_commit(folder: Path) -> None:
    for reference in ("main@{0}", "main^{/first}", "HEAD@{2030-01-01 10:00:00}"):
        found = load_committed(folder / "joinery.yaml", reference)

        assert ["p"] == [each.name for each in found.products]


def test_a_problem_of_a_commit_is_told_at_its_place_there(folder: Path) -> None:
    (folder / "joinery.yaml").write_text(f"{PROJECT}odd: 1\n", encoding="utf-8")
    git(folder, "commit", "-qam", "second")

    with pytest.raises(ProjectErrors) as refused:
        load_committed(folder / "joinery.yaml", "HEAD")

    assert "HEAD:joinery.yaml:4:1" in [str(each.location) for each in refused.value.problems]


@pytest.mark.parametrize("reference", ["nowhere", "", "--help", "main:shop", "^main"])
def test_what_is_no_commit_is_refused(folder: Path, reference: str) -> None:
    with pytest.raises(CommitError, match=f'git has no commit "{re.escape(reference)}"'):
        load_committed(folder / "joinery.yaml", reference)


def test_a_file_that_the_commit_has_not_is_refused(folder: Path) -> None:
    other = folder / "other.yaml"
    other.write_text(PROJECT, encoding="utf-8")

    with pytest.raises(CommitError, match=r'has no file "other\.yaml"'):
        load_committed(other, "main")


def test_a_folder_that_had_no_project_is_refused(folder: Path) -> None:
    empty = folder / "empty"
    empty.mkdir()

    with pytest.raises(CommitError, match=r"has no \*\.yaml at main"):
        load_committed(empty, "main")


def test_a_folder_outside_of_a_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT, encoding="utf-8")

    with pytest.raises(CommitError, match=r"git cannot read folder .*: not a git repository"):
        load_committed(file, "main")


def test_without_git_a_hint_says_what_else_there_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))

    with pytest.raises(CommitError) as refused:
        load_committed(folder / "joinery.yaml", "main")

    assert "git is not installed" == refused.value.message
    assert "Install it, or compare with a file." == refused.value.hint
