"""The help of commands, in which a flag stands without a type, and arguments in capitals.

Typer shows the type of every option, for a flag too, whose type nobody writes.
"""

from __future__ import annotations

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from joinery.cli.plain_command import PlainCommand


def plain(command: TyperGroup) -> TyperGroup:
    """Return `command` with its commands, whose help is plain."""
    _simplify(command, typer.Context(command, **command.context_settings))
    return command


def _simplify(command: TyperCommand | TyperGroup, context: typer.Context) -> None:
    for option in command.get_params(context):
        if isinstance(option, TyperOption) and option.is_flag:
            option.metavar = ""
        if isinstance(option, TyperArgument) and option.metavar is None:
            option.metavar = (option.name or "").upper()
    inner = command.commands if isinstance(command, TyperGroup) else {}
    for name, each in inner.items():
        if type(each) is TyperCommand:
            each.__class__ = PlainCommand  # Typer takes the class of a command only one by one.
        if isinstance(each, TyperCommand | TyperGroup):
            _simplify(each, typer.Context(each, info_name=name, parent=context))
