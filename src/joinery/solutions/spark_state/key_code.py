"""The code of a node's key, read back: the twin of the kernel's `KeyCodec`, for those who look on.

Each column is a byte that says whether it is null, then its value: whole numbers, dates and times
as 64 bits with the sign turned over, floating numbers as bits that sort, decimals as 17 bytes,
texts with each zero byte escaped and two of other kinds at their end.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from collections.abc import Sequence
from typing import Any

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

_SIGN = 1 << 63
_DECIMAL_BYTES = 17
_END = b"\0\0"
_WIDE = decimal.Context(prec=80)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1)


class KeyCodeError(ValueError):
    """Bytes are no code of a key of some types."""


def read_key(code: bytes, types: Sequence[DataType], *, cut: bool = False) -> list[Any]:
    """Return the values of a key's columns.

    Args:
        code: As the kernel writes it.
        types: Those that the columns are compared as.
        cut: Whether something is missing at its end: then as many columns are returned as there
            are, the last as far as it goes where it is a text.

    Raises:
        KeyCodeError: It is not a code of a key of these types.

    Example:
        >>> from joinery.model.type import LONG, STRING
        >>> read_key(bytes.fromhex("0161640000018000000000000007"), [STRING, LONG])
        ['ad', 7]
    """
    reader = _Reader(code + _END if cut else code)
    values = []
    for type_ in types:
        if cut and reader.at >= len(code):
            break
        try:
            values.append(reader.column(type_))
        except (IndexError, struct.error, ValueError, OverflowError) as error:
            if cut:
                break
            raise KeyCodeError("no code of such a key") from error
    if not cut and reader.at != len(code):
        raise KeyCodeError("no code of such a key")
    return values


class _Reader:
    """Reads columns one after the other."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        self.at = 0

    def column(self, type_: DataType) -> Any:
        """Return the value of the next column, None for null."""
        present = self._take(1)[0]
        if present > 1:
            raise ValueError("neither null nor a value")
        return self._value(type_) if present else None

    def _value(self, type_: DataType) -> Any:
        match type_:
            case Atomic("boolean"):
                return self._take(1) == b"\1"
            case Atomic("byte" | "short" | "int" | "long"):
                return self._whole()
            case Atomic("date"):
                return _EPOCH_DAY + dt.timedelta(days=self._whole())
            case Atomic("timestamp"):
                return _EPOCH + dt.timedelta(microseconds=self._whole())
            case Atomic("timestamp_ntz"):
                return (_EPOCH + dt.timedelta(microseconds=self._whole())).replace(tzinfo=None)
            case Atomic("float" | "double"):
                return self._real()
            case Atomic("string"):
                return self._text().decode("utf-8", errors="replace")
            case Atomic("binary"):
                return self._text()
            case Decimal(_, scale):
                return self._decimal(scale)
            case Atomic() | Array() | Map() | Struct():
                raise ValueError("no type of a key")

    def _take(self, count: int) -> bytes:
        taken = self._code[self.at : self.at + count]
        if len(taken) < count:
            raise IndexError("the code ends here")
        self.at += count
        return taken

    def _bits(self) -> int:
        return int.from_bytes(self._take(8), "big")

    def _whole(self) -> int:
        return self._bits() - _SIGN

    def _real(self) -> float:
        bits = self._bits()
        bits = bits ^ _SIGN if bits & _SIGN else bits ^ (2 * _SIGN - 1)
        value: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
        return value

    def _decimal(self, scale: int) -> decimal.Decimal:
        digits = bytearray(self._take(_DECIMAL_BYTES))
        digits[0] ^= 0x80
        unscaled = int.from_bytes(digits, "big", signed=True)
        return _WIDE.scaleb(decimal.Decimal(unscaled), -scale)

    def _text(self) -> bytes:
        found = bytearray()
        while True:
            end = self._code.index(b"\0", self.at)
            found += self._code[self.at : end]
            self.at = end + 2
            if self._code[end + 1] == 0:
                return bytes(found)
            found.append(0)
