"""Commands that the published interface names, and that are not built yet.

Invariant: none of them is a command; one that is built leaves the list.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from joinery.errors import SpecError

NOT_YET = (
    "apply",
    "backfill",
    "contract",
    "diff",
    "erase",
    "plan",
    "status",
    "top",
    "ui",
    "wait",
    "why",
)


class NotYetError(SpecError):
    """A command, or a part of the interface, that is specified and not built."""

    code = "SPEC_NOT_YET"


class Commands(TyperGroup):
    """The commands of `joinery`, which knows those that are still to come."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments name; refuse one that is not built yet."""
        if args and args[0] in NOT_YET:
            raise NotYetError(
                f"joinery {args[0]} is specified, and not built yet",
                hint="joinery --help lists what there is.",
            )
        return super().resolve_command(ctx, args)
