"""What the network shows of its enriched views: who viewed me, others also viewed, job titles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

View = Mapping[str, Any]
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Answers:
    """The three questions of one profile, answered.

    Attributes:
        viewers: The newest viewers: name and title, newest first, each once.
        titles: How many views came from each job title, most first.
        also_viewed: Profiles that the same people viewed, most viewed first.
    """

    viewers: tuple[tuple[str, str], ...]
    titles: tuple[tuple[str, int], ...]
    also_viewed: tuple[tuple[int, int], ...]


def answers(views: Iterable[View], profiles: Iterable[int]) -> dict[int, Answers]:
    """Answer for some profiles, from enriched views in any order."""
    of_profile: dict[int, list[View]] = defaultdict(list)
    of_viewer: dict[int, set[int]] = defaultdict(set)
    for view in sorted(views, key=lambda each: -each["view_id"]):
        of_profile[view["profile_id"]].append(view)
        of_viewer[view["viewer_id"]].add(view["profile_id"])
    return {each: _of(each, of_profile[each], of_viewer) for each in profiles}


def _of(profile: int, views: list[View], of_viewer: Mapping[int, set[int]]) -> Answers:
    viewers = dict.fromkeys((each["viewer"], each["title"]) for each in views)
    titles = Counter(each["title"] for each in views)
    also = Counter(
        other
        for viewer in {each["viewer_id"] for each in views}
        for other in of_viewer[viewer]
        if other != profile
    )
    return Answers(tuple(viewers)[:_SHOWN], _most(titles), _most(also))


def _most(counted: Counter[Any]) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:_SHOWN])
