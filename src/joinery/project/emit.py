"""When a product that goes by time is sent, and what becomes of rows that come late."""

from __future__ import annotations

from typing import Literal, get_args

from joinery.project.part import Part, key, part
from joinery.project.value import ELAPSED, one_of
from joinery.project.window import WEEK_US

When = Literal["changed", "closed"]
LateRows = Literal["correct", "dead_letter", "drop"]


@part
class Emit(Part):
    """When a group, or a document with `within`, is sent, and what becomes of rows that come late.

    Attributes:
        when: After each batch that changed it, or once when its time is over.
        late: A late row corrects, is told as a dead letter, or is counted alone.
        allowed_us: How far below the watermark a row is not late yet.
        retention_us: How long after its window's end a row still corrects.
    """

    when: When = key(
        one_of(get_args(When)),
        "Of what goes by time: send after each change, or once its time is over.",
        default="changed",
    )
    late: LateRows = key(
        one_of(get_args(LateRows)),
        "Of what goes by time: what a row does that comes below the watermark.",
        default="correct",
    )
    allowed_us: int = key(
        ELAPSED,
        "Of what goes by time: how far below the watermark a row is not late yet.",
        default=0,
    )
    retention_us: int = key(
        ELAPSED,
        "Of what goes by time: how long after its end it can still change.",
        default=WEEK_US,
    )


AS_CHANGED = Emit()
"""What a product says that has no `emit`."""
