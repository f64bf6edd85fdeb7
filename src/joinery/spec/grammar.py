"""The names a project file may use, with what each holds, as JSON Schema fragments.

Invariant: the reader takes its known names from here, so it and the shipped schema agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fragment = Mapping[str, Any]
Names = Mapping[str, Fragment]

TIME_UNITS = ("micros", "millis", "nanos")
IMAGES = ("full", "key")
OVERFLOWS = ("count", "fail")
SHAPES = ("list", "map")
MODES = ("jsonb", "columns")
SQLITE_MODES = ("document", "columns")
FORMATS = ("debezium-json", "debezium-avro", "json", "avro")
SOLUTIONS = ("spark-state", "rdbms-trigger", "rdbms-store", "kv", "dynamodb", "auto")
KEY_VALUE_STORES = ("rocksdb", "redis", "dynamodb", "memory")
SOURCE_KINDS = ("files", "kafka")
STARTS = ("earliest", "latest")
SINK_KINDS = (
    "files",
    "kafka",
    "postgres",
    "sqlite",
    "opensearch",
    "redis",
    "foreach",
    "console",
)
RESERVED_PROJECT = ("windows", "functions")


def _text(description: str, **more: Any) -> Fragment:
    return {"type": "string", "description": description, **more}


def _flag(description: str, *, default: bool = False) -> Fragment:
    return {"type": "boolean", "default": default, "description": description}


def _count(description: str, **more: Any) -> Fragment:
    return {"type": "integer", "minimum": 1, "description": description, **more}


def _names(description: str) -> Fragment:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _anything(description: str) -> Fragment:
    """Return a map of any depth, which is not looked into."""
    return {"anyOf": [{"type": "object"}], "description": description}


def _ref(name: str, description: str = "") -> Fragment:
    reference = {"$ref": f"#/$defs/{name}"}
    return {**reference, "description": description} if description else reference


def _map(name: str, description: str) -> Fragment:
    return {"type": "object", "additionalProperties": _ref(name), "description": description}


PROJECT: Names = {
    "joinery": {"const": 1, "description": "The version of this format."},
    "name": _text("The project's name."),
    "sources": _map("source", "Where changes come from, by name."),
    "defaults": _ref("defaults", "What relations take where they do not say it themselves."),
    "relations": _map("relation", "The captured tables, by name."),
    "products": _map("product", "The documents to keep, by name."),
    "streams": _map("stream", "Events to enrich and send on, by name."),
    "sinks": _map("sink_map", "Sinks that products and streams name."),
    "run": _ref("run", "How the project runs."),
}
DEFAULTS: Names = {
    "source": _text("The source of relations that name none."),
    "format": _text("The format of relations that name none.", examples=list(FORMATS)),
}
RELATION: Names = {
    "topic": _text("The topic; by default the relation's name."),
    "source": _text("The source, by name."),
    "format": _text("How a message tells a change.", examples=list(FORMATS)),
    "key": _names("The primary key's columns, in order."),
    "fields": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "The columns and their Spark DDL types.",
    },
    "derive": _ref("expressions", "Columns computed from the row."),
    "position": _text("The column that orders a key's changes; by default the format's own."),
    "time_unit": {"enum": list(TIME_UNITS), "description": "The unit of numeric timestamps."},
    "images": {"enum": list(IMAGES), "description": "What before-images hold: a hint."},
    "unique": {
        "type": "array",
        "items": {"type": "array", "items": {"type": "string"}},
        "description": "Column sets that no two rows share.",
    },
    "where": _text("Rows outside this condition do not exist for products."),
    "append": _flag("A log of events, whose rows never change; its key may be left out."),
    "time": _text("The column of an event's time, or from which a version is valid."),
    "watermark": _ref("watermark", "How far its times may be behind one another."),
}
_SHOWN: Names = {
    "fields": _ref("fields", "What of the row is shown; all columns where left out."),
    "values": _ref("expressions", "Fields computed from fields and embeds."),
    "where": _text("Only rows for which this is true."),
    "embed": _map("embed", "Related rows, by the name they get."),
}
EMBED: Names = {
    "one": _text("A relation, embedded as one object or null."),
    "many": _text("A relation, embedded as a list."),
    "on": _ref("on", "Child column to parent column; a list where the names agree."),
    **_SHOWN,
    "order": _names("Expressions, each with - in front for descending."),
    "limit": _count("How many are kept."),
    "overflow": {"enum": list(OVERFLOWS), "description": "What happens above the limit."},
    "hidden": _flag("Usable in expressions, left out of the document."),
    "as": {"enum": list(SHAPES), "description": "A list, or a map by the child's key."},
}
OUTBOX: Names = {
    "relation": _text("The relation whose inserted rows are events."),
    "key": _text("The column with the event's key.", default="aggregateid"),
    "value": _text("The column with the event itself.", default="payload"),
    "headers": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Names of headers and their columns.",
    },
}
PRODUCT: Names = {
    "root": _text("The relation with one row a document."),
    "outbox": {
        "description": "Instead of root: a relation whose inserted rows are sent as events.",
        "anyOf": [
            _text("The relation."),
            {"type": "object", "additionalProperties": False, "properties": OUTBOX},
        ],
    },
    **_SHOWN,
    "sink": _ref("sinks", "Where documents go."),
    "group": _text("Products of one group share a query."),
    "solution": _ref("solution", "How join state is kept; spark-state where left out."),
    "emit": _ref("emit", "When documents are sent."),
    "ready": _names("Relations to read to their end before anything is sent."),
}
EMIT: Names = {"settle": _ref("duration", "Wait until a key is quiet for so long.")}
RUN: Names = {
    "checkpoint": _text("The folder of Spark's checkpoints.", default=".joinery/checkpoint"),
    "dead_letters": _ref("sink_map", "Where records go that cannot be used."),
    "dead_letters_wait": _flag("Wait while dead letters cannot be kept, instead of ending."),
    "trigger": _ref("duration", "The time between batches; 0s is as fast as possible."),
    "real_time": _flag("Spark's real-time mode."),
    "checkpoint_interval": _ref("duration", "How often real-time mode commits; 5m by default."),
    "max_rows_per_batch": _count("At most so many changes of a source a batch.", default=200_000),
    "max_bytes_per_batch": _ref("size", "At most about so many bytes of a source a batch."),
    "spark": {"type": "object", "description": "Any Spark setting."},
    "tombstone_retention": _ref("duration", "How long a delete is remembered."),
    "max_record_bytes": _ref("size", "A larger record is a dead letter."),
    "max_document_bytes": _ref("size", "A larger document is a dead letter."),
    "http": _text("host:port of /metrics, /health and /ready; none where left out."),
    "lineage": _ref("lineage", "Where OpenLineage events go."),
    "solutions": _ref("solutions", "Options of solutions, where a product gives none itself."),
}
LINEAGE: Names = {
    "url": _text("The collector, such as http://host:5000."),
    "namespace": _text("The jobs' namespace; by default joinery."),
    "api_key": _text("Sent as a bearer token."),
}
_WORD_OR_OFFSET: Fragment = {
    "anyOf": [{"enum": list(STARTS)}, {"type": "integer", "minimum": 0}],
}
ID_BYTES = (4, 8)
REGISTRY: Names = {
    "url": _text("Its address, with commas between several of one registry."),
    "user": _text("For basic authentication."),
    "password": _text("For basic authentication."),
    "token": _text("For bearer authentication."),
    "wait": _ref("duration", "How long a registry that is down is waited for; 60s."),
    "id_bytes": {
        "enum": list(ID_BYTES),
        "default": 4,
        "description": "The bytes of a schema's id in front of a message.",
    },
}
_PROPERTIES: Fragment = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
    "description": "Properties of Kafka's client, such as security.protocol.",
}
_REGISTRY_MAP: Fragment = {
    "type": "object",
    "additionalProperties": False,
    "properties": REGISTRY,
}
RECORD_FORMATS = ("json", "avro")
SOURCE_OPTIONS: Mapping[str, Names] = {
    "files": {"path": _text("A folder with one folder a topic.")},
    "kafka": {
        "bootstrap": _text("The brokers to begin with: host:port, with commas between."),
        "properties": _PROPERTIES,
        "starting": {
            "description": "Where reading begins on a fresh checkpoint; earliest by default.",
            "anyOf": [
                _text("earliest, latest, or a time in ISO 8601."),
                {
                    "type": "object",
                    "description": "Offsets by topic and partition; all others begin earliest.",
                    "additionalProperties": {
                        "anyOf": [
                            {"enum": list(STARTS)},
                            {"type": "object", "additionalProperties": _WORD_OR_OFFSET},
                        ],
                    },
                },
            ],
        },
        "group": _text("A consumer group that is told the read positions, as information."),
        "fail_on_data_loss": {
            "type": "boolean",
            "default": True,
            "description": "Fail where the log lost records that were not read yet.",
        },
        "registry": {
            "description": "The schema registry of Avro messages.",
            "anyOf": [
                _text("Its address."),
                _REGISTRY_MAP,
            ],
        },
    },
}
SPOOL: Names = {
    "spool": _flag("Keep batches on disk, and write them at the target's own pace."),
    "spool_max_bytes": _ref("size", "A full spool makes the stream wait; 1 GiB by default."),
}
_SINK_OPTIONS: Mapping[str, Names] = {
    "files": {"path": _text("The folder; each product gets one below it.")},
    "kafka": {
        "topic": _text("The topic."),
        "bootstrap": _text("The brokers to begin with; by default those of the source."),
        "properties": _PROPERTIES,
        "create": _flag("Create a missing topic, compacted.", default=True),
        "partitions": _count("Of a topic that is created; by default the brokers' own."),
        "replication": _count("Replicas of a topic that is created; by default the brokers' own."),
        "transactions": _flag("A batch is one transaction.", default=True),
        "format": {"enum": list(RECORD_FORMATS), "description": "Of keys and documents."},
        "registry": {
            "description": "The schema registry of Avro; by default that of the source.",
            "anyOf": [_text("Its address."), _REGISTRY_MAP],
        },
    },
    "postgres": {
        "url": _text("Where the database is: postgresql://user:password@host:5432/name."),
        "table": _text("The table; by default the product's name."),
        "schema": _text("The table's schema; by default the first of the search path."),
        "mode": {"enum": list(MODES), "description": "One jsonb column, or one a field."},
        "connections": _count("How many write at once; 1 keeps a batch one transaction."),
    },
    "sqlite": {
        "path": _text("The database file."),
        "table": _text("The table; by default the product's name."),
        "mode": {
            "enum": list(SQLITE_MODES),
            "description": "One column of JSON text, or one a field.",
        },
    },
    "opensearch": {
        "url": _text(
            "A node, or several with commas between; http://127.0.0.1:9200 by default.",
            pattern=r"^(https?://|(?!\w+://))[^,\s]+(,\s*(https?://|(?!\w+://))[^,\s]+)*$",
            examples=["http://host:9200"],
        ),
        "index": _text(
            "The index; by default the product's name.",
            pattern=r'^[^-_+.A-Z\\/*?"<>| ,#:][^A-Z\\/*?"<>| ,#:]{0,199}$',
            examples=["user_profile"],
        ),
        "user": _text("The user."),
        "password": _text("The password; take it from the environment."),
        "ca_certs": _text("A file of certificates to trust; by default those of the system."),
        "verify_certs": _flag("False trusts any certificate.", default=True),
        "connections": _count("So many bulk requests at once."),
        "create": _flag("Create the index, and add fields the product gains.", default=True),
        "refresh": _flag("Make each batch visible before it counts as written."),
        "nested": _flag("False maps lists of objects as objects.", default=True),
        "settings": _anything("Settings of the index, when it is created."),
        "mapping": _anything("Merged into the derived mapping."),
    },
    "redis": {
        "url": _text(
            "The server; redis://127.0.0.1:6379/0 by default.",
            pattern=r"^(rediss?|unix)://\S+$",
            examples=["redis://host:6379/0"],
        ),
        "prefix": _text("Before each key; by default the product's name."),
        "user": _text("The user; by default that of the URL."),
        "password": _text("The password; take it from the environment."),
    },
    "foreach": {
        "function": _text(
            "Module and function.",
            pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
            examples=["my_hooks:deliver"],
        ),
        "folder": _text("Where it runs; by default the project file's folder."),
        "batch": _count("The most documents of one call."),
        "timeout": _ref("duration", "A call that takes longer is a failure; 5m by default."),
    },
    "console": {},
}
SINK_OPTIONS: Mapping[str, Names] = {kind: {**own, **SPOOL} for kind, own in _SINK_OPTIONS.items()}
SINK_NEEDED: Mapping[str, tuple[str, ...]] = {
    "files": ("path",),
    "kafka": ("topic",),
    "postgres": ("url",),
    "sqlite": ("path",),
    "foreach": ("function",),
}
_DATABASE = _text(
    "Where the database is; by default an SQLite file beside the checkpoint.",
    pattern=r"^(postgres(ql)?|sqlite)://",
    examples=["postgresql://user:password@host:5432/name", "sqlite:///path/to/file"],
)
_SCHEMA = _text("The schema of the tables, in PostgreSQL; by default joinery.")
_PROCESSES = _count("How many processes make documents; by default one a processor, up to 4.")
SOLUTION_OPTIONS: Mapping[str, Names] = {
    "auto": {},
    "spark-state": {},
    "rdbms-store": {"database": _DATABASE, "schema": _SCHEMA, "processes": _PROCESSES},
    "rdbms-trigger": {
        "database": _DATABASE,
        "schema": _SCHEMA,
        "publish": {
            "enum": ["batch", "queue"],
            "description": "After each batch, or by `joinery listen` from a queue in PostgreSQL.",
        },
        "views": _anything("Views of relations: a name, or name and columns."),
        "sql": _anything("Statements of your own: documents, and affected by relation."),
    },
    "kv": {
        "store": _text("rocksdb (by default), redis, dynamodb, memory, or a package's own."),
        "url": _text("Where the store is, where it is a server."),
        "path": _text("Its folder, where it is embedded; by default beside the checkpoint."),
        "prefix": _text("Before each key, or the table's name; `joinery` by default."),
        "processes": _PROCESSES,
    },
    "dynamodb": {
        "table": _text("The table; by default joinery-<query>."),
        "endpoint": _text("Where DynamoDB is; by default the region's own."),
        "region": _text("The region; by default that of the environment."),
        "registry": _text("The database of the slot registry; by default SQLite."),
        "shards": _count("Over how many partition keys each relation is spread; 1 by default."),
        "index_lag": _count("Seconds that an index may be behind; 5 by default.", minimum=0),
    },
}
