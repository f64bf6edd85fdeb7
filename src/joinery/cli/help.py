"""The help of commands: a flag stands without a type, an argument as people write usage.

Typer shows the type of every option, for a flag too, whose type nobody writes; and in the line of
usage a required argument in braces, whether it may be repeated or not.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class PlainCommand(TyperCommand):
    """A command whose usage is like `wait [OPTIONS] NAME [FILE]...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what the line of usage has behind the command's name."""
        arguments = [each for each in self.params if isinstance(each, TyperArgument)]
        return [self.options_metavar or "", *map(_usage, arguments)]


def _usage(argument: TyperArgument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return f"{name if argument.required else f'[{name}]'}{'' if argument.nargs == 1 else '...'}"


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
