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
    for option in command.get_params(context):
        if isinstance(option, TyperOption) and option.is_flag:
            option.metavar = ""
    inner = command.commands if isinstance(command, TyperGroup) else {}
    for name, each in inner.items():
        if isinstance(each, TyperCommand | TyperGroup):
            _hide(each, typer.Context(each, info_name=name, parent=context))
