"""A float as documents have it: the shortest digits that are the same number, or its name."""

from __future__ import annotations

import math
import struct


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
    """
    if not math.isfinite(value):
        return _name(value)
    packed = struct.pack("f", value)
    candidates = (repr(float(f"{value:.{digits}g}")) for digits in range(1, 10))
    return next(
        (text for text in candidates if struct.pack("f", float(text)) == packed), repr(value)
    )


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
