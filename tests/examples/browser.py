"""A page as a real browser shows it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def dumped(address: str, folder: Path) -> str:
    """Return what a browser shows after three seconds, as HTML."""
    done = subprocess.run(
        [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        + ["--virtual-time-budget=3000", f"--user-data-dir={folder / 'profile'}", address],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout
