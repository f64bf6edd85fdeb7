"""Sentences of messages, which end without a full stop where they are told."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends a sentence as it is.

    Example:
        >>> sentence("the disk is full")
        'the disk is full.'
        >>> sentence("Batch 3 is kept.")
        'Batch 3 is kept.'
    """
    return text if text.endswith((".", "!", "?", ";")) else f"{text}."
