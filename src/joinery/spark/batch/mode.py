"""How a run treats its queries: it keeps their documents current, or it builds them again.

The mode decides where a query's files are, which checkpoint it may use, and when its
documents go out. A rebuild has its checkpoint in `<checkpoint>/_rebuild/<query>`. Once all
its documents were sent it is marked as swapped; then it takes the query's place.

What a rebuild holds is on a disk, beside its checkpoint or, where that is in a store, on
the driver's. There the two belong together by a name that both have: a rebuild that is started
where its documents are not starts over.
"""

from __future__ import annotations

import tempfile
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from joinery.delivery.held_outlet import GatedOutlet, SettlingOutlet
from joinery.delivery.hold import Hold
from joinery.delivery.outlet import Delaying, DirectOutlet, Outlet
from joinery.delivery.query_paths import SWAPPED, QueryPaths, rebuild_paths
from joinery.delivery.rebuild import RebuildOutlet, Swap
from joinery.delivery.store_hold import StoreHold
from joinery.delivery.sweeping_outlet import Building, SweepingOutlet
from joinery.errors import RunError, StateMismatchError
from joinery.files import remove_folder, write_whole
from joinery.place.guarded import Guarded
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.plan.product import Product
from joinery.sinks.protocol import Sink
from joinery.solutions.spark_state.fingerprint import (
    Fingerprint,
    claim_checkpoint,
    standing_fingerprint,
)
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch.ready import Ends
from joinery.spark.batch.setup import forget_spools
from joinery.spark.recovery.checkpoint import (
    batch_time_ms,
    claim_sources,
    last_batch,
    untold,
)
from joinery.spark.recovery.relocate import relocate
from joinery.spark.recovery.replacement import (
    BELONGS,
    HELD,
    finish,
    mark_done,
    next_checkpoint,
    put_in_place,
)
from joinery.spark.source.source import SourceRead

_SETTLE, _READY = "settle", "ready"
_KEYS = {_SETTLE: "emit: {settle: …}", _READY: "ready"}

OutletMaker = Callable[[Product, Sequence[Sink], Delaying], Outlet]
"""Makes the way of one product to its sinks, on which documents may be held back."""


class HeldBackError(RunError):
    """Documents wait for a key that their product does not have any more."""

    code = "RUN_HELD"


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants to go on from the checkpoint of a query.

    Attributes:
        program: Of the query.
        former: The same as older checkpoints may have it; None where there is no other.
        solution: Who keeps its state.
        statements: The user's own that make its documents; empty where there are none.
        reads: Its sources.
        check: Raises once another run has taken over.
    """

    program: KernelProgram
    former: KernelProgram | None
    solution: str
    statements: str
    reads: Sequence[SourceRead]
    check: Callable[[], None]


class RunMode(Protocol):
    """Decides where queries are kept, which checkpoint they may use, and when they send."""

    def paths(self, query: str) -> QueryPaths:
        """Return where the run of a query has its files."""

    def standing(self, query: str) -> Fingerprint | None:
        """Return what is noted of the checkpoint that a query goes on from; None for none."""

    def claim(self, query: str, plan: Claim) -> KernelProgram:
        """Make the checkpoint of a query one for `plan`; its lease is held.

        Returns:
            The program of the two that is to run.

        Raises:
            StateMismatchError: It holds state that another program or another solution wrote,
                or positions of other sources.
        """

    @property
    def sends_between(self) -> bool:
        """Whether documents may go out between two batches, since somebody asks for them."""

    @property
    def sends_each(self) -> bool:
        """Whether each batch's documents go out with it, as far as their products let them."""

    def needs_ends(self, products: Sequence[Product]) -> bool:
        """Return whether products wait for the ends of their sources."""

    def outlets(self, query: str, products: Sequence[Product], ends: Ends) -> OutletMaker:
        """Return what makes the outlets of a query's products."""


