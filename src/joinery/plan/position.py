"""What must hold of the column that a relation takes its positions from.

It is read from the message itself, before anything is derived; it need not be declared.
"""

from __future__ import annotations

from collections.abc import Sequence

from joinery.model.type import Field
from joinery.plan.context import Context
from joinery.spec.location import Path
from joinery.spec.product import RelationSpec

_ORDERED = ("byte", "short", "int", "long", "timestamp", "timestamp_ntz")


def check_position(context: Context, spec: RelationSpec, columns: Sequence[Field]) -> None:
    """Note a `position` that no message can have."""
    path: Path = ("relations", spec.name, "position")
    if spec.position in dict(spec.derive):
        message = f'"position" of relation "{spec.name}" names the derived column "{spec.position}"'
        hint = "Name a column of the messages: a whole number, or a timestamp."
        context.refuse("PLAN_KEY", message, path, hint=hint)
    kind = next((str(each.type) for each in columns if each.name == spec.position), None)
    if kind is not None and kind not in _ORDERED:
        needs = "a whole number or a timestamp"
        message = f'"position" of relation "{spec.name}" needs {needs}, not {kind}'
        context.refuse("PLAN_TYPE_MISMATCH", message, path)
