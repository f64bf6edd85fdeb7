"""The words of a text: where they begin and end, in small letters.

They are those of Lucene's StandardAnalyzer, by the word boundaries of Unicode (UAX #29), but that
emoji are not words, and that letters of scripts without spaces (Thai, Khmer) are parted from others
only where something else is between them.

Invariant: `Words.java` gives the same; both are held to Lucene by `text_cases.json`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MOST_CHARACTERS = 255
"""A longer word is cut into pieces of this length."""

_IDEOGRAPHS = (
    *((0x2E80, 0x2FD5), (0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAD9), (0x20000, 0x3134F)),
)
_HIRAGANA = ((0x3041, 0x3096), (0x309D, 0x309F))
_KATAKANA = (
    *((0x3031, 0x3035), (0x309B, 0x309C), (0x30A0, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF)),
    *((0x32D0, 0x32FE), (0x3300, 0x3357), (0xFF66, 0xFF9D)),
)
_BETWEEN_LETTERS = frozenset(":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a")
_BETWEEN_DIGITS = frozenset(
    ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
)
_BETWEEN_BOTH = frozenset(".'\u2018\u2019\u2024\ufe52\uff07\uff0e")
_JOINED = frozenset({"AA", "AN", "NA", "NN", "KK", "EE", "EA", "EN", "EK", "AE", "NE", "KE"})
"""Kinds that no boundary parts: letters, digits, katakana and what joins, such as `_`."""


@lru_cache(maxsize=65_536)
def _kind(character: str) -> str:
    """Return A (letter), N (digit), K, H, I (kana, ideograph), E (joins), X (extends), or a sign.

    A sign is `l`, `n` or `b`, which may stand between letters, digits or either, or a space.
    """
    point = ord(character)
    for ranges, kind in ((_IDEOGRAPHS, "I"), (_HIRAGANA, "H"), (_KATAKANA, "K")):
        if any(low <= point <= high for low, high in ranges):
            return kind
    signs = ((_BETWEEN_LETTERS, "l"), (_BETWEEN_DIGITS, "n"), (_BETWEEN_BOTH, "b"))
    for characters, kind in signs:
        if character in characters:
            return kind
    category = unicodedata.category(character)
    if category[0] == "L" or category == "Nl":
        return "A"
    if category[0] == "M" or (category == "Cf" and character != "\u200b"):
        return "X"
    return {"Nd": "N", "Pc": "E"}.get(category, " ")


def lowered(text: str) -> str:
    """Return a text in small letters, each character by itself.

    Example:
        >>> lowered("ΟΔΟΣ İ")
        'οδοσ i'
    """
    return "".join("i" if each == "İ" else each.lower() for each in text)


@lru_cache(maxsize=4_096)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, in order.

    Example:
        >>> words("Wi-Fi can't do 3.5 GB/s, snake_case")
        ('wi', 'fi', "can't", 'do', '3.5', 'gb', 's', 'snake_case')
    """
    return tuple(
        lowered(run[at : at + MOST_CHARACTERS])
        for run in _runs(text)
        for at in range(0, len(run), MOST_CHARACTERS)
    )


def _runs(text: str) -> Iterator[str]:
    begin, end, last, wordy = 0, 0, "", False
    at = 0
    while at < len(text):
        kind = _kind(text[at])
        if kind == "X":
            end = at + 1 if last else end
            at += 1
            continue
        if last and (behind := _joined(text, at, last, kind)):
            at, kind = behind - 1, _kind(text[behind - 1])
        else:
            if wordy:
                yield text[begin:end]
            begin, wordy = at, False
        at += 1
        end, last = at, kind if kind in "ANKEIH" else ""
        wordy = wordy or (bool(last) and last != "E")
    if wordy:
        yield text[begin:end]


def _joined(text: str, at: int, last: str, kind: str) -> int:
    """Return behind which character the word goes on; 0 where it ends before `at`."""
    if last + kind in _JOINED:
        return at + 1
    if kind in ("l", "n", "b"):
        after = at + 1
        while after < len(text) and _kind(text[after]) == "X":
            after += 1
        follows = _kind(text[after]) if after < len(text) else ""
        if (last == follows == "A" and kind != "n") or (last == follows == "N" and kind != "l"):
            return after + 1
    return 0
