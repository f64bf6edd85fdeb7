"""What is long in parts, each as long as one statement, request or decoding takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def slices(many: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield `many` in lists of `size`, the last one shorter; `many` is read as far as needed.

    Example:
        >>> list(slices("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    waiting = iter(many)
    while some := list(islice(waiting, size)):
        yield some