@dataclass(frozen=True, slots=True)
class KeepCurrent:
    """The mode of `joinery run`.

    Attributes:
        root: `run.checkpoint`.
        scratch: The same, or the driver's folder for it where that is in a store.
    """

    root: Place
    scratch: Path
    sends_between = True
    sends_each = True

    def paths(self, query: str) -> QueryPaths:
        """Return the query's own paths."""
        return QueryPaths.of(self.root, query)

    def standing(self, query: str) -> Fingerprint | None:
        """Return what is noted of the query's checkpoint, or of what is to take its place."""
        return standing_fingerprint(next_checkpoint(self.root, query))

    def claim(self, query: str, plan: Claim) -> KernelProgram:
        """Put a finished rebuild in place, then go on from the checkpoint."""
        if put_in_place(self.root, query, plan.check):
            remove_folder(rebuild_paths(self.scratch, query).checkpoint)
        checkpoint = self.paths(query).checkpoint
        program = _claim(checkpoint, query, plan)
        if isinstance(checkpoint, Path) or checkpoint.can_rename:
            relocate(checkpoint)
        return program

    def needs_ends(self, products: Sequence[Product]) -> bool:
        """Return whether a product has `ready`."""
        return any(each.ready for each in products)

    def outlets(self, query: str, products: Sequence[Product], ends: Ends) -> OutletMaker:
        """Return what the products declare."""
        here = QueryPaths.of(self.scratch, query).on_disk("what waits")
        checkpoint = self.paths(query).checkpoint
        # Asked once: what is noted of a group is as long as all its products.
        anew = frozenset() if (telling := untold(checkpoint)) is None else frozenset(telling.anew)
        return partial(_declared_outlet, checkpoint, here, ends, anew)


def _declared_outlet(
    checkpoint: Place,
    here: Path,
    ends: Ends,
    anew: frozenset[str],
    product: Product,
    sinks: Sequence[Sink],
    delaying: Delaying,
) -> Outlet:
    """Return the way to `sinks`, behind the product's `emit` and `ready`.

    What waits is kept in the checkpoint, or with a copy in the folder `here`; what the products of
    `anew` sent before is taken back.
    """
    outlet: Outlet = DirectOutlet(sinks)
    sending = threading.Lock()
    places = _holds_of(checkpoint, product)
    begun = partial(_last_unknown, checkpoint, product.name)
    if product.settle_ms is not None:
        outlet = SettlingOutlet(
            outlet,
            _hold_at(places[_SETTLE], here),
            settle_s=product.settle_ms / 1000,
            delaying=delaying,
            begun=begun,
            sending=sending,
        )
    if product.ready:
        outlet = GatedOutlet(
            outlet,
            _hold_at(places[_READY], here),
            partial(ends.reached, product.ready),
            begun=begun,
            hashed=product.settle_ms is not None,
        )
    if product.name not in anew:
        return outlet
    building = Building(
        partial(_built_anew_in, checkpoint, product.name),
        partial(_version_of, checkpoint),
        checkpoint / HELD / f"anew-{product.name}.json",
        sending,
    )
    return SweepingOutlet(outlet, sinks, building, delaying.warn)


def _built_anew_in(checkpoint: Place, product: str) -> int | None:
    """Return the batch to come that builds a product again; None where none does."""
    telling = untold(checkpoint)
    return None if telling is None or product not in telling.anew else telling.batch


def _version_of(checkpoint: Place, batch: int) -> int:
    """Return the version of the documents of a batch."""
    return batch_time_ms(checkpoint, batch) * 1000


def _last_unknown(checkpoint: Place, product: str) -> int:
    """Return the last batch whose lines may not know what sinks hold; -1 where there is none.

    That is the last one that was begun, or the one that builds the product again: until then sinks
    hold what the product was before.
    """
    anew = _built_anew_in(checkpoint, product)
    number, _ = last_batch(checkpoint)
    return anew if anew is not None else -1 if number is None else number


def _holds_of(checkpoint: Place, product: Product) -> dict[str, Place]:
    """Return where the documents of a product wait, by what they wait for."""
    wanted = {_SETTLE: product.settle_ms is not None, _READY: bool(product.ready)}
    folder, end = checkpoint / HELD, ".sqlite" if isinstance(checkpoint, Path) else ""
    return {key: folder / f"{key}-{product.name}{end}" for key in wanted if wanted[key]}


def _hold_at(place: Place, here: Path) -> Hold:
    if isinstance(place, Path):
        return Hold(place)
    return StoreHold(place, here / HELD / f"{place.name}.sqlite")


def check_held(checkpoint: Place, products: Sequence[Product]) -> None:
    """See that no document waits for what its product does not declare any more.

    Args:
        checkpoint: Of a query whose lease is held.
        products: All of the query.

    Raises:
        HeldBackError: One does; no batch would ever send it.
    """
    known = {file for each in products for file in _holds_of(checkpoint, each).values()}
    batch, committed = last_batch(checkpoint)
    done = -1 if batch is None else batch if committed else batch - 1
    for key in _KEYS:
        for place in _standing_holds(checkpoint / HELD, key):
            if place not in known and (count := _unsent(place, done)):
                raise _held_back(key, place, count)


def _standing_holds(folder: Place, key: str) -> Sequence[Place]:
    """Return where documents wait, or waited, for a key."""
    if isinstance(folder, Path):
        return sorted(folder.glob(f"{key}-*.sqlite"))
    return sorted(each for each in folder.iterdir() if each.name.startswith(f"{key}-"))


