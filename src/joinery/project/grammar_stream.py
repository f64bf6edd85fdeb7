"""The names that streams may use in a project file, with what each holds.

Invariant: the reader takes its known names from here, so it and the shipped schema agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fragment = Mapping[str, Any]
Names = Mapping[str, Fragment]

READS = ("state", "database", "event")
TIMES = ("processing", "event")
LATES = ("hold", "correct")
MISSES = ("null", "drop", "dead_letter")
CHANGES = ("keep", "re_emit", "correct")
STEP_KINDS = ("lookup", "filter", "select", "with_columns", "map", "union")


def _text(description: str, **more: Any) -> Fragment:
    return {"type": "string", "description": description, **more}


def _word(known: tuple[str, ...], description: str) -> Fragment:
    return {"enum": list(known), "default": known[0], "description": description}


def _count(description: str, default: int) -> Fragment:
    return {"type": "integer", "minimum": 1, "default": default, "description": description}


def _ref(name: str, description: str, **more: Any) -> Fragment:
    return {"$ref": f"#/$defs/{name}", "description": description, **more}


WATERMARK: Names = {
    "delay": _ref(
        "duration", "How far behind the newest time a row may still arrive.", default="0s"
    ),
    "idle": _ref(
        "duration", "Without a row for this long, the relation is not waited for; by default never."
    ),
}
CACHE: Names = {
    "size": _count("The most answers to keep.", 100_000),
    "ttl": _ref("duration", "How old an answer may be.", default="60s"),
    "negative": _ref(
        "duration", "How long a key without a row is not requested again.", default="10s"
    ),
}
LIMITS: Names = {
    "concurrency": _count("The most requests under way at once.", 4),
    "per_second": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "The most requests per second; by default unlimited.",
    },
    "batch": _count("The most keys per request.", 1000),
    "warm_up": _ref(
        "duration", "How long the rate rises after a start, from a tenth of it.", default="0s"
    ),
}
LOOKUP: Names = {
    "lookup": _text("The table to look up: a relation with a key."),
    "on": _ref("on", "Column of the table: column of the event, for the table's whole key."),
    "fields": _ref("fields", "The columns to add; by default all that `on` does not name."),
    "read": _word(READS, "Where the row is: kept as state, in a store, or in the event already."),
    "as_of": _word(TIMES, "The row of now, or the one that was valid at the event's time."),
    "time": _text("The event's time; by default that of its relation."),
    "late": _word(LATES, "Wait for the table's watermark, or send at once and correct later."),
    "on_miss": {
        "anyOf": [{"enum": [*MISSES, None]}, {"type": "string", "pattern": r"^wait:\s*\d"}],
        "default": "null",
        "description": "An event without a row: `null`, `drop`, `dead_letter`, or `wait:5m`.",
    },
    "on_change": _word(CHANGES, "What a changed row does to events that were sent before."),
    "for": _ref(
        "duration",
        "How long an event is remembered for a changed row; under `as_of: event`, how far"
        " an event may be behind the table.",
    ),
    "every": _ref("duration", "How often corrections are sent under `on_change: correct`."),
    "where": _ref("expression", "Which events are sent again: a condition over their columns."),
    "cache": _ref("cache", "Which answers of the store may be used again."),
    "limits": _ref("limits", "How fast the store is queried at most."),
    "store": _ref("store", "The store that is queried: a kind with its options."),
}
STEP: Names = {
    "lookup": _text("Adds columns of the matching row of a table; its keys are below."),
    "filter": _ref("expression", "Keeps the events for which it is true."),
    "with_columns": _ref("expressions", "Adds columns, or replaces those of the same name."),
    "select": _ref("fields", "Replaces all columns by these."),
    "map": {"type": "object", "description": "Gives each event to a function of yours."},
    "union": _text("Adds the events of another stream of the same columns."),
}
MAP: Names = {
    "function": {
        "type": "string",
        "pattern": r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
        "description": "Module and function, `module:name`: takes an event, returns one or None.",
        "examples": ["my_steps:score"],
    },
    "output": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "The columns it returns and their Spark DDL types.",
    },
}
STREAM: Names = {
    "from": _text("A relation with `append: true`, or another stream."),
    "steps": {
        "type": "array",
        "items": {"$ref": "#/$defs/step"},
        "description": "What is done with an event, in order.",
    },
    "sink": _ref("sinks", "Where events are written."),
    "group": _text("Streams of one group share a query: they read their sources once."),
    "correction": _text("The name of a boolean column that is true for a correction."),
}
