"""Finds the topics that look like one that is not there: a slip of the pen, or another plural."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher
from itertools import takewhile

_ALIKE = 0.7
_MOST = 3


def near_topics(wanted: str, there: Collection[str]) -> tuple[str, ...]:
    """Return the topics of `there` that look like `wanted`, the nearest first, at most three.

    A prefix that ends in a dot, such as a connector's name and schema, makes no likeness.

    Example:
        >>> near_topics("shop.public.customer", ["shop.public.customers", "shop.public.item"])
        ('shop.public.customers',)
    """
    rated = sorted((-_likeness(wanted, each), each) for each in there)
    return tuple(name for rate, name in rated if -rate >= _ALIKE)[:_MOST]


def _likeness(one: str, other: str) -> float:
    left, right = one.casefold().split("."), other.casefold().split(".")
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )
    return SequenceMatcher(None, ".".join(left[shared:]), ".".join(right[shared:])).ratio()