def _unsent(place: Place, done: int) -> int:
    with tempfile.TemporaryDirectory(prefix="joinery-held-") as folder:
        hold = _hold_at(place, Path(folder))
        hold.open()
        try:
            return hold.unsent(done)
        finally:
            hold.close()


def _held_back(key: str, place: Place, count: int) -> HeldBackError:
    product = place.name.removesuffix(".sqlite").removeprefix(f"{key}-")
    return HeldBackError(
        f'product "{product}" has no "{_KEYS[key]}" any more, and documents still wait for it',
        detail=f"{place} holds {count} of them.",
        hint="Put it back until they are sent, or send all documents again: joinery run --rebuild.",
    )


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The mode of `joinery run --rebuild`.

    Attributes:
        root: `run.checkpoint`.
        scratch: The same, or the driver's folder for it where that is in a store.
    """

    root: Place
    scratch: Path
    sends_between = False
    sends_each = False

    def paths(self, query: str) -> QueryPaths:
        """Return the paths of the query's rebuild."""
        return rebuild_paths(self.root, query)

    def standing(self, query: str) -> Fingerprint | None:
        """Return nothing: it begins with a program of its own."""
        return None

    def claim(self, query: str, plan: Claim) -> KernelProgram:
        """Put a finished rebuild in place; go on with one of this plan, or start over."""
        checkpoint, held = self.paths(query).checkpoint, self._held(query)
        if (checkpoint / SWAPPED).exists():
            finish(self.root, query)
        if isinstance(checkpoint, RemotePath) and not _belong_together(
            checkpoint / HELD / BELONGS, held / BELONGS
        ):
            _begin_anew(checkpoint, held, plan.check)
        try:
            program = _claim(checkpoint, query, plan)
        except StateMismatchError:
            _begin_anew(checkpoint, held, plan.check)
            program = _claim(checkpoint, query, plan)
        # All of it is sent again at the swap; before that nothing may go out.
        if isinstance(checkpoint, Path):
            forget_spools(checkpoint)
        return program

    def _held(self, query: str) -> Path:
        """Return where documents are held: in the checkpoint, where that is on a disk."""
        return rebuild_paths(self.scratch, query).on_disk("a rebuild") / HELD

    def needs_ends(self, products: Sequence[Product]) -> bool:
        """Return whether the ends of the sources are to be taken: always."""
        return True

    def outlets(self, query: str, products: Sequence[Product], ends: Ends) -> OutletMaker:
        """Return what holds every product back until the swap."""
        held, current = self._held(query), QueryPaths.of(self.root, query)
        return _RebuildOutlets(self.paths(query), current, held, products, ends).make


def _belong_together(one: Place, other: Path) -> bool:
    """Return whether two files are there and have the same content."""
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def _begin_anew(checkpoint: Place, held: Path, check: Callable[[], None]) -> None:
    """Remove a rebuild and what it held; in a store they belong together no more from then on."""
    if isinstance(checkpoint, Path):
        remove_folder(checkpoint)
        return
    (held / BELONGS).unlink(missing_ok=True)
    Guarded(check).remove(checkpoint)
    remove_folder(held)
    name = uuid.uuid4().hex
    write_whole(held / BELONGS, name, synced=True)
    write_whole(checkpoint / HELD / BELONGS, name, synced=True)


def _claim(checkpoint: Place, query: str, plan: Claim) -> KernelProgram:
    program = claim_checkpoint(
        checkpoint,
        query,
        plan.program,
        plan.solution,
        statements=plan.statements,
        former=plan.former,
    )
    claim_sources(checkpoint, query, plan.reads)
    return program


class _RebuildOutlets:
    """Holds every product of one query back until all its sources are read to their ends."""

    def __init__(
        self,
        paths: QueryPaths,
        current: QueryPaths,
        held: Path,
        products: Sequence[Product],
        ends: Ends,
    ) -> None:
        relations = frozenset(each.name for one in products for each in one.relations)
        self._paths, self._current, self._held = paths, current, held
        self._reached = partial(ends.reached, relations)
        self._products = len(products)
        self._swap: Swap | None = None

    def make(self, product: Product, sinks: Sequence[Sink], delaying: Delaying) -> Outlet:
        """Return the outlet of one product."""
        if self._swap is None:
            self._swap = Swap(
                self._current.lease,
                self._products,
                ended=delaying.ended,
                on_done=partial(self._done, delaying),
            )
        hold = Hold(self._held / f"rebuild-{product.name}.sqlite")
        return RebuildOutlet(sinks, hold, self._reached, self._swap, delaying.warn)

    def _done(self, delaying: Delaying) -> None:
        mark_done(self._paths.checkpoint)
        delaying.end()
