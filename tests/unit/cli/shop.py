"""A small project, and the command line called in this process."""

from __future__ import annotations

import pytest
from tests.unit.cli import command

PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
relations:
  customer: {key: [id], fields: {id: long, name: string}}
products:
  profile: {root: customer, group: both, sink: {files: {path: out}}}
  names: {root: customer, group: both, fields: [name], sink: {files: {path: out}}}
"""


def joinery(*arguments: str) -> int:
    """Return the code that a command exits with."""
    with pytest.MonkeyPatch.context() as patched:
        return command.joinery(patched, *arguments)
