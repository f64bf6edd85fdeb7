"""Where this machine keeps what can be fetched or made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder: `JOINERY_CACHE`, else `joinery` in the user's, by default `~/.cache`."""
    if chosen := os.environ.get("JOINERY_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "joinery"
