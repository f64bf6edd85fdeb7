"""The public test kit: a driver without Spark, generators, conformance cases, eight settings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from joinery.testing import conformance
    from joinery.testing.changes import ChangeError, RowChange, delete, insert, tombstone, update
    from joinery.testing.driver import Driver, DriverError, Emission, gone, upsert
    from joinery.testing.settings import Disagreement, disagreements, in_session
    from joinery.testing.stream_driver import StreamDriver

_HOMES = {
    "ChangeError": "joinery.testing.changes",
    "Disagreement": "joinery.testing.settings",
    "Driver": "joinery.testing.driver",
    "DriverError": "joinery.testing.driver",
    "Emission": "joinery.testing.driver",
    "RowChange": "joinery.testing.changes",
    "StreamDriver": "joinery.testing.stream_driver",
    "conformance": "joinery.testing.conformance",
    "delete": "joinery.testing.changes",
    "disagreements": "joinery.testing.settings",
    "gone": "joinery.testing.driver",
    "in_session": "joinery.testing.settings",
    "insert": "joinery.testing.changes",
    "tombstone": "joinery.testing.changes",
    "update": "joinery.testing.changes",
    "upsert": "joinery.testing.driver",
}

__all__ = [
    "ChangeError",
    "Disagreement",
    "Driver",
    "DriverError",
    "Emission",
    "RowChange",
    "StreamDriver",
    "conformance",
    "delete",
    "disagreements",
    "gone",
    "in_session",
    "insert",
    "tombstone",
    "update",
    "upsert",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    return home if name == "conformance" else getattr(home, name)
