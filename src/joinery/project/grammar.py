"""The names a project file may use, with what each holds, as JSON Schema fragments.

Invariant: the reader takes its known names from here, so it and the shipped schema agree.

The names that streams may use in a project file, with what each holds.

Invariant: the reader takes its known names from here, so it and the shipped schema agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joinery.project.audit import AuditSpec
from joinery.project.expect import Expectations
from joinery.project.kinds import DEFAULT_FORMAT, FORMATS
from joinery.project.option import Fragment, Names
from joinery.project.part import names_of
from joinery.project.stream import (
    STEPS,
    Cache,
    ClocksSpec,
    Limits,
    StreamSpec,
    WatermarkSpec,
    step_fragment,
)

TIME_UNITS = ("micros", "millis", "nanos")
IMAGES = ("full", "key")
OVERFLOWS = ("count", "fail")
SHAPES = ("list", "map")
RESERVED_PROJECT = ("functions",)
WHENS = ("changed", "closed")
LATE_ROWS = ("correct", "dead_letter", "drop")
LANGUAGES = ("sql", "lucene")
ERASED = ("redact", "remove")
AFTERS = ("past_last", "next_row")
WINDOW_KINDS = ("tumbling", "hopping", "cumulative", "session", "sliding")


def _text(description: str, **more: Any) -> Fragment:
    return {"type": "string", "description": description, **more}


def _flag(description: str, *, default: bool = False) -> Fragment:
    return {"type": "boolean", "default": default, "description": description}


def _count(description: str, **more: Any) -> Fragment:
    return {"type": "integer", "minimum": 1, "description": description, **more}


def _names(description: str) -> Fragment:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _ref(name: str, description: str = "", **more: Any) -> Fragment:
    reference = {"$ref": f"#/$defs/{name}"}
    return {**reference, "description": description, **more} if description else reference


def _map(name: str, description: str) -> Fragment:
    return {"type": "object", "additionalProperties": _ref(name), "description": description}


PROJECT: Names = {
    "joinery": {"const": 1, "description": "The version of this file format."},
    "name": _text("The project's name.", default="project"),
    "sources": _map("source", "Where changes are read from, by name."),
    "defaults": _ref("defaults", "Source and format of relations that name none."),
    "relations": _map("relation", "The tables whose changes are read, by name."),
    "products": _map("product", "The documents to keep up to date, by name."),
    "streams": _map("stream", "Logs of events to enrich, by name."),
    "windows": _map("window", "Windows of time that several products share, by name."),
    "sinks": _map("sink_map", "Sinks that several products or streams share, by name."),
    "vault": _ref("vault", "Where the keys of personal columns are."),
    "run": _ref("run", "How the project runs."),
}
VAULT_BESIDE: Names = {
    "master": _text(
        "What the keys are wrapped under, 32 characters or more: a secret, best taken from the"
        " environment.",
        examples=["${JOINERY_MASTER_KEY}"],
    ),
}
PERSONAL: Names = {
    "subject": _text("The column that says whose the values are, such as the key."),
    "fields": _names("The columns that are sealed when they are decoded."),
    "join": _names("Those of them that relations may be joined on, by a blind index."),
}
DEFAULTS: Names = {
    "source": _text("The source of relations that name none."),
    "format": _text(
        "The format of relations that name none.",
        examples=list(FORMATS),
        default=DEFAULT_FORMAT.name,
    ),
}
RELATION: Names = {
    "topic": _text(
        "The topic, or `pattern:` and a regular expression; by default the relation's name."
    ),
    "source": _text("The name of its source; by default that of `defaults`, or the only one."),
    "format": _text(
        "What a message looks like; by default that of `defaults`.", examples=list(FORMATS)
    ),
    "key": _names("The primary key's columns, in order."),
    "fields": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "The columns and their Spark DDL types.",
    },
    "derive": _ref(
        "expressions", "Computed columns, usable wherever columns are, but not in `key`."
    ),
    "position": _text(
        "The column that orders the changes of a key; by default the format's own position."
    ),
    "time_unit": {
        "enum": list(TIME_UNITS),
        "default": "micros",
        "description": "The unit of timestamps that arrive as numbers without a schema.",
    },
    "images": {
        "enum": list(IMAGES),
        "default": "full",
        "description": "What `before` holds: a hint for the plan, never needed to be right.",
    },
    "unique": {
        "type": "array",
        "items": {"type": "array", "items": {"type": "string"}},
        "description": "Sets of columns that identify a row: the plan may treat them as keys.",
    },
    "where": _ref("expression", "Rows for which it is not true do not exist for products."),
    "append": _flag(
        "A log of events: rows are inserted and never change, and `key` may be left out."
    ),
    "time": {
        "description": (
            "The column with the time of an event, or the time from which a row is valid; or three"
            " clocks."
        ),
        "anyOf": [_text("The column."), _ref("clocks")],
    },
    "watermark": _ref("watermark", "How late a row may be in event time."),
    "personal": _ref("personal", "The columns that are a [person's own](erasure.md)."),
    "product": _text(
        "Instead of `key` and `fields`: the product of the same query that is read as a relation."
    ),
}
PRODUCT_RELATION = ("product", "derive", "where", "time", "watermark")
"""The keys of a relation that is a product: its columns, its key and their order are there."""
_SHOWN: Names = {
    "fields": _ref("fields", "The columns to show; by default all."),
    "values": _ref("expressions", "Further fields, computed from fields and embeds."),
    "where": _ref("expression", "Only rows for which it is true."),
    "embed": _map("embed", "Related rows, by the name of the field they become."),
}
EMBED: Names = {
    "one": _text("The relation to embed as one object, or null where nothing matches."),
    "many": _text("The relation to embed as a list."),
    "on": _ref(
        "on", "Column of the embedded relation: column of the parent; a list where names agree."
    ),
    "through": _ref(
        "through",
        "Of `many`: the relation whose rows lead to the embedded ones. `on` then compares with"
        " columns of it, `relation.column`.",
    ),
    "hot": _ref("hot", "Of `through`: leaves out what many of its rows name."),
    **_SHOWN,
    "order": _names("What the list is sorted by, `-` in front for descending; then by the key."),
    "limit": _count("How many are kept, in that order."),
    "overflow": {
        "enum": list(OVERFLOWS),
        "default": "count",
        "description": "Above `limit`: count all in `<name>_total`, or refuse the document.",
    },
    "hidden": _flag("Usable in expressions, but not part of the document."),
    "as": {
        "enum": list(SHAPES),
        "default": "list",
        "description": "A list, or a map from the row's key to the row.",
    },
    "as_of": _text(
        "The column of the parent with the time whose version of the row is embedded; by default"
        " the row as it is."
    ),
    "within": _ref(
        "within",
        "How far the row's time may be from that of the row above: `[from, to]`, ends included.",
    ),
}
HOT: Names = {
    "above": _count(
        "What more rows of the through relation name is left out, and listed in `<name>_hot`."
    ),
}
OUTBOX: Names = {
    "relation": _text("The relation whose inserted rows are the events."),
    "key": _text("The column with the event's key.", default="aggregateid"),
    "value": _text("The column with the event itself.", default="payload"),
    "headers": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Kafka headers and the columns they are taken from.",
    },
}
_PATTERN: Names = {
    "order": _names(
        "Of `pattern`: how rows follow one another, `-` in front for descending; by default by"
        " time, then by the key."
    ),
    "define": _ref("expressions", "Of `pattern`: variables, and what a row must be to be theirs."),
    "match": _text(
        "Of `pattern`: `A B` (the very next row), `A -> B` (a later one), `( )`, `A+`, `A*`,"
        " `A?`, `A{2,5}`, a bar between alternatives, and last `not C`.",
        examples=["F{3,} -> S not P"],
    ),
    "within": _ref("span", "Of `pattern`: how long after its first row a match may end."),
    "after": {
        "enum": list(AFTERS),
        "default": "past_last",
        "description": "Of `pattern`: where the search goes on after a match.",
    },
    "rules": _ref(
        "rules", "Of `pattern`: by name, relations whose rows give parameters to `define`."
    ),
}
RULE: Names = {
    "one": _text("The relation whose row is looked up."),
    "on": _ref("on", "Column of the rule: column of the pattern's row, for the rule's whole key."),
}
_FOLD: Names = {
    "sequence": _text("Of `fold`: the column with an event's number, from 1 in each key."),
    "kind": _text("Of `fold`: the column that says what has happened.", default="type"),
    "state": _ref(
        "state", "Of `fold`: the columns of the state: `decimal(18,2) = 0` begins with a value."
    ),
    "when": _ref(
        "when",
        "Of `fold`: by kind of event, what columns of the state become: expressions over the state"
        " before, and over the event (`event.amount`).",
    ),
    "wait": _ref(
        "span",
        "Of `fold`: how long events wait for numbers missing before theirs; `0s` does not wait.",
        default="1m",
    ),
}
_SEARCH: Names = {
    "queries": _text("Of `search`: the relation with a stored query in each row."),
    "query": _text("Of `search`: the column of `queries` with the query."),
    "on": _ref(
        "on", "Of `search`: column of `queries`: column of the documents; a list where names agree."
    ),
    "language": {
        "enum": list(LANGUAGES),
        "default": "sql",
        "description": "Of `search`: what a query is: a condition, or a query of Lucene.",
    },
    "retroactive": _flag(
        "Of `search`: a new query finds the documents that are there already.", default=True
    ),
}
_HISTORY: Names = {
    "valid": _text("Of `history`: the column with the time from which a version is valid."),
    "track": _names(
        "Of `history`: the columns in which versions differ; by default all but `valid`."
    ),
    "known_at": {
        "anyOf": [{"type": "boolean"}, {"type": "string"}],
        "description": "Of `history`: the column with the time at which a change became known;"
        " `true` is the time at which its log took it.",
    },
}
FORMS: Mapping[str, tuple[str, ...]] = {
    "root": (*_SHOWN, "erased"),
    "outbox": (),
    "aggregate": ("by", "window", "where", "values"),
    "search": (*_SEARCH, "fields"),
    "history": tuple(_HISTORY),
    "pattern": ("by", *_PATTERN, "fields"),
    "fold": ("by", *_FOLD),
}
"""By the key that declares a product's form, the keys that a product of the form may have."""
PRODUCT: Names = {
    "root": _text("The relation with one row per document."),
    "outbox": {
        "description": "Instead of `root`: the relation whose inserted rows are sent as events.",
        "anyOf": [
            _text("The relation."),
            {"type": "object", "additionalProperties": False, "properties": OUTBOX},
        ],
    },
    "aggregate": _text("Instead of `root`: the relation whose rows are put into groups."),
    "history": _text("Instead of `root`: the relation whose rows' versions are kept."),
    "pattern": _text("Instead of `root`: the relation in whose rows matches are looked for."),
    "fold": _text("Instead of `root`: the log whose events become a state."),
    **_SHOWN,
    "by": _ref(
        "fields",
        "Of `aggregate`, what its rows are grouped by; of `pattern`, whose rows make a match; of"
        " `fold`, whose events have one state.",
    ),
    **_PATTERN,
    **_FOLD,
    "window": {
        "description": "Of `aggregate`: the windows of time that rows are put into.",
        "anyOf": [_text("The name of one of `windows`."), _ref("window")],
    },
    "search": _text(
        "Instead of `root`: the relation or product that stored queries are matched with."
    ),
    **_SEARCH,
    **_HISTORY,
    "sink": _ref("sinks", "Where documents are written."),
    "group": _text("Products of one group share a query: they read their sources once."),
    "solution": _ref("solution", "How join state is kept.", default="spark-state"),
    "emit": _ref("emit", "When documents are sent; by default at the end of each batch."),
    "expect": _ref("expect", "What wants attention in `joinery status`; by default failures."),
    "erased": {
        "enum": list(ERASED),
        "default": "redact",
        "description": "Of `root`: what becomes of a document with values of an erased person.",
    },
    "ready": _names(
        "Relations that have to be read to the end they had at start before anything is sent."
    ),
}
EMIT: Names = {
    "settle": _ref("duration", "Send a document once its key has not changed for this long."),
    "when": {
        "enum": list(WHENS),
        "default": "changed",
        "description": "Of what goes by time: send after each change, or once its time is over.",
    },
    "late": {
        "enum": list(LATE_ROWS),
        "default": "correct",
        "description": ("Of what goes by time: what a row does that comes below the watermark."),
    },
    "allowed": _ref(
        "span",
        "Of what goes by time: how far below the watermark a row is not late yet.",
        default="0s",
    ),
    "retention": _ref(
        "span",
        "Of what goes by time: how long after its end it can still change.",
        default="7d",
    ),
}
_ALIGNED: Names = {
    "zone": _text("The time zone of days, weeks and months.", examples=["Europe/Berlin"]),
    "offset": _ref("span", "How long after midnight, or 1970, windows begin.", default="0s"),
}
WINDOW: Mapping[str, Names] = {
    "tumbling": {"tumbling": _ref("span", "The size of windows side by side."), **_ALIGNED},
    "hopping": {
        "hopping": _ref("span", "The size of windows that overlap."),
        "every": _ref("span", "How far apart they begin."),
        **_ALIGNED,
    },
    "cumulative": {
        "cumulative": _ref("span", "The longest window from each start."),
        "every": _ref("span", "How far apart the ends of the windows from one start are."),
        **_ALIGNED,
    },
    "session": {
        "session": _ref("span", "The gap without a row that ends a session."),
        "max": _ref("span", "Where a longer session is cut; by default nowhere."),
    },
    "sliding": {"sliding": _ref("span", "How far before the watermark a row still counts.")},
}
RUN: Names = {
    "checkpoint": _text("The folder of Spark's checkpoints.", default=".joinery/checkpoint"),
    "dead_letters": _ref(
        "sink_map",
        "Where records that cannot be used are kept; by default files in `.joinery/dead_letters`.",
    ),
    "dead_letters_wait": _flag(
        "Wait while dead letters cannot be written, instead of ending the run."
    ),
    "trigger": _ref(
        "duration",
        "The time between the starts of batches; 0s is as fast as possible.",
        default="0s",
    ),
    "real_time": _flag("Run in [real-time mode](real_time.md): one change at a time."),
    "checkpoint_interval": _ref("duration", "How often real-time mode commits.", default="5m"),
    "max_rows_per_batch": {
        "anyOf": [{"enum": ["auto"]}, {"type": "integer", "minimum": 1}],
        "description": (
            "The most records read from a source per batch; `auto` fits it to the backlog, to the"
            " time a batch takes and to memory."
        ),
        "default": "auto",
    },
    "max_bytes_per_batch": _ref(
        "size", "About the most bytes read from a source per batch; by default unlimited."
    ),
    "spark": {"type": "object", "description": "Spark settings, passed on as they are."},
    "tombstone_retention": _ref(
        "duration",
        "How long a delete is remembered, so that an older change cannot undo it.",
        default="7d",
    ),
    "max_record_bytes": _ref("size", "A larger record becomes a dead letter.", default="8 MiB"),
    "max_document_bytes": _ref(
        "size", "A larger document becomes a dead letter.", default="16 MiB"
    ),
    "http": _text(
        "Where /metrics, /health, /ready and /wait are served.", examples=["127.0.0.1:9464"]
    ),
    "lineage": _ref("lineage", "Where OpenLineage events are sent."),
    "audit": _ref("audit", "Documents are [compared](diff.md) with their database for ever."),
    "solutions": _ref("solutions", "Options of solutions for products that give none themselves."),
}
LINEAGE: Names = {
    "url": _text("The collector.", examples=["http://host:5000"]),
    "namespace": _text("The namespace of the jobs.", default="joinery"),
    "api_key": _text("Sent as a bearer token."),
}
ID_BYTES = (4, 8)
REGISTRY: Names = {
    "url": _text("Its address; several of one registry with commas between."),
    "user": _text("The user of basic authentication."),
    "password": _text("The password of basic authentication."),
    "token": _text("The token of bearer authentication."),
    "wait": _ref("duration", "How long to wait for a registry that is down.", default="60s"),
    "id_bytes": {
        "enum": list(ID_BYTES),
        "default": 4,
        "description": "The size of the schema id in front of a message, in bytes.",
    },
}

WATERMARK = names_of(WatermarkSpec)
EXPECT = names_of(Expectations)
AUDIT = names_of(AuditSpec)
CLOCKS = names_of(ClocksSpec)
CACHE = names_of(Cache)
LIMITS = names_of(Limits)
STEP: Names = {word: step_fragment(kind) for word, kind in STEPS.items()}
STREAM = names_of(StreamSpec)
