"""How the products of a project stand, read from the small files that its runs write.

What a run says of itself is taken as it says it; whether it still is there, its lease tells.

Invariant: looking changes nothing, and asks no broker, no store and no sink.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, get_args

from joinery.delivery.action_log import LoggedAction
from joinery.delivery.control import Action, ControlLog, paused_by
from joinery.delivery.lease_file import Holder
from joinery.delivery.query_paths import QueryPaths
from joinery.model.frontier import SourceFrontier
from joinery.model.hot_key import HotKey
from joinery.model.marks import KeptMarks
from joinery.model.moment import moment_text
from joinery.model.progress import Silence, Waiting
from joinery.model.status import ProductTotals, QueryStatus
from joinery.observe.actions import actions_about, logged_actions
from joinery.observe.audit_note import AuditNote, audited_at
from joinery.observe.behind import BEHIND_S, since, waits_for, why_behind
from joinery.observe.kept_letters import belongs, kept_letters
from joinery.observe.outline import Outline
from joinery.observe.read_status import not_read, read_status
from joinery.observe.rebuilding import Rebuilding, goes_on
from joinery.observe.status_text import status_lines
from joinery.place.full_disk import full_disk
from joinery.place.place import Place
from joinery.project.expect import Expectations
from joinery.project.quantity import duration_text

if TYPE_CHECKING:
    from joinery.project.product import ProjectSpec

State = Literal[
    "failed",
    "gone",
    "unknown",
    "waiting",
    "silent",
    "behind",
    "paused",
    "starting",
    "live",
    "ended",
    "never run",
]
"""How a product is doing, the most urgent first."""

STATES: tuple[State, ...] = get_args(State)
_URGENT: tuple[State, ...] = ("failed", "gone", "unknown", "waiting", "silent")
_FRESH_MS = 30_000
_RECENT_S = 60.0
_DONE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductStatus:
    """How one product or stream stands.

    Attributes:
        query: The query that runs it.
        because: Why, in words; empty while it is live, and nobody paused it.
        hint: What to do about that, where its run failed and said so.
        rebuild: That a rebuild of it is going on; empty where none is.
        fresh_s: How old what it does not show yet is: while it keeps up, the mean age of changes
            when their documents were published, in the last minute; else the time since it last
            had all that its sources had. None where nobody can tell.
        rows_left: Records still to read, where the log counts them.
        bytes_left: Bytes of change files still to read.
        per_second: Documents and tombstones, in the last minute.
        documents: Documents that the run has sent.
        tombstones: Documents that it took back.
        dead: Dead letters that are open; of a topic of dead letters, or of more than 32 MB of
            them, those that the run has counted.
        state_bytes: Join state of its query on disk.
        cost: Its part of what all products of the project took since their runs began, from 0
            to 1; None where nothing was counted of it.
        audited_s: How long ago all its documents were compared with what they should be; None
            where they never were.
        differ: How many of them were found wrong then, and were not repaired.
        hot_keys: Keys with much of their node's messages in the last batches, the most first.
        marks: Earlier batches of its query whose state is kept; None where there are none.
        frontiers: By each of its sources, up to where everything is applied and, unless something
            holds its documents back, sent.
        held_by: What may do that: `settle`, `ready` or `spool`; empty where nothing does.
        missed: What it was expected to be and is not, each in words.
        actions: What people did last to it, its query and what it reads, the newest first.
    """

    product: str
    query: str
    state: State
    because: str = ""
    hint: str = ""
    rebuild: str = ""
    fresh_s: float | None = None
    rows_left: int = 0
    bytes_left: int = 0
    per_second: float = 0.0
    documents: int = 0
    tombstones: int = 0
    dead: int = 0
    state_bytes: int | None = None
    cost: float | None = None
    audited_s: float | None = None
    differ: int = 0
    hot_keys: tuple[HotKey, ...] = ()
    marks: KeptMarks | None = None
    frontiers: tuple[SourceFrontier, ...] = ()
    held_by: str = ""
    missed: tuple[str, ...] = ()
    actions: tuple[LoggedAction, ...] = ()

    @property
    def told(self) -> bool:
        """Whether a run has told figures of it that can be read."""
        return self.state not in ("unknown", "never run")

    @property
    def wants_attention(self) -> bool:
        """Whether somebody should look at it."""
        return self.state in _URGENT or bool(self.missed)

    def to_json(self) -> dict[str, object]:
        """Return it as one JSON object, for machines."""
        return {
            "product": self.product,
            "query": self.query,
            "state": self.state,
            "because": self.because,
            "hint": self.hint,
            "rebuild": self.rebuild,
            "fresh_s": None if self.fresh_s is None else round(self.fresh_s, 3),
            "rows_left": self.rows_left,
            "bytes_left": self.bytes_left,
            "per_second": round(self.per_second, 2),
            "documents": self.documents,
            "tombstones": self.tombstones,
            "dead": self.dead,
            "state_bytes": self.state_bytes,
            "cost": None if self.cost is None else round(self.cost, 4),
            "audited_s": None if self.audited_s is None else round(self.audited_s),
            "differ": self.differ,
            "hot_keys": [each.to_json() for each in self.hot_keys],
            "marks": None if self.marks is None else self.marks.to_json(),
            "frontiers": [each.to_json() for each in self.frontiers],
            "held_by": self.held_by,
            "missed": list(self.missed),
            "actions": [each.to_json() for each in self.actions],
            "wants_attention": self.wants_attention,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatus:
    """How a project stands.

    Attributes:
        products: What wants attention first, then by how urgent their states are, then by name.
        warnings: What its runs noticed that someone should look at.
    """

    project: str
    checkpoint: Place
    products: tuple[ProductStatus, ...]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(status_lines(self, len(self.products)))

    __repr__ = __str__

    @property
    def wants_attention(self) -> bool:
        """Whether somebody should look at one of its products."""
        return any(each.wants_attention for each in self.products)

    def to_json(self) -> dict[str, object]:
        """Return it as one JSON object, for machines."""
        return {
            "project": self.project,
            "checkpoint": str(self.checkpoint),
            "wants_attention": self.wants_attention,
            "products": [each.to_json() for each in self.products],
            "warnings": list(self.warnings),
        }


def project_status(
    spec: ProjectSpec, names: Collection[str] = (), *, clock: Callable[[], float] = time.time
) -> ProjectStatus:
    """Return how the products of a project stand; see `outline_status`. Its plan is not needed."""
    return outline_status(Outline.of(spec), names, clock=clock)


def outline_status(
    project: Outline, names: Collection[str] = (), *, clock: Callable[[], float] = time.time
) -> ProjectStatus:
    """Return how the products of a project stand.

    Args:
        project: The project.
        names: Those to look at; empty means all that have something to run.
        clock: Tells the seconds since 1970.
    """
    root, now = project.checkpoint, clock()
    every = project.queries
    queries = {each: query for each, query in every.items() if not names or each in names}
    runs = {query: _Run.read(root, query) for query in dict.fromkeys(every.values())}
    costs = {name: runs[query].cost_us(name) for name, query in every.items()}
    kept = kept_letters(project.letters)
    letters = None if kept is None else Counter((each.of, each.source) for each in kept.open)
    rebuilds = {query: Rebuilding.of(root, query) for query in runs}
    done = logged_actions(root, {query: run.asked for query, run in runs.items()}, recent=True)
    found = []
    for name, query in queries.items():
        status = runs[query].product(name, now)
        if letters is not None and not runs[query].live:  # whose letters are in a topic
            status = replace(status, dead=_dead(project, letters, name, runs[query]))
        status = _audited(status, root, runs[query], now)
        status = replace(
            status, actions=actions_about(project, done, name, runs[query].told)[:_DONE]
        )
        if costs[name]:
            status = replace(status, cost=costs[name] / sum(costs.values()))
        status = _judged(status, project.expected.get(name) or Expectations())
        found.append(_rebuilt(status, rebuilds[query]))
    shown = dict.fromkeys(queries.values())
    warnings = dict.fromkeys(each for query in shown for each in runs[query].warnings)
    return ProjectStatus(
        project=project.project,
        checkpoint=root,
        products=tuple(sorted(found, key=_urgency)),
        warnings=tuple(warnings),
    )


def _audited(status: ProductStatus, root: Place, run: _Run, now: float) -> ProductStatus:
    """Return the status with what the last comparison of each of its sinks found."""
    notes = AuditNote.of_product(root, status.product)
    told = run.told.products.get(status.product) if run.told is not None else None
    targets = told.targets if told is not None else ()
    if targets:
        notes = tuple(each for each in notes if each.target in targets)
    whole = {each.target for each in notes} >= {*targets}
    at = audited_at(notes) if whole else None
    return replace(
        status,
        audited_s=None if at is None else max(0.0, now - at),
        differ=sum(each.differ for each in notes),
    )


def _rebuilt(status: ProductStatus, rebuild: Rebuilding | None) -> ProductStatus:
    """Return the status with what becomes of a rebuild."""
    if rebuild is None:
        return status
    missed = (*status.missed, *filter(None, [rebuild.broken_off]))
    return replace(status, rebuild=rebuild.progress, missed=missed)


def _urgency(status: ProductStatus) -> tuple[bool, int, str]:
    return not status.wants_attention, STATES.index(status.state), status.product


@dataclass(frozen=True, slots=True)
class _Run:
    """What is known of the run of one query."""

    query: str
    root: Place
    told: QueryStatus | None
    unreadable: str
    holder: Holder | None
    asked: tuple[Action, ...]

    @classmethod
    def read(cls, root: Place, query: str) -> _Run:
        paths = QueryPaths.of(root, query)
        told, unreadable = read_status(paths.status_file)
        asked: tuple[Action, ...] = ()
        holder = None
        try:
            asked = ControlLog(paths.control_file).actions()
        except OSError as error:
            unreadable = unreadable or not_read(paths.control_file, error)
        try:
            holder = paths.lease.holder
        except OSError as error:  # whether the run goes on is not known
            told, unreadable = None, unreadable or not_read(paths.lease_file, error)
        return cls(query, root, told, unreadable, holder, asked)

    @property
    def paused(self) -> Action | None:
        """Who paused the query; None where it is to run."""
        return paused_by(self.asked)

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.told is None:
            return ()
        return (*self.told.warnings, *filter(None, [self.unreadable]))

    @property
    def going_on(self) -> bool:
        """Whether the run's own process does; its JVM may outlive that for a while."""
        return goes_on(self.holder)

    def _begins_after(self, told: QueryStatus) -> bool:
        """Return whether a run has the query now that has told nothing yet: another told that."""
        if self.holder is None or not self.going_on:
            return False
        return datetime.fromisoformat(self.holder.since).timestamp() > told.written_at

    @property
    def live(self) -> bool:
        """Whether the run is, or was last, in real time."""
        return self.told is not None and self.told.live

    def cost_us(self, name: str) -> int:
        """Return what tasks took for a product."""
        told = self.told.products.get(name) if self.told is not None else None
        return 0 if told is None else told.cost_us

    def product(self, name: str, now: float) -> ProductStatus:
        """Return how a product stands, but for what is expected of it."""
        told = self.told
        if told is None and self.unreadable:
            return ProductStatus(
                product=name, query=self.query, state="unknown", because=self.unreadable
            )
        if told is None and self.paused is not None:
            return ProductStatus(
                product=name, query=self.query, state="paused", because=f"paused {self.paused}"
            )
        if told is None:
            state: State = "starting" if self.going_on else "never run"
            return ProductStatus(product=name, query=self.query, state=state)
        if (mine := told.products.get(name)) is None:  # declared since that run began
            return ProductStatus(product=name, query=self.query, state="never run")
        now = max(now, told.written_at)  # this clock may be behind that of the run
        state, because = self._state(name, mine, told, now)
        recent = state not in ("gone", "ended") and now - told.written_at < _RECENT_S
        return ProductStatus(
            product=name,
            query=self.query,
            state=state,
            because=because,
            hint=" ".join(told.hint.split()) if state == "failed" else "",
            fresh_s=_fresh_s(state, mine, told, now),
            rows_left=sum(told.rows_left.get(each, 0) for each in mine.relations),
            bytes_left=sum(told.bytes_left.get(each, 0) for each in mine.relations),
            per_second=mine.per_second if recent else 0.0,
            documents=mine.documents,
            tombstones=mine.tombstones,
            dead=mine.dead,
            state_bytes=told.state_bytes,
            hot_keys=mine.hot_keys,
            marks=told.marks,
            frontiers=told.frontiers_of(mine),
            held_by=mine.held_by,
        )

    def _state(
        self, name: str, mine: ProductTotals, told: QueryStatus, now: float
    ) -> tuple[State, str]:
        if told.state != "ended" and self._begins_after(told):
            return "starting", ""
        if told.state == "failed":
            return "failed", f"{told.why} [{told.code}]" if told.code else told.why
        still = told.state == "ended" or (told.paused and self.going_on)
        if self.paused is not None and still:
            return "paused", f"paused {self.paused}"
        if told.state == "ended":
            return "ended", f"at {moment_text(told.written_at)}"
        if not self.going_on:
            return "gone", self._gone()
        names = (name, self.query)
        held_up = [each for each in told.waiting if each.is_of(names, mine.sources)]
        for each in held_up:
            if now - each.since > each.grace_s:
                return "waiting", since(each, now)
        for silence in (each for each in told.silences if each.source in mine.sources):
            return "silent", since(silence, now)
        if self.paused is not None and told.live:
            return (
                "live",
                f"paused {self.paused}; real-time mode continues, the next run starts paused",
            )
        if self.paused is not None:
            begun = "it stops once the current batch is done"
            return "paused", f"paused {self.paused}; {begun}"
        if told.building:
            return "starting", f"it builds {', '.join(told.building)} first"
        if told.caught_up:
            return "live", ""
        if told.caught_up_at is None and told.batch is None:
            return "starting", waits_for(held_up)
        kept_up = told.caught_up_at is not None and now - told.caught_up_at < BEHIND_S
        if kept_up and not held_up:
            return "live", ""
        return "behind", why_behind(told, now, held_up)

    def _gone(self) -> str:
        full = full_disk(self.root)
        begin = (
            f"{full}: make room there, then start the run again" if full else "start the run again"
        )
        if self.holder is None:
            return f"its lease is gone; {begin}"
        process, host = self.holder.processes[0], self.holder.host
        seen = moment_text(self.holder.renewed_at)
        return f"process {process} on {host} was last seen at {seen}; {begin}"


