"""Relations of pages and their views, which the cases of reading products share."""

from __future__ import annotations

PAGES = """
relations:
  page: {key: [page], fields: {page: string, title: string}}
  view: {key: [id], fields: {id: long, page: string, ms: int, at: timestamp}, time: at}
"""


def at(clock: str, day: str = "2026-03-01") -> str:
    """Return the moment in UTC when a clock shows `HH:MM` on a day, as ISO 8601."""
    return f"{day}T{clock}:00Z"
