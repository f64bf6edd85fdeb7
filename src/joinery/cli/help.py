"""The help of commands, in which a flag stands without a type.

Typer shows the type of every option, for a flag too, whose type nobody writes.
"""

from __future__ import annotations

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption


def untyped(command: TyperGroup) -> TyperGroup:
    """Return `command` with its commands, all of whose flags show no type."""
    _hide(command, typer.Context(command, **command.context_settings))
    return command


def _hide(command: TyperCommand | TyperGroup, context: typer.Context) -> None:
    for each in command.get_params(context):
        if isinstance(each, TyperOption) and each.is_flag:
            each.metavar = ""
    for name, inner in getattr(command, "commands", {}).items():
        _hide(inner, typer.Context(inner, info_name=name, parent=context))
