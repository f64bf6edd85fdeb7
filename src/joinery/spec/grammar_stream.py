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
STORE_KINDS = ("sqlite", "postgres", "redis", "dynamodb", "http", "function")
STEP_KINDS = ("lookup", "filter", "select", "with_columns", "map", "union")


def _text(description: str) -> Fragment:
    return {"type": "string", "description": description}


def _word(known: tuple[str, ...], description: str) -> Fragment:
    return {"enum": list(known), "default": known[0], "description": description}


def _count(description: str, default: int) -> Fragment:
    return {"type": "integer", "minimum": 1, "default": default, "description": description}


def _ref(name: str, description: str) -> Fragment:
    return {"$ref": f"#/$defs/{name}", "description": description}


STORE_OPTIONS: Mapping[str, Names] = {
    "sqlite": {
        "path": _text("The database file."),
        "table": _text("The table; by default the relation's name."),
    },
    "postgres": {
        "url": _text("Where the database is: postgresql://user:password@host:5432/name."),
        "table": _text("The table or view; by default the relation's name."),
        "schema": _text("The table's schema; by default the first of the search path."),
    },
    "redis": {
        "url": _text("The server; redis://127.0.0.1:6379/0 by default."),
        "prefix": _text("Before each key; by default the relation's name."),
        "user": _text("The user; by default that of the URL."),
        "password": _text("The password; take it from the environment."),
    },
    "dynamodb": {
        "table": _text("The table; by default the relation's name."),
        "region": _text("The region; by default that of the environment."),
        "endpoint": _text("Another address, such as that of DynamoDB Local."),
        "consistent": {"type": "boolean", "default": False, "description": "Consistent reads."},
    },
    "http": {
        "url": _text("Asked with POST for many keys at once."),
        "each": _text("Asked with GET for one row: https://host/users/{id}."),
        "headers": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Sent with each request.",
        },
        "timeout_s": {"type": "integer", "minimum": 1, "description": "Seconds for an answer."},
    },
    "function": {"function": _text("Module and function, module:name, that gives rows by key.")},
}
STORE_NEEDED: Mapping[str, tuple[str, ...]] = {
    "sqlite": ("path",),
    "postgres": ("url",),
    "function": ("function",),
}
WATERMARK: Names = {
    "delay": _ref("duration", "How much older than the newest time a row may still come; 0s."),
    "idle": _ref("duration", "After so long without a row the relation holds nobody up."),
}
CACHE: Names = {
    "size": _count("The most answers that are kept.", 100_000),
    "ttl": _ref("duration", "How old an answer may be; 60s."),
    "negative": _ref("duration", "How long a key without a row is not asked for again; 10s."),
}
LIMITS: Names = {
    "concurrency": _count("The most requests under way.", 4),
    "per_second": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "The most requests a second; no bound where left out.",
    },
    "batch": _count("The most keys a request.", 1000),
    "warm_up": _ref("duration", "How long the rate rises, from a tenth, after a start; 0s."),
}
LOOKUP: Names = {
    "lookup": _text("The table: a relation with a key."),
    "on": _ref("on", "Table column to event column, the table's whole key."),
    "fields": _ref("fields", "What of the table's row is added; else all columns beside on."),
    "read": _word(READS, "Where the row is: kept as state, in a store, or in the event already."),
    "as_of": _word(TIMES, "The row of now, or the one that was valid at the event's time."),
    "time": _text("The event's time; by default that of its relation."),
    "late": _word(LATES, "Wait for the table's watermark, or send at once and correct."),
    "on_miss": {
        "anyOf": [{"enum": [*MISSES, None]}, {"type": "string", "pattern": r"^wait:\s*\d"}],
        "description": "An event without a row: null, drop, dead_letter, or wait:5m.",
    },
    "on_change": _word(CHANGES, "What a changed row does to events that were sent."),
    "for": _ref(
        "duration",
        "How long an event is remembered for a changed row; under as_of: event, how far"
        " an event may be behind the table.",
    ),
    "every": _ref("duration", "How often corrections are sent; on_change: correct."),
    "where": _ref("expression", "Which events are sent again, over their columns and fields."),
    "cache": _ref("cache", "How long an answer of the store may be used again."),
    "limits": _ref("limits", "What the store is spared."),
    "store": _ref("store", "The store that is queried: a kind with its options."),
}
MAP: Names = {
    "function": {
        "type": "string",
        "pattern": r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
        "description": "Module and function: it takes an event, and returns one or None.",
        "examples": ["my_steps:score"],
    },
    "output": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "The columns it returns and their Spark DDL types.",
    },
}
STREAM: Names = {
    "from": _text("A relation with append: true, or a stream that this one goes on from."),
    "steps": {
        "type": "array",
        "items": {"$ref": "#/$defs/step"},
        "description": "What happens to an event, in order.",
    },
    "sink": _ref("sinks", "Where events go."),
    "group": _text("Streams of one group share a query."),
    "correction": _text("A boolean column that tells a correction from a first event."),
}
