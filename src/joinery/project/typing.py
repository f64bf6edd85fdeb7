"""What a declaration in Python may hold, for editors and type checkers.

Each map has the keys of the project file's; those that it cannot do without are required.
Invariant: the keys are those that the reader knows, which a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Required, TypedDict

Columns = Sequence[str] | Mapping[str, str]
Fields = Sequence[str | Mapping[str, str]] | Mapping[str, str]

Format = Literal["debezium-json", "debezium-avro", "json", "avro"]
TimeUnit = Literal["micros", "millis", "nanos"]
Images = Literal["full", "key"]
Overflow = Literal["count", "fail"]
Shape = Literal["list", "map"]
# How far apart times may be, such as ("0s", "30m") or ["-1h", "0s"].
Interval = tuple[str, str] | list[str]
# Or "wait:5m"; the words stand beside `str` so that an editor offers them.
OnMiss = Literal["null", "drop", "dead_letter"] | str  # noqa: PYI051


class DefaultsMap(TypedDict, total=False):
    """What relations take that do not say it themselves."""

    source: str
    format: Format


class WatermarkMap(TypedDict, total=False):
    """How late a row may be in event time; durations such as `1m`."""

    delay: str
    idle: str
    ahead: str


class PersonalMap(TypedDict, total=False):
    """Which columns are a person's own."""

    subject: Required[str]
    fields: Required[Sequence[str]]
    join: Sequence[str]


class ClocksMap(TypedDict, total=False):
    """Three clocks that tell an event's time: columns; `tolerance` and `max` are durations."""

    event: Required[str]
    sent: Required[str]
    received: Required[str]
    tolerance: str
    max: str
    suspect: Literal["received", "dead_letter"]


class CacheMap(TypedDict, total=False):
    """Which answers of a store may be used again; durations such as `60s`."""

    size: int
    ttl: str
    negative: str


class LimitsMap(TypedDict, total=False):
    """How fast a store is queried at most; `warm_up` is a duration such as `30s`."""

    concurrency: int
    per_second: float
    batch: int
    warm_up: str


class EmitMap(TypedDict, total=False):
    """When documents are sent; durations such as `2s`; all but `settle` go by time."""

    settle: str
    when: Literal["changed", "closed"]
    late: Literal["correct", "dead_letter", "drop"]
    allowed: str
    retention: str


class ExpectMap(TypedDict, total=False):
    """How a product is expected to be; `fresh` and `audited` are durations such as `30s`."""

    fresh: str
    behind: int
    dead: int
    audited: str


class WindowMap(TypedDict, total=False):
    """One window of time: one of the first five keys; durations such as `1h` or `1 month`."""

    tumbling: str
    hopping: str
    cumulative: str
    session: str
    sliding: str
    every: str
    max: str
    zone: str
    offset: str


class HotMap(TypedDict):
    """From when on an embed through a relation leaves rows out."""

    above: int


class RegistryMap(TypedDict, total=False):
    """A schema registry."""

    url: str
    user: str
    password: str
    token: str
    wait: str
    id_bytes: Literal[4, 8]


class FilesSourceMap(TypedDict, total=False):
    """Change files below a folder, a folder per topic."""

    path: Required[str | Path]


class KafkaSourceMap(TypedDict, total=False):
    """Topics of a Kafka cluster."""

    bootstrap: Required[str]
    properties: Mapping[str, str | int | float | bool]
    starting: str | Mapping[str, str | Mapping[str, str | int]]
    group: str
    fail_on_data_loss: bool
    heartbeat: str
    silent_after: str
    connector: str
    connect_offsets: str
    registry: str | RegistryMap


class CaptureSpoolMap(TypedDict, total=False):
    """Where the changes of a database are kept."""

    path: str | Path
    keep: str


class WalLimitMap(TypedDict, total=False):
    """How much of its log a database may keep."""

    size: Required[str | int]
    then: Literal["warn", "stop", "drop"]


class PostgresSourceMap(TypedDict, total=False):
    """Tables of a PostgreSQL database, by its own log."""

    url: Required[str]
    tables: Sequence[str]
    slot: str
    spool: CaptureSpoolMap
    max_wal: str | int | WalLimitMap


class MysqlSourceMap(TypedDict, total=False):
    """Tables of a database of MySQL or MariaDB, by its own log."""

    url: Required[str]
    tables: Sequence[str]
    server_id: int
    spool: CaptureSpoolMap


class SourceMap(TypedDict, total=False):
    """One kind of source with its options."""

    files: FilesSourceMap
    kafka: KafkaSourceMap
    postgres: PostgresSourceMap
    mysql: MysqlSourceMap


class _Delivery(TypedDict, total=False):
    parallel: Literal["tasks", "driver"]
    reveal: bool
    spool: bool
    spool_max_bytes: str | int


class FilesSinkMap(_Delivery, total=False):
    """Files of JSON lines in a folder."""

    path: Required[str | Path]


class KafkaSinkMap(_Delivery, total=False):
    """A topic of a Kafka cluster."""

    topic: Required[str]
    bootstrap: str
    properties: Mapping[str, str | int | float | bool]
    create: bool
    partitions: int
    replication: int
    transactions: bool
    format: Literal["json", "avro"]
    registry: str | RegistryMap


class PostgresSinkMap(_Delivery, total=False):
    """A table of PostgreSQL."""

    url: Required[str]
    table: str
    schema: str
    mode: Literal["jsonb", "columns"]
    connections: int


class SqliteSinkMap(_Delivery, total=False):
    """A table in a file of SQLite."""

    path: Required[str | Path]
    table: str
    mode: Literal["document", "columns"]


