"""How a project runs: the keys of `run`, each declared once.

Problems with most of them name the key alone, since no other map has a key of the name; those
with what others have, too, such as `spark`, name `run`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from joinery.project.audit import AuditSpec
from joinery.project.kind import Options, SinkSpec, read_sink, read_solutions, sink_data
from joinery.project.kinds import SINKS
from joinery.project.marks import MarksSpec
from joinery.project.option import check_path
from joinery.project.part import Part, key, nested, part, read_part
from joinery.project.reader import Reader
from joinery.project.tree import MapTree, Scalar, Tree
from joinery.project.value import DURATION, FLAG, PLAIN, SIZE, TEXT, At, Pairs, Value, options_data

_SHORTEST_INTERVAL_MS = 5000
_CHECKPOINT = ".joinery/checkpoint"
_STORES = re.compile(
    r"s3a://[a-z0-9][a-z0-9.-]+(/[^/]+)*/?|hdfs://[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]+)?(/[^/]+)+/?"
)
_FORMS = {"s3a": "s3a://bucket/folder", "hdfs": "hdfs://name:8020/folder"}
_WEEK_MS = 7 * 24 * 60 * 60 * 1000


@part
class LineageSpec(Part):
    """Where OpenLineage events are sent."""

    url: str = key(
        TEXT.told(examples=["http://host:5000"]),
        "The collector.",
        hint="Write {url: http://host:5000}.",
    )
    namespace: str = key(TEXT, "The namespace of the jobs.", default="joinery")
    api_key: str | None = key(TEXT, "Sent as a bearer token.", default=None, secret=True)


def _alone(value: Value) -> Value:
    """Return a sort whose problems name the key alone, without what has it."""
    return replace(value, read=lambda at, tree: value.read(replace(at, what=""), tree))


def _read_checkpoint(at: At, tree: Tree) -> str:
    folder = at.reader.text(tree, at.part)
    if folder and not _STORES.fullmatch(folder):
        scheme, is_address, _ = folder.partition("://")
        if is_address and (form := _FORMS.get(scheme)):
            message = f'{at.part} cannot be "{folder}"'
            at.reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=f"Write {form}.")
        else:
            check_path(at.reader, tree, at.part)
    return folder or _CHECKPOINT


def _read_dead_letters(at: At, tree: Tree) -> SinkSpec:
    sink = read_sink(at.reader, tree, at.part, at.path)
    for name in SINKS.beside.keys() & dict(sink.options).keys():
        message = f'{at.part} cannot have "{name}"'
        hint = "Dead letters are kept with their batch."
        at.reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    return sink


def _read_interval(at: At, tree: Tree) -> int:
    interval = at.reader.duration_ms(tree, at.part)
    if isinstance(tree, Scalar) and interval < _SHORTEST_INTERVAL_MS:
        message = f'{at.part} cannot be "{tree.text}"'
        hint = "Spark needs 5s or more; 5m is the default."
        at.reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    return interval


def _read_rows(at: At, tree: Tree) -> int | None:
    if isinstance(tree, Scalar) and tree.value == "auto":
        return None
    if isinstance(tree, Scalar) and isinstance(tree.value, int):
        return at.reader.count(tree, at.part)
    at.reader.shape(tree, at.part, "auto or a whole number from 1")
    return None


def _read_address(at: At, tree: Tree) -> str | None:
    if isinstance(tree, Scalar) and tree.text.isdigit():
        at.reader.shape(tree, at.part, "host:port", f"Write 127.0.0.1:{tree.text}.")
        return None
    text = at.reader.text(tree, at.part)
    host, _, port = text.rpartition(":")
    if text and not (host and port.isdecimal()):
        at.reader.shape(tree, at.part, "host:port", "Write 127.0.0.1:9464.")
    return text


def _read_lineage(at: At, tree: Tree) -> LineageSpec | None:
    if isinstance(tree, MapTree):
        return read_part(at.reader, tree, at.part, LineageSpec)
    at.reader.entries(tree, at.part)
    return None


_CHECKPOINTS = replace(TEXT, read=_read_checkpoint)
_DEAD_LETTERS = Value({"$ref": "#/$defs/sink_map"}, _read_dead_letters, sink_data)
_INTERVAL = replace(DURATION, read=_read_interval)
_ROWS = Value(
    {"anyOf": [{"enum": ["auto"]}, {"type": "integer", "minimum": 1}], "default": "auto"},
    _read_rows,
)
_ADDRESS = replace(TEXT, read=_read_address).told(examples=["127.0.0.1:9464"])
_LINEAGE = replace(nested(LineageSpec, "lineage"), read=_read_lineage)
_SOLUTIONS = Value(
    {"$ref": "#/$defs/solutions"},
    lambda at, tree: read_solutions(at.reader, tree, at.part),
    lambda solutions: {name: options_data(each) for name, each in solutions},
)


@part
class RunSpec(Part):
    """How the project runs.

    Attributes:
        trigger_ms: The time between batches; 0 is as fast as possible.
        checkpoint_interval_ms: How often real-time mode commits what it did.
        max_rows_per_batch: Of one source; 0 sets no bound, None (`auto`) fits it to the backlog.
        solutions: Options by solution, for products that give none themselves.
        audit: How documents are compared with their database while it runs; None where not.
        marks: When the state of a batch is kept for longer; None where no run does so.
    """

    checkpoint: str = key(
        _CHECKPOINTS,
        "The folder of Spark's checkpoints, or its address in an"
        " [object store](cluster.md#object-stores), `s3a://bucket/folder`, or in"
        " [HDFS](cluster.md#hdfs), `hdfs://name:8020/folder`.",
        default=_CHECKPOINT,
    )
    dead_letters: SinkSpec = key(
        _alone(_DEAD_LETTERS),
        "Where records that cannot be used are kept; by default files in `.joinery/dead_letters`,"
        " or beside a checkpoint in an object store or HDFS.",
        default=SinkSpec("files", (("path", ".joinery/dead_letters"),)),
        shown=False,
    )
    dead_letters_wait: bool = key(
        _alone(FLAG),
        "Wait while dead letters cannot be written, instead of ending the run.",
        default=False,
    )
    trigger_ms: int = key(
        _alone(DURATION),
        "The time between the starts of batches; 0s is as fast as possible.",
        default=0,
    )
    real_time: bool = key(
        _alone(FLAG),
        "Run in [real-time mode](real_time.md): one change at a time.",
        default=False,
    )
    checkpoint_interval_ms: int = key(
        _alone(_INTERVAL), "How often real-time mode commits.", default=5 * 60 * 1000
    )
    max_rows_per_batch: int | None = key(
        _alone(_ROWS),
        "The most records read from a source per batch; `auto` fits it to the backlog, to the"
        " time a batch takes and to memory.",
        default=None,
    )
    max_bytes_per_batch: int | None = key(
        _alone(SIZE),
        "About the most bytes read from a source per batch; by default unlimited.",
        default=None,
    )
    spark: Pairs = key(PLAIN, "Spark settings, passed on as they are.", default=())
    tombstone_retention_ms: int = key(
        _alone(DURATION),
        "How long a delete is remembered, so that an older change cannot undo it.",
        default=_WEEK_MS,
    )
    max_record_bytes: int = key(
        _alone(SIZE), "A larger record becomes a dead letter.", default=8 * 1024 * 1024
    )
    max_document_bytes: int = key(
        _alone(SIZE), "A larger document becomes a dead letter.", default=16 * 1024 * 1024
    )
    http: str | None = key(
        _ADDRESS, "Where /metrics, /health, /ready and /wait are served.", default=None
    )
    lineage: LineageSpec | None = key(
        _LINEAGE, "Where OpenLineage events are sent.", default=None, secret=True
    )
    audit: AuditSpec | None = key(
        nested(AuditSpec, "audit"),
        "Documents are [compared](diff.md) with their database continuously.",
        default=None,
        secret=True,
    )
    marks: MarksSpec | None = key(
        nested(MarksSpec, "marks"),
        "The state of a batch is [kept](why.md#keeping-the-state-of-a-batch) from time to time.",
        default=None,
    )
    solutions: tuple[tuple[str, Options], ...] = key(
        _SOLUTIONS,
        "Options of solutions for products that give none themselves.",
        default=(),
        secret=True,
    )


def read_run(reader: Reader, tree: Tree) -> RunSpec:
    """Return how a project runs, from `run`."""
    return read_part(reader, tree, '"run"', RunSpec, ("run",))
