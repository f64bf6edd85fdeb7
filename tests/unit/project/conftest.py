"""What the examples of the project file's page take from the environment."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def master_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what an example takes as its master key."""
    monkeypatch.setenv("JOINERY_MASTER_KEY", "not a secret, since this is only a test")
