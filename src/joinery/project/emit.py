"""When a product is sent, and what becomes of rows that come late."""

from __future__ import annotations

from typing import Literal, get_args

from joinery.project.part import Part, key, part
from joinery.project.value import DURATION, ELAPSED, one_of
from joinery.project.window import WEEK_US

When = Literal["changed", "closed"]
LateRows = Literal["correct", "dead_letter", "drop"]


@part
class Emit(Part):
    """When a product is sent, and what becomes of rows that come late.

    All but `settle_ms` is of what goes by time: a group, a pattern, a document with `within`.

    Attributes:
        settle_ms: How long a key has not to change before it is sent; None sends at each batch's
            end.
        when: After each batch that changed it, or once when its time is over.
        late: A late row corrects, is told as a dead letter, or is counted alone.
        allowed_us: How far below the watermark a row may be before it is late.
        retention_us: How long after its window's end a row still corrects.
    """

    settle_ms: int | None = key(
        DURATION, "Send a document once its key has not changed for this long.", default=None
    )
    when: When = key(
        one_of(get_args(When)),
        "For results over time: send after each change, or once their time is over.",
        default="changed",
    )
    late: LateRows = key(
        one_of(get_args(LateRows)),
        "For results over time: what happens to a row that comes below the watermark.",
        default="correct",
    )
    allowed_us: int = key(
        ELAPSED,
        "For results over time: how far below the watermark a row may be before it is late.",
        default=0,
    )
    retention_us: int = key(
        ELAPSED,
        "For results over time: how long after their end they can still change.",
        default=WEEK_US,
    )


AS_CHANGED = Emit()
"""What a product says that has no `emit`."""
