"""Whether two relations may read records of one topic, table or folder.

Limits: two patterns are told apart by the text that they begin with, and taken for sharing where
that does not tell them apart.
"""

from __future__ import annotations

import re

from joinery.project.captured import CAPTURED, table_in
from joinery.project.kafka import PATTERN, is_named
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec

_PLACES = ("bootstrap", "path", "url")
_HEAD = re.compile(r"(?:[A-Za-z0-9_-](?![?*{]))*")


def may_share(spec: ProjectSpec, one: RelationSpec, other: RelationSpec) -> bool:
    """Return whether a record may be one of both relations."""
    sources = {each.name: each for each in spec.sources}
    left, right = sources.get(spec.source_of(one)), sources.get(spec.source_of(other))
    topics = one.topic or one.name, other.topic or other.name
    if left is None or right is None:
        return topics[0] == topics[1]
    if left.name != right.name and not _is_one_place(left, right):
        return False
    if left.kind in CAPTURED:
        return table_in(left, topics[0]) == table_in(right, topics[1])
    return _is_one_topic(*topics)


def _is_one_place(left: SourceSpec, right: SourceSpec) -> bool:
    one, other = dict(left.options), dict(right.options)
    return left.kind == right.kind and any(
        one.get(name) is not None and one.get(name) == other.get(name) for name in _PLACES
    )


def _is_one_topic(one: str, other: str) -> bool:
    if one.startswith(PATTERN) and other.startswith(PATTERN):
        heads = [_head(each.removeprefix(PATTERN)) for each in (one, other)]
        return heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])
    try:
        return is_named(one, other) or is_named(other, one)
    except re.error:
        return False  # told where patterns are checked


def _head(pattern: str) -> str:
    """Return what every topic of a pattern begins with, as far as that is plain.

    Example:
        >>> _head("shard_[0-9]+[.]user"), _head("users?"), _head("a|b")
        ('shard_', 'user', '')
    """
    found = _HEAD.match(pattern)
    return "" if found is None or "|" in pattern else found[0]
