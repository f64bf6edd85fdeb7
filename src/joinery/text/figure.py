"""Figures as people read them: lengths of time, sizes, how many of what."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """Return a length of time in two figures or so.

    Example:
        >>> [seconds_text(each) for each in (0.42, 41, 400, 90_000)]
        ['0.4 s', '41 s', '6.7 min', '25.0 h']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def size_text(size: int) -> str:
    """Return bytes in the unit that fits.

    Example:
        >>> [size_text(each) for each in (12, 88_000, 352_000_000)]
        ['12 B', '88 kB', '352 MB']
    """
    for unit, divisor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= divisor:
            return f"{size / divisor:.3g} {unit}"
    return f"{size} B"


def share_text(share: float | None) -> str:
    """Return a part of a whole in per cent; a dash where it is not known.

    Example:
        >>> [share_text(each) for each in (0.413, 0.052, 0.0004, None)]
        ['41%', '5.2%', '<0.1%', '-']
    """
    if share is None:
        return "-"
    if share < 0.001:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def counted_text(count: int, noun: str, several: str = "") -> str:
    """Return how many there are.

    Args:
        count: How many.
        noun: What one is called.
        several: What others are called, where that is not the noun with an s.

    Example:
        >>> counted_text(1, "product"), counted_text(1200, "product")
        ('1 product', '1,200 products')
    """
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"