class OpensearchSinkMap(_Delivery, total=False):
    """An index of OpenSearch."""

    url: str
    index: str
    user: str
    password: str
    ca_certs: str
    verify_certs: bool
    client_cert: str
    client_key: str
    connections: int
    create: bool
    refresh: bool
    nested: bool
    settings: Mapping[str, object]
    mapping: Mapping[str, object]


class RedisSinkMap(_Delivery, total=False):
    """Keys of Redis."""

    url: str
    prefix: str
    user: str
    password: str


class ForeachSinkMap(_Delivery, total=False):
    """A function of yours, or its `module:name`, called with each batch."""

    function: Required[str | Callable[..., Any]]
    folder: str | Path
    batch: int
    timeout: str
    remember: str | Path


class ConsoleSinkMap(_Delivery, total=False):
    """The terminal."""


class SinkMap(TypedDict, total=False):
    """One kind of sink with its options."""

    files: FilesSinkMap
    kafka: KafkaSinkMap
    postgres: PostgresSinkMap
    sqlite: SqliteSinkMap
    opensearch: OpensearchSinkMap
    redis: RedisSinkMap
    foreach: ForeachSinkMap
    console: ConsoleSinkMap


class SqliteStoreMap(TypedDict, total=False):
    """A table in a file of SQLite, to look up."""

    path: Required[str | Path]
    table: str


class PostgresStoreMap(TypedDict, total=False):
    """A table or view of PostgreSQL, to look up."""

    url: Required[str]
    table: str
    schema: str


class RedisStoreMap(TypedDict, total=False):
    """Keys of Redis, to look up."""

    url: str
    prefix: str
    user: str
    password: str


class DynamodbStoreMap(TypedDict, total=False):
    """A table of DynamoDB, to look up."""

    table: str
    region: str
    endpoint: str
    consistent: bool


class HttpStoreMap(TypedDict, total=False):
    """A service that answers over HTTP; `timeout_s` in seconds."""

    url: str
    each: str
    headers: Mapping[str, str]
    timeout_s: int


class FunctionStoreMap(TypedDict, total=False):
    """A function, `module:name`, from keys to rows by key."""

    function: Required[str]


class StoreMap(TypedDict, total=False):
    """One kind of lookup store with its options."""

    sqlite: SqliteStoreMap
    postgres: PostgresStoreMap
    redis: RedisStoreMap
    dynamodb: DynamodbStoreMap
    http: HttpStoreMap
    function: FunctionStoreMap


class _Processes(TypedDict, total=False):
    processes: int


class RdbmsStoreMap(_Processes, total=False):
    """Rows in tables of PostgreSQL or SQLite."""

    database: str
    schema: str


class RdbmsTriggerMap(TypedDict, total=False):
    """The same tables, with documents made by SQL."""

    database: str
    schema: str
    publish: Literal["batch", "queue"]
    views: Mapping[str, object]
    sql: Mapping[str, object]


class KvMap(_Processes, total=False):
    """Rows in a key-value store; which options it takes depends on `store`."""

    store: Literal["rocksdb", "redis", "dynamodb", "memory"]
    url: str
    path: str | Path
    prefix: str


class DynamodbMap(TypedDict, total=False):
    """Rows in one table of DynamoDB."""

    table: str
    endpoint: str
    region: str
    registry: str
    shards: int
    index_lag: int


class NoOptionsMap(TypedDict, total=False):
    """A solution without options."""


SolutionMap = TypedDict(
    "SolutionMap",
    {
        "spark-state": NoOptionsMap,
        "rdbms-trigger": RdbmsTriggerMap,
        "rdbms-store": RdbmsStoreMap,
        "kv": KvMap,
        "dynamodb": DynamodbMap,
        "auto": NoOptionsMap,
    },
    total=False,
)


class LineageMap(TypedDict, total=False):
    """Where OpenLineage events are sent."""

    url: Required[str]
    namespace: str
    api_key: str


class SqliteVaultMap(TypedDict, total=False):
    """Keys in a file of SQLite."""

    path: Required[str | Path]


class PostgresVaultMap(TypedDict, total=False):
    """Keys in tables of PostgreSQL."""

    url: Required[str]
    schema: str


class VaultMap(TypedDict, total=False):
    """Where the keys of personal columns are: one kind, and the secret that wraps them."""

    master: Required[str]
    sqlite: SqliteVaultMap
    postgres: PostgresVaultMap


class AuditMap(TypedDict, total=False):
    """How documents are compared forever; `rate` is a text such as `100/s`."""

    database: str
    rate: str


class MarksMap(TypedDict, total=False):
    """How often a run keeps the state of a batch; `every` is a duration such as `1h`."""

    every: str
    keep: int


class RunMap(TypedDict, total=False):
    """How a project runs; durations such as `5m`, sizes such as `8 MiB`."""

    checkpoint: str | Path
    dead_letters: SinkMap
    dead_letters_wait: bool
    trigger: str
    real_time: bool
    checkpoint_interval: str
    max_rows_per_batch: int | Literal["auto"]
    max_bytes_per_batch: str | int
    spark: Mapping[str, str | int | float | bool]
    tombstone_retention: str
    max_record_bytes: str | int
    max_document_bytes: str | int
    http: str
    lineage: LineageMap
    audit: AuditMap
    marks: MarksMap
    solutions: SolutionMap | Mapping[str, Mapping[str, object]]


# A kind that a package adds is a map as well; its options are checked when it is opened.
Source = SourceMap | Mapping[str, Mapping[str, object]]
Sink = SinkMap | Mapping[str, object]
Sinks = str | Sink | Sequence[str | Sink]
Store = StoreMap | Mapping[str, Mapping[str, object]]
Solution = str | SolutionMap | Mapping[str, Mapping[str, object]]
