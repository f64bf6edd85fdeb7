"""A social network at work: people view each other's profiles, and edit their own.

Views are skewed: a few profiles are viewed by many. Each view carries the viewer's name and
title as the page knew them, for the variant that looks nothing up.

Invariant: the same seed gives the same profiles, views and edits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_FIRST = "Amal Bruno Chiara Dele Elif Farid Greta Hana Ilir Jonas Kofi Lena Marek Noor".split()
_LAST = "Adler Bianchi Cohen Demir Endo Fischer Garcia Haddad Ito Jovic Kaur Lund".split()
TITLES = "engineer designer recruiter founder teacher nurse analyst editor".split()
_FIRST_SECOND = 1_767_225_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the network is.

    Attributes:
        profiles: How many people.
        views: How many page views.
        edits: How many times a profile is edited before the views.
    """

    profiles: int = 2_000
    views: int = 20_000
    edits: int = 200


class Network:
    """Profiles, edits of them, and page views."""

    def __init__(self, sizes: Sizes = Sizes(), seed: int = 11) -> None:
        self._random = random.Random(seed)
        self._sizes = sizes
        self.rows = {each: self._profile(each) for each in range(sizes.profiles)}

    def profiles(self) -> list[dict[str, Any]]:
        """Return all profiles as they are now."""
        return list(self.rows.values())

    def edit(self, count: int | None = None) -> list[dict[str, Any]]:
        """Give people other titles; return the new rows, in order."""
        edited: list[dict[str, Any]] = []
        for _ in range(self._sizes.edits if count is None else count):
            person = self._random.randrange(self._sizes.profiles)
            title = self._random.choice(TITLES)
            self.rows[person] = self.rows[person] | {"title": title}
            edited.append(self.rows[person])
        return edited

    def views(self, count: int | None = None, *, first: int = 1) -> Iterator[dict[str, Any]]:
        """Yield page views of now: who viewed whom, and what the page knew of the viewer."""
        for number in range(first, first + (self._sizes.views if count is None else count)):
            viewer = self._random.randrange(self._sizes.profiles)
            row = self.rows[viewer]
            yield {
                "view_id": number,
                "profile_id": self._viewed(viewer),
                "viewer_id": viewer,
                "viewed_at": _FIRST_SECOND + number,
                "viewer": row["name"],
                "title": row["title"],
            }

    def _viewed(self, viewer: int) -> int:
        """Return a profile: the lower its number, the more it is viewed; never one's own."""
        place = int(self._sizes.profiles * self._random.random() ** 3)
        return place if place != viewer else (place + 1) % self._sizes.profiles

    def _profile(self, number: int) -> dict[str, Any]:
        name = f"{self._random.choice(_FIRST)} {self._random.choice(_LAST)}"
        return {"id": number, "name": name, "title": self._random.choice(TITLES)}
