"""A project as a commit of git has it, beside the one on the disk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from joinery.errors import SpecError
from joinery.project.folder import is_yaml
from joinery.project.load import load_texts
from joinery.project.product import ProjectSpec

_NO_REPOSITORY = 128
_OF_HOOKS = frozenset({"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"})


class CommitError(SpecError):
    """What a commit of git has cannot be read."""

    code = "SPEC_GIT"


def load_committed(path: Path, reference: str) -> ProjectSpec:
    """Return the project that a file, or a folder of them, declared at a commit.

    Args:
        path: The file or the folder, as it is now; places are told as `REFERENCE:FILE`.
        reference: A commit, as git takes it: a branch, a tag, a hash.

    Raises:
        CommitError: There is no git, no repository, no such commit, or no such file in it.
        ProjectErrors: What was declared cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    commit = _commit(folder, reference)
    names = [path.name] if folder != path else list(_names(folder, commit))
    texts = {}
    for name in names:
        texts[f"{reference}:{name}"] = _text(folder, commit, name, reference)
    if not texts:
        raise CommitError(f'folder "{path}" has no *.yaml at {reference}')
    return load_texts(texts, folder)


def _commit(folder: Path, reference: str) -> str:
    """Return the hash of a commit, so that all files are of one, though a branch may go on.

    A reference that begins with a dash would be an option, one with a caret all but a commit.
    """
    asked = ("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    done = None if reference.startswith(("-", "^")) or not reference else _git(folder, *asked)
    if done is not None and done.returncode == _NO_REPOSITORY:
        told = done.stderr.decode(errors="replace").partition("\n")[0].removeprefix("fatal: ")
        raise CommitError(f'git cannot read folder "{folder}": {told}')
    if done is None or done.returncode != 0:
        raise CommitError(
            f'git has no commit "{reference}"',
            hint="Name a branch, a tag or a hash; fetch it first where it is another clone's.",
        )
    return done.stdout.decode().strip()


def _names(folder: Path, commit: str) -> Iterator[str]:
    listed = _git(folder, "ls-tree", "-z", commit, "./").stdout.decode(errors="surrogateescape")
    for each in filter(None, listed.split("\0")):
        about, _, name = each.partition("\t")
        if about.split()[1] == "blob" and is_yaml(name):
            yield name


def _text(folder: Path, commit: str, name: str, reference: str) -> str:
    done = _git(folder, "show", f"{commit}:./{name}")
    if done.returncode != 0:
        raise CommitError(f'commit "{reference}" has no file "{name}" in folder "{folder}"')
    try:
        return done.stdout.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommitError(f'file "{name}" is not UTF-8 at {reference}') from None


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # A hook is given them by git, and they would count in another folder, too.
    others = {name: each for name, each in os.environ.items() if name not in _OF_HOOKS}
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, env=others
        )
    except FileNotFoundError:
        raise CommitError(
            "git is not installed", hint="Install it, or compare with a file."
        ) from None
