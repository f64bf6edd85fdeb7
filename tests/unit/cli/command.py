"""The command line, called in this process."""

from __future__ import annotations

import pytest

from joinery.cli import main as module


def joinery(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Return the code that a command exits with."""
    monkeypatch.setattr("sys.argv", ["joinery", *arguments])
    with pytest.raises(SystemExit) as ended:
        module.main()
    return int(ended.value.code or 0)
