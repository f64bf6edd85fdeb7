"""A process that is killed where a test puts `killed` in the place of a function."""

from __future__ import annotations


class KilledError(Exception):
    """The command was killed."""


def killed(*_: object, **__: object) -> None:
    raise KilledError