def _fresh_s(state: State, mine: ProductTotals, told: QueryStatus, now: float) -> float | None:
    age_s = None if mine.age_ms is None else mine.age_ms / 1000
    away: tuple[Waiting | Silence, ...] = (*told.waiting, *told.silences)
    unheard = [now - each.since for each in away if each.source in mine.sources]
    if state in ("waiting", "silent") and unheard:
        return max(*unheard, age_s or 0.0)
    if state == "live":
        return age_s
    if told.caught_up and state == "waiting":
        return age_s
    if told.caught_up_at is None:
        return None
    since_s = max(0.0, now - told.caught_up_at)
    # Whoever still reads shows nothing newer than what it reads, which may be old by itself.
    return max(since_s, age_s or 0.0) if state in ("behind", "waiting") else since_s


def _dead(project: Outline, letters: Mapping[tuple[str, str], int], name: str, run: _Run) -> int:
    """Return how many letters are a product's, of those counted by name and source."""
    told = run.told.products.get(name) if run.told is not None else None
    relations, sources = (told.relations, told.sources) if told is not None else ((), ())
    names = project.dead_letter_names(name, relations)
    return sum(count for each, count in letters.items() if belongs(*each, names, sources))


def _judged(status: ProductStatus, expect: Expectations) -> ProductStatus:
    """Return the status with what it was expected to be and is not."""
    if not status.told:
        return status
    fresh_ms = expect.fresh_ms
    if fresh_ms is None and status.state == "behind":
        fresh_ms = _FRESH_MS
    missed = []
    if fresh_ms is not None and status.fresh_s is not None and status.fresh_s * 1000 > fresh_ms:
        missed.append(f"fresh: {status.fresh_s:,.1f} s, expected {fresh_ms / 1000:g} s")
    if expect.behind is not None and status.rows_left > expect.behind:
        missed.append(f"behind: {status.rows_left:,} rows, expected {expect.behind:,}")
    if expect.dead is not None and status.dead > expect.dead:
        missed.append(f"dead: {status.dead:,}, expected {expect.dead:,}")
    if expect.audited_ms is not None and (found := _unaudited(status, expect.audited_ms)):
        missed.append(f"audited: {found}")
    return replace(status, missed=tuple(missed))


def _unaudited(status: ProductStatus, expected_ms: int) -> str:
    if status.differ:
        return f"{status.differ:,} differ; see joinery diff"
    expected = duration_text(expected_ms)
    if status.audited_s is None:
        return f"never, expected {expected}"
    if status.audited_s * 1000 > expected_ms:
        return f"{duration_text(round(status.audited_s) * 1000)} ago, expected {expected}"
    return ""
