"""The switches of a lookup that exclude one another, each with the reason."""

from __future__ import annotations

from joinery.plan.lookup_context import LookupContext
from joinery.spec.stream import LookupSpec


def check_switches(asked: LookupContext) -> None:
    """Refuse switches that cannot stand together."""
    for word, holds, reason, hint in _exclusions(asked.spec):
        if holds:
            value = getattr(asked.spec, word)
            message = f'{asked.what} cannot have "{word}: {value}" here'
            asked.refuse("PLAN_LOOKUP", message, word, detail=reason, hint=hint)


def _exclusions(spec: LookupSpec) -> tuple[tuple[str, bool, str, str], ...]:
    """Return, for each switch that may not stand here, whether it does, why, and what to do."""
    stored, past = spec.read == "database", spec.as_of == "event"
    corrected = past and spec.late == "correct"
    return (
        ("as_of", stored and past, "A store has the row of now alone.", "Use read: state."),
        (
            "on_change",
            stored and spec.on_change != "keep",
            "A store does not tell when a row changes.",
            "Use read: state.",
        ),
        (
            "on_miss",
            stored and spec.on_miss == "wait",
            "A store does not tell when a row comes.",
            "Use read: state, or on_miss: dead_letter and replay.",
        ),
        (
            "on_change",
            not stored and past and spec.on_change != "keep",
            "A version that comes later is not valid at the event's time.",
            "Use late: correct for versions that come late.",
        ),
        (
            "on_miss",
            not stored and past and spec.on_miss == "wait",
            "An event waits for the table's watermark already.",
            "Use late: hold, and on_miss: null, drop or dead_letter.",
        ),
        (
            "on_miss",
            not stored and corrected and spec.on_miss in ("drop", "dead_letter"),
            "A late version may give the event a row, or take it away again.",
            "Use on_miss: null, or late: hold.",
        ),
    )
