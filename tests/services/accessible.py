"""Chromium behind its driver, and axe, which looks at what Chromium shows."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.examples.browser import BROWSER

from joinery.dev.port import free_port
from joinery.files import write_whole
from joinery.place.cache import cache_folder

DRIVER = shutil.which("chromedriver")
_VERSION = "4.10.3"
_DIGEST = "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb"
_SERIOUS = ("serious", "critical")
_LOOK = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  found => done(found.violations.map(each =>
    [each.impact, each.id, ...each.nodes.map(node => node.html)])),
  error => done([["critical", String(error)]]));
"""


@cache
def axe() -> str:
    """Return the program, fetched by `npm` once a machine and checked against what it was."""
    file = _file()
    found = file.read_bytes() if file.is_file() else _fetched()
    assert hashlib.sha256(found).hexdigest() == _DIGEST, f"axe {_VERSION} is not what it was"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, found.decode(), synced=False)
    return found.decode()


def can_fetch_axe() -> bool:
    """Return whether the program is here, or can be fetched."""
    return _file().is_file() or shutil.which("npm") is not None


def _file() -> Path:
    return cache_folder() / "artifacts" / f"axe-core-{_VERSION}.min.js"


def _fetched() -> bytes:
    with TemporaryDirectory() as folder:
        pack = ["npm", "pack", f"axe-core@{_VERSION}", "--pack-destination", folder]
        subprocess.run(pack, check=True, capture_output=True, timeout=120)
        with tarfile.open(Path(folder) / f"axe-core-{_VERSION}.tgz") as packed:
            program = packed.extractfile("package/axe.min.js")
            assert program is not None
            return program.read()


@dataclass(frozen=True, slots=True)
class Browser:
    """A session of Chromium that reaches this machine alone."""

    address: str

    def open(self, page: str) -> None:
        """Show a page."""
        self._ask("url", {"url": page})

    def does(self, script: str) -> Any:
        """Return what a script returns."""
        return self._ask("execute/sync", {"script": script, "args": []})

    def prefers(self, colours: str) -> None:
        """Prefer `dark` or `light` pages from now on."""
        told = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
        self._ask("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": told})

    def serious(self) -> Sequence[Sequence[str]]:
        """Return what axe finds serious or critical in the page that is shown."""
        self.does(axe())
        found = self._ask("execute/async", {"script": _LOOK, "args": []})
        return [each for each in found if each[0] in _SERIOUS]

    def _ask(self, what: str, told: Mapping[str, object]) -> Any:
        return _posted(f"{self.address}/{what}", told)


def _posted(address: str, told: Mapping[str, object]) -> Any:
    content = json.dumps(told).encode()
    asked = urllib.request.Request(address, content, {"content-type": "application/json"})
    with urllib.request.urlopen(asked, timeout=90) as answer:
        return json.load(answer)["value"]


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """Give a browser with a profile of its own for the length of a block."""
    port = free_port(range(20_000, 30_000))
    log = (folder / "driver.log").open("wb")
    with log, subprocess.Popen([str(DRIVER), f"--port={port}"], stdout=log, stderr=log) as driver:
        try:
            _wait_for(f"http://127.0.0.1:{port}/status")
            own = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
            own += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
            own += [f"--user-data-dir={folder / 'profile'}"]
            chosen = {"goog:chromeOptions": {"binary": BROWSER, "args": own}}
            sessions = f"http://127.0.0.1:{port}/session"
            told = _posted(sessions, {"capabilities": {"alwaysMatch": chosen}})
            here = f"{sessions}/{told['sessionId']}"
            try:
                yield Browser(here)
            finally:
                urllib.request.urlopen(urllib.request.Request(here, method="DELETE"), timeout=30)
        finally:
            driver.terminate()


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"{address} does not answer")
