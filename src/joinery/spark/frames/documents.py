"""Documents and streams in the middle of a Spark job: DataFrames of changes in, a DataFrame out.

Everything is planned in a clone of the user's session, with the settings that the kernel
needs. Invariant: the user's session, its settings and what is active stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, assert_never

from pyspark.sql import DataFrame, SparkSession

from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.relation import Relation
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream, product_of
from joinery.project.emit import Emit
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec
from joinery.project.window import Sliding
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.program import KernelProgram, RelationProgram
from joinery.spark.batch.query_kernel import lowered_streams
from joinery.spark.frames.frame import (
    FrameError,
    RawFrame,
    TypedFrame,
    read_frame,
    refuse_personal,
    usable,
    watch_of,
)
from joinery.spark.jvm import require_classic, strings
from joinery.spark.kernel import Kernel, open_kernel
from joinery.spark.launch import STATE_SETTINGS
from joinery.spark.reading import formats_json
from joinery.spark.session import clone_session
from joinery.spark.source.open import open_sources
from joinery.spark.source.source import sources_of
from joinery.spark.streams.kernel import open_stream_kernel

_FORMATS = ("struct", "json")


def documents(
    product: Product,
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    *,
    format: Literal["struct", "json"] = "struct",
    dead_letters: bool = False,
    run: RunSpec | None = None,
) -> DataFrame:
    """Return the documents of `product` as a DataFrame, one row per emission.

    A frame holds the changes of one relation: its columns by name, with `__op` and
    `__position` where there are some; or a source's records, with `value`. A column that a
    frame leaves out keeps its stored value. A relation without a frame is empty.

    The result belongs to a session of its own, a clone of `spark`: what is derived from it
    runs there, and `.sparkSession.streams` has the queries on it. As a stream it is
    written in output mode `update`.

    Args:
        product: The plan of the product.
        spark: The session; its settings are left alone.
        frames: By relation, all streaming or none.
        format: How `value` is told: "struct", or "json" for text.
        dead_letters: True for a column `error` and a row for each change that cannot be
            used, key and value null there. Else a batch fails at the first, while a stream
            leaves them out, warns, and observes their number in its progress.
        run: The limits of a run; by default those of a project that sets none.

    Returns:
        Columns key (the root relation's key columns), value (null for a tombstone) and
        version.

    Raises:
        FrameError: A frame does not fit its relation, or the frames do not fit together.
        SessionError: The session is of Spark Connect.
    """
    require_classic(spark)
    what = f'product "{product.name}"'
    if product.outbox:
        raise FrameError(f"{what} has an outbox, and no documents")
    refuse_personal(what, product.relations)
    for reason in _form_against(product):
        raise FrameError(f"{what} {reason}, which DataFrames cannot do yet")
    if format not in _FORMATS:
        raise FrameError(f'documents have no format "{format}"', hint='Use "struct" or "json".')
    limits = run or RunSpec()
    program = lower(
        [product, *product.reads],
        tombstone_retention_micros=limits.tombstone_retention_ms * 1000,
        max_document_bytes=limits.max_document_bytes,
    )
    _check_given(what, product.relations, frames)
    given = {
        each.name: read_frame(frames[each.name], relation, each)
        for each, relation in _pairs(program, product)
        if each.name in frames
    }
    _check_kinds(frames)
    _check_apart(given, frames, product.relations)
    clone = clone_session(spark, STATE_SETTINGS)
    kernel = open_kernel(clone, program, product.relations)
    return _chain(kernel, given, json=format == "json", dead_letters=dead_letters)


def _form_against(product: Product) -> Iterator[str]:
    """Yield what of a product, or of one that it reads, waits for a watermark.

    Watermarks are kept with the logs of a run; frames are in none.
    """
    for form in (each.form for each in (product, *product.reads)):
        match form:
            case AggregateForm():
                if isinstance(form.window, Sliding):
                    yield "has sliding windows"
                yield from _emit_against(form.emit)
            case PatternForm():
                if form.absent is not None:
                    yield "waits for what does not happen (not)"
                yield from _emit_against(form.emit)
            case FoldForm():
                if form.waits_by_watermark or form.waits_by_clock:
                    yield "waits for missing numbers (wait)"
            case DocumentForm():
                if any(each.as_of is not None for each in form.root.walk()):
                    yield "embeds versions"
                yield from _emit_against(form.emit)
            case HistoryForm() | SearchForm() | OutboxForm() | Stream():
                pass
            case _:
                assert_never(form)


def _emit_against(emit: Emit) -> Iterator[str]:
    if emit.when == "closed":
        yield "waits for a watermark (emit: when)"
    if emit.late != "correct":
        yield "leaves out late rows (emit: late)"


def _chain(
    kernel: Kernel,
    frames: Mapping[str, TypedFrame | RawFrame],
    *,
    json: bool,
    dead_letters: bool,
) -> DataFrame:
    session = kernel.session
    door = kernel.frames()
    for index, relation in enumerate(kernel.program.relations):
        match frames.get(relation.name):
            case TypedFrame(frame, absent):
                door.typed(frame._jdf, index, strings(session, absent))
            case RawFrame(frame):
                formats = formats_json(kernel.program, kernel.relations)
                sources = strings(session, [each.source for each in kernel.relations])
                topics = strings(session, [each.topic for each in kernel.relations])
                door.raw(frame._jdf, index, formats, sources, topics)
            case None:
                pass
    if dead_letters:
        return DataFrame(door.withDeadLetters(json), session)
    streaming = any(each.frame.isStreaming for each in frames.values())
    name = kernel.program.products[0].name
    return usable(door, kernel, name, streaming=streaming, json=json)


def _pairs(program: KernelProgram, product: Product) -> list[tuple[RelationProgram, Relation]]:
    by_name = {each.name: each for each in product.relations}
    return [(each, by_name[each.name]) for each in program.decoded]


def _check_given(what: str, relations: Sequence[Relation], frames: object) -> None:
    """Refuse what is not a map from relations to DataFrames."""
    known = [each.name for each in relations]
    if not isinstance(frames, Mapping):
        raise FrameError(
            f"{what} takes its frames by relation, not an object of type {type(frames).__name__}",
            hint=f'Write {{"{known[0]}": frame}}.',
        )
    detail = f"It reads {', '.join(known)}."
    for name, frame in frames.items():
        if name not in known:
            raise FrameError(f'{what} reads no relation "{name}"', detail=detail)
        if not isinstance(frame, DataFrame):
            raise FrameError(
                f'the changes of "{name}" are not a DataFrame but {type(frame).__name__}',
                hint="Pass a pyspark.sql.DataFrame.",
            )
    if not frames:
        raise FrameError(f"{what} was given no frame", detail=detail)


def _check_apart(
    read: Mapping[str, TypedFrame | RawFrame],
    frames: Mapping[str, DataFrame],
    relations: Sequence[Relation],
) -> None:
    """Refuse records of several topics, of which each relation would take all."""
    topics = {each.name: (each.source, each.topic) for each in relations}
    seen: dict[int, str] = {}
    for name in (each for each, made in read.items() if isinstance(made, RawFrame)):
        other = seen.setdefault(id(frames[name]), name)
        if topics[other] != topics[name]:
            raise FrameError(
                f'the frame of "{name}" is that of "{other}", too',
                detail="Each relation takes all records of its frame as its own.",
                hint="Give each the records of its topic: frame.where(\"topic = '…'\").",
            )


def _check_kinds(frames: Mapping[str, DataFrame]) -> None:
    streaming = [name for name, frame in frames.items() if frame.isStreaming]
    batch = [name for name in frames if name not in streaming]
    if streaming and batch:
        raise FrameError(
            "streaming frames and batch frames do not mix",
            detail=f"Streaming: {', '.join(streaming)}; batch: {', '.join(batch)}.",
            hint="Pass all of them as streams, or none.",
        )


def frame_of(
    stream: Stream, spark: SparkSession, frames: Mapping[str, DataFrame], run: RunSpec | None = None
) -> DataFrame:
    """Return a stream's events as a DataFrame of its columns, over frames of its relations.

    The result belongs to a clone of `spark`, as that of `documents` does. As a stream it is
    written in output mode `update`.

    Args:
        stream: The plan of the stream; without functions and stores.
        spark: The session; its settings are left alone.
        frames: By relation, all streaming or none; a table without one is empty.
        run: The limits of a run.

    Raises:
        FrameError: A frame does not fit, the stream needs batches, or its events wait and the
            frames are a batch.
        SessionError: The session is of Spark Connect.
    """
    require_classic(spark)
    what = f'stream "{stream.name}"'
    refuse_personal(what, stream.named_relations)
    lowered = lowered_streams([stream], run or RunSpec())
    if lowered.maps or lowered.asked:
        raise FrameError(
            f"{what} has steps outside the JVM, which need batches",
            hint="Run it into a sink, or leave its functions and stores to what follows.",
        )
    relations = {each.name: each for each in stream.named_relations}
    _check_given(what, stream.named_relations, frames)
    programs = {each.name: each for each in lowered.program.relations}
    read = {
        name: read_frame(frame, relations[name], programs[name]) for name, frame in frames.items()
    }
    _check_kinds(frames)
    _check_apart(read, frames, stream.named_relations)
    if not any(each.isStreaming for each in frames.values()):
        _check_sent_at_once(stream)
    clone = clone_session(spark, STATE_SETTINGS)
    made = open_stream_kernel(clone, lowered, tuple(relations.values()), Path())
    return _events(_through(made.kernel, read))


def source_frame_of(spec: ProjectSpec, stream: Stream, spark: SparkSession) -> DataFrame:
    """Return a stream's events as a DataFrame of its columns, over the project's sources.

    Records that cannot be used are left out, with a warning; each batch observes their number.

    Args:
        spec: The project, which names the sources.
        stream: The plan of the stream; without stores.
        spark: The session; its settings are left alone.

    Raises:
        FrameError: The stream asks a store.
        SessionError: The session is of Spark Connect.
    """
    require_classic(spark)
    refuse_personal(f'stream "{stream.name}"', stream.named_relations)
    lowered = lowered_streams([stream], spec.run)
    if lowered.asked:
        raise FrameError(
            f'stream "{stream.name}" queries a store, which needs batches',
            hint="Run it into a sink.",
        )
    clone = clone_session(spark, STATE_SETTINGS)
    made = open_stream_kernel(clone, lowered, stream.named_relations, spec.path_of("."))
    raw = open_sources(clone, spec, sources_of(spec, [product_of(stream)]))
    chain = made.chain(raw.frame, raw.topics)
    door, watch = made.kernel.streams(), watch_of(clone, stream.name)
    return _events(DataFrame(door.documents(chain._jdf, watch), clone))


def _check_sent_at_once(stream: Stream) -> None:
    """Refuse lookups whose events would wait in a batch, which has no later."""
    for each in stream.lookups:
        held = each.as_of == "event" and each.late == "hold"
        if held or each.on_miss == "wait":
            raise FrameError(
                f'stream "{stream.name}" has events wait for "{each.table.name}",'
                " for which a batch has no time",
                hint='Use late="correct".' if held else 'Use on_miss="null", or streaming frames.',
            )
    for other in stream.united:
        _check_sent_at_once(other)


def _events(documents: DataFrame) -> DataFrame:
    return documents.select("value.*")


def _through(kernel: Kernel, frames: Mapping[str, TypedFrame | RawFrame]) -> DataFrame:
    door: Any = kernel.frames()
    for index, relation in enumerate(kernel.program.relations):
        match frames.get(relation.name):
            case TypedFrame(frame, absent):
                door.typed(frame._jdf, index, strings(kernel.session, absent))
            case RawFrame(frame):
                formats = formats_json(kernel.program, kernel.relations)
                sources = strings(kernel.session, [each.source for each in kernel.relations])
                topics = strings(kernel.session, [each.topic for each in kernel.relations])
                door.raw(frame._jdf, index, formats, sources, topics)
            case None:
                pass
    streaming = any(each.frame.isStreaming for each in frames.values())
    name = kernel.program.products[0].name
    return usable(door, kernel, name, streaming=streaming, json=False)
