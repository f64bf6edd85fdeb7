"""The runs of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from joinery.spark.batch.run import Run


def runs() -> tuple[Run, ...]:
    """Return the runs of this process that have not ended, in the order of their starts.

    So a run can be stopped whose variable is gone, such as that of a notebook's cell that was
    run again: `[each.stop() for each in jn.runs()]`.
    """
    from joinery.spark.batch.going import going

    return going()
