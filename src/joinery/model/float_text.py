"""A float as documents have it: the shortest digits that are the same number, or its name."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_EVEN, ROUND_UP, Context, Decimal
from itertools import product

_MOST_DIGITS = 9
# The nearest of so many digits; of a power of two one above may do where the nearest does not,
# since numbers below it are half as far apart as those above.
_ROUNDINGS = (ROUND_HALF_EVEN, ROUND_UP)


def double_text(value: float) -> str:
    """Return the text of a 64-bit number.

    Example:
        >>> double_text(0.1), double_text(-math.inf), double_text(math.nan)
        ('0.1', '-Infinity', 'NaN')
    """
    return repr(value) if math.isfinite(value) else _name(value)


def single_text(value: float) -> str:
    """Return the text of a 32-bit number.

    Example:
        >>> (nearest,) = struct.unpack("f", struct.pack("f", 0.1))
        >>> nearest, single_text(nearest)
        (0.10000000149011612, '0.1')
        >>> single_text(2.0**-96)
        '1.2621775e-29'
    """
    if not math.isfinite(value):
        return _name(value)
    packed, exact = struct.pack("f", value), Decimal(value)
    for digits, rounding in product(range(1, _MOST_DIGITS + 1), _ROUNDINGS):
        shorter = float(Context(prec=digits, rounding=rounding).plus(exact))
        if _packed(shorter) == packed:
            return repr(shorter)
    return repr(value)


def _packed(value: float) -> bytes | None:
    try:
        return struct.pack("f", value)
    except OverflowError:
        return None


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
