"""The fluent door: an app, its tables, and streams that are built step by step."""

from __future__ import annotations

from joinery.frame.app import App
from joinery.frame.stream import Stream
from joinery.frame.table import Table

__all__ = ["App", "Stream", "Table"]
