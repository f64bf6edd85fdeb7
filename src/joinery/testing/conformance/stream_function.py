"""The functions that cases of streams call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEAR = 100.0


def label(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the item with a mark, and whether it is dear; nothing where it has no item."""
    if event["item"] is None:
        return None
    return {"label": f"{event['item']}!", "dear": event["price"] > _DEAR}


def halve(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return half the quantity; fails where there is none."""
    return {"half": event["quantity"] / 2}
