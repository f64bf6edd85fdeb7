"""What the social network declares: page views enriched with their viewer, in three ways.

The three differ in one word, `read`. In the event: the page wrote what it knew of the viewer
into the view. Queried: the profile store is asked. Merged: the profiles' own changes are
kept as state beside the views.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import joinery as jn

Variant = Literal["event", "database", "state"]
VARIANTS: Mapping[Variant, str] = {
    "event": "in the event",
    "database": "queried",
    "state": "merged",
}


def declare(
    *, source: str, folder: Path, read: Variant, store: Mapping[str, Any], name: str = ""
) -> jn.App:
    """Return the app of one variant.

    Args:
        source: `kafka://host:9092`, or a folder.
        folder: Where relative paths begin.
        read: One of `VARIANTS`.
        store: Where profiles are queried: a kind with its options.
        name: Of its stream; the variant's where left out.
    """
    called = name or f"who_viewed_me_{read}"
    app = jn.App(
        "social_network",
        source=source,
        format="json",
        folder=folder,
        run={
            "checkpoint": f"checkpoints/{called}",
            "dead_letters": {"files": {"path": f"dead_letters/{called}"}},
        },
    )
    app.table("profiles", key="id", fields={"id": "long", "name": "string", "title": "string"})
    views = app.stream(
        "page_views",
        key="view_id",
        fields={
            "view_id": "long",
            "profile_id": "long",
            "viewer_id": "long",
            "viewed_at": "long",
            "viewer": "string",
            "title": "string",
        },
    )
    queried = read == "database"
    views.lookup_join(
        "profiles",
        on={"id": "viewer_id"},
        fields={"viewer": "name", "title": "title"},
        read=read,
        store=store if queried else None,
        limits={"concurrency": 2, "per_second": 50, "batch": 500} if queried else None,
        cache={"ttl": "60s"} if queried else None,
    ).sink(name=called, files={"path": "out"})
    return app
