"""A command as people write one: usage like `wait [OPTIONS] NAME [FILE]...`, keys below zero.

Typer writes a required argument in braces in the line of usage, whether it may be repeated or not,
and takes a number below zero for an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

_BELOW_ZERO = re.compile(r"-[0-9]")


class PlainCommand(TyperCommand):
    """A command whose arguments may be numbers below zero, and whose usage is plain."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what the line of usage has behind the command's name."""
        arguments = [each for each in self.params if isinstance(each, TyperArgument)]
        return [self.options_metavar or "", *map(_usage, arguments)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with numbers below zero behind all options."""
        if "--" not in args:
            below = [*self._below_zero(args)]
            rest = [each for at, each in enumerate(args) if at not in below]
            args = [*rest, "--", *(args[at] for at in below)] if below else args
        return super().parse_args(ctx, args)

    def _below_zero(self, args: Sequence[str]) -> Iterator[int]:
        """Yield the places of numbers below zero that are not an option's value."""
        options = [each for each in self.params if isinstance(each, TyperOption)]
        valued = {name for each in options if not each.is_flag for name in each.opts}
        for at, each in enumerate(args):
            if _BELOW_ZERO.match(each) and (at == 0 or args[at - 1] not in valued):
                yield at


def _usage(argument: TyperArgument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return f"{name if argument.required else f'[{name}]'}{'' if argument.nargs == 1 else '...'}"
