"""The public test kit: a driver without Spark, generators, the conformance suite."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from joinery.testing import conformance
    from joinery.testing.changes import ChangeError, RowChange, delete, insert, tombstone, update
    from joinery.testing.driver import Driver, DriverError, Emission, gone, upsert
    from joinery.testing.stream_driver import StreamDriver

_HOMES = {
    "ChangeError": "joinery.testing.changes",
    "Driver": "joinery.testing.driver",
    "DriverError": "joinery.testing.driver",
    "Emission": "joinery.testing.driver",
    "RowChange": "joinery.testing.changes",
    "StreamDriver": "joinery.testing.stream_driver",
    "conformance": "joinery.testing.conformance",
    "delete": "joinery.testing.changes",
    "gone": "joinery.testing.driver",
    "insert": "joinery.testing.changes",
    "tombstone": "joinery.testing.changes",
    "update": "joinery.testing.changes",
    "upsert": "joinery.testing.driver",
}

__all__ = [
    "ChangeError",
    "Driver",
    "DriverError",
    "Emission",
    "RowChange",
    "StreamDriver",
    "conformance",
    "delete",
    "gone",
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
