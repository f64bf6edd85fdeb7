"""What the run of a query tells of itself, for those who look at it from outside.

It is a small JSON file beside the checkpoint, so that looking needs no broker, no Spark, no Java.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from joinery.model.batch import Counts
from joinery.model.frontier import SourceFrontier
from joinery.model.hot_key import HotKey
from joinery.model.marks import KeptMarks
from joinery.model.moment import moment_text, seconds_of
from joinery.model.progress import Silence, Waiting
from joinery.model.typed import check_typed

RunState = Literal["running", "ended", "failed"]
"""What a run last said of itself; whether it still is there, only its lease tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBatch:
    """The last batch of a query that is through.

    Attributes:
        ended_at: Seconds since 1970.
        rows: Changes that it read.
        durations_ms: Where its time went, by step.
        sinks_ms: What each target took of it.
    """

    number: int
    ended_at: float
    seconds: float
    rows: int
    durations_ms: Counts = field(default_factory=dict)
    sinks_ms: Counts = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the batch as one JSON object."""
        return {
            "number": self.number,
            "ended_at": moment_text(self.ended_at),
            "seconds": round(self.seconds, 3),
            "rows": self.rows,
            "duration_ms": dict(self.durations_ms),
            "sinks_ms": dict(self.sinks_ms),
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> LastBatch:
        """Return the batch that `to_json` told."""
        return cls(
            number=told["number"],
            ended_at=seconds_of(told["ended_at"]),
            seconds=told["seconds"],
            rows=told["rows"],
            durations_ms=told["duration_ms"],
            sinks_ms=told.get("sinks_ms", {}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductTotals:
    """What a run did for one product or stream since it began.

    Attributes:
        relations: What it is made of.
        sources: What those are read from.
        targets: Where its documents go.
        documents: How many were sent.
        tombstones: How many were taken back.
        per_second: Of both, in the last minute before the file was written.
        age_ms: How old the changes of that minute were when their documents were published, on
            average; None where they do not tell when they were committed.
        dead: Its dead letters, and those of its relations.
        counters: What else was counted, such as `late` and `expression_errors`; `lost` are records
            of its relations.
        cost_us: What tasks took for its nodes, and for its part of those that products share.
        hot_keys: Those with much of their node's messages in the last batches, the most first.
        held_by: What may hold back documents of what was read: `settle`, `ready` or `spool`; empty
            where nothing does.
    """

    relations: tuple[str, ...]
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    documents: int = 0
    tombstones: int = 0
    per_second: float = 0.0
    age_ms: int | None = None
    dead: int = 0
    counters: Counts = field(default_factory=dict)
    cost_us: int = 0
    hot_keys: tuple[HotKey, ...] = ()
    held_by: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the totals as one JSON object."""
        return {
            "relations": list(self.relations),
            "sources": list(self.sources),
            "targets": list(self.targets),
            "documents": self.documents,
            "tombstones": self.tombstones,
            "per_second": round(self.per_second, 2),
            "age_ms": self.age_ms,
            "dead": self.dead,
            "counters": dict(self.counters),
            "cost_us": self.cost_us,
            "hot_keys": [each.to_json() for each in self.hot_keys],
            "held_by": self.held_by,
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> ProductTotals:
        """Return the totals that `to_json` told."""
        lists = {name: tuple(told.get(name, ())) for name in ("relations", "sources", "targets")}
        hot_keys = tuple(map(HotKey.of_json, told.get("hot_keys", ())))
        return cls(**{**told, **lists, "hot_keys": hot_keys})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatus:
    """The run of one query, as it stood when it last wrote.

    Attributes:
        state: What the run said of itself.
        why: Why it failed.
        code: Of the error that it failed with.
        hint: What to do about that.
        began_at: When the run began, in seconds since 1970.
        written_at: Likewise.
        paused: Whether it stands still because somebody paused it.
        live: Whether it runs in real time, which takes each change as it comes.
        caught_up: Whether nothing was left to read, as far as can be told.
        caught_up_at: When nothing was, last; None where the run has not come so far yet.
        batch: The last batch that is through; None before the first.
        batches: The last few, the newest first.
        rows_left: By relation, the records still to read, where the log counts them.
        bytes_left: By relation, the bytes of files still to read.
        state_bytes: Join state on disk; None where nobody can tell.
        products: By name.
        waiting: What is waited for.
        warnings: What someone should look at, each as one line.
        watermarks: By relation with one, how far its event times had come.
        building: The products that joined it and that its first batch is building.
        marks: Earlier batches whose state is kept; None where there are none.
        frontiers: Up to where everything of each of its sources is applied and sent.
    """

    query: str
    state: RunState
    began_at: float
    written_at: float
    why: str = ""
    code: str = ""
    hint: str = ""
    paused: bool = False
    live: bool = False
    caught_up: bool = False
    caught_up_at: float | None = None
    batch: LastBatch | None = None
    batches: tuple[LastBatch, ...] = ()
    rows_left: Counts = field(default_factory=dict)
    bytes_left: Counts = field(default_factory=dict)
    state_bytes: int | None = None
    products: Mapping[str, ProductTotals] = field(default_factory=dict)
    waiting: tuple[Waiting, ...] = ()
    silences: tuple[Silence, ...] = ()
    warnings: tuple[str, ...] = ()
    watermarks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    building: tuple[str, ...] = ()
    marks: KeptMarks | None = None
    frontiers: tuple[SourceFrontier, ...] = ()

    def frontiers_of(self, product: ProductTotals) -> tuple[SourceFrontier, ...]:
        """Return those of a product's sources, with what it reads of them.

        A batch is of all products of a query, so none has come further than another.
        """
        mine = (each for each in self.frontiers if each.source in product.sources)
        return tuple(each.of(product.relations) for each in mine)

    def to_json(self) -> dict[str, object]:
        """Return the status as one JSON object."""
        return {
            "query": self.query,
            "state": self.state,
            "why": self.why,
            "code": self.code,
            "hint": self.hint,
            "began_at": moment_text(self.began_at),
            "written_at": moment_text(self.written_at),
            "paused": self.paused,
            "live": self.live,
            "caught_up": self.caught_up,
            "caught_up_at": None if self.caught_up_at is None else moment_text(self.caught_up_at),
            "batch": None if self.batch is None else self.batch.to_json(),
            "batches": [each.to_json() for each in self.batches],
            "rows_left": dict(self.rows_left),
            "bytes_left": dict(self.bytes_left),
            "state_bytes": self.state_bytes,
            "products": {name: each.to_json() for name, each in self.products.items()},
            "waiting": [asdict(each) for each in self.waiting],
            "silences": [asdict(each) for each in self.silences],
            "warnings": list(self.warnings),
            "watermarks": dict(self.watermarks),
            "building": list(self.building),
            "marks": None if self.marks is None else self.marks.to_json(),
            "frontiers": [each.to_json() for each in self.frontiers],
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> QueryStatus:
        """Return the status that `to_json` told.

        Raises:
            KeyError: It is of another version of Joinery.
            TypeError: Likewise.
        """
        batch, caught_up_at, marks = told["batch"], told["caught_up_at"], told.get("marks")
        found = cls(
            query=told["query"],
            state=cast(RunState, told["state"]),
            why=told["why"],
            code=told["code"],
            hint=told.get("hint", ""),
            began_at=seconds_of(told["began_at"]),
            written_at=seconds_of(told["written_at"]),
            paused=told.get("paused", False),
            live=told.get("live", False),
            caught_up=told["caught_up"],
            caught_up_at=None if caught_up_at is None else seconds_of(caught_up_at),
            batch=None if batch is None else LastBatch.of_json(batch),
            batches=tuple(map(LastBatch.of_json, told.get("batches", ()))),
            rows_left=told["rows_left"],
            bytes_left=told["bytes_left"],
            state_bytes=told["state_bytes"],
            products={name: ProductTotals.of_json(each) for name, each in told["products"].items()},
            waiting=tuple(Waiting(**each) for each in told["waiting"]),
            silences=tuple(Silence(**each) for each in told.get("silences", ())),
            warnings=tuple(told["warnings"]),
            watermarks=told["watermarks"],
            building=tuple(told.get("building", ())),
            marks=None if marks is None else KeptMarks.of_json(marks),
            frontiers=tuple(map(SourceFrontier.of_json, told.get("frontiers", ()))),
        )
        check_typed(found, cls)
        return found
