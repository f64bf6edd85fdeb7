"""What a run holds until it ends: leases, checkpoints, stores, open sinks, the door to the vault.

Invariant: what was taken is given back, also where more could not be taken. Nothing here needs
Spark.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from joinery.delivery.sent_mark import SentMark, described, emptied_warning, new_warning
from joinery.errors import JoineryError, RunError
from joinery.model.progress import Waiting
from joinery.model.warning import RunWarning
from joinery.place.place import Place, local
from joinery.project.product import ProjectSpec
from joinery.sinks.protocol import emptied
from joinery.spark.batch.captures import Captures
from joinery.spark.batch.mode import Claim, RunMode, check_held
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.query import QueryRun
from joinery.spark.batch.store_thread import StoreThread
from joinery.spark.batch.stores import (
    StoreWait,
    is_store_backed,
    open_store,
    solution_of,
    statements_of,
)
from joinery.spark.recovery.checkpoint import unbuilt
from joinery.spark.recovery.isolate import Suspect, isolate
from joinery.spark.recovery.restored import go_on_as_another, restored_warning
from joinery.spark.source.source import sources_of
from joinery.spark.source.spool_readers import note_readers
from joinery.vault.claim import claim_vault, is_of_another
from joinery.vault.door import SILENT, VaultDoor, waiting_for
from joinery.vault.erasure import keep_erased
from joinery.vault.keys import Vault
from joinery.vault.tables import open_vault, vault_store

log = logging.getLogger("joinery.run")


class UnclosedError(RunError):
    """Something that a run had open could not be closed."""

    code = "RUN_CLOSE"


@dataclass(slots=True, kw_only=True)
class Held:
    """What the queries of a run need before Spark starts, and give back at its end.

    Attributes:
        spec: The project.
        queries: Those that run.
        mode: Where their checkpoints are.
        board: Takes warnings, and what is waited for.
        captures: The captures of the databases that they read.
        asked: Set once the run is asked to end.
        rebuild: It builds beside what is there.
        restored: Their checkpoints were put back from a backup.
        patient: A store that is not there is waited for.
        stores: By query, the store of one that has one.
        door: The door to the vault; None where nothing is personal.
    """

    spec: ProjectSpec
    queries: Sequence[QueryRun]
    mode: RunMode
    board: ProgressBoard
    captures: Captures
    asked: threading.Event
    rebuild: bool
    restored: bool
    patient: bool
    stores: dict[str, StoreThread] = field(default_factory=dict)
    door: VaultDoor | None = None

    def claim(self) -> None:
        """Take the leases and checkpoints of all queries.

        Raises:
            LeaseHeldError: Another run has one of the queries.
            CaptureError: A spool has changes of another slot, or of other tables, or no longer
                all that a query needs that begins.
            StateMismatchError: A checkpoint holds state that another plan wrote.
            HeldBackError: Documents wait for what their product does not declare any more.
        """
        for query in self.queries:
            query.lease.take()
        self.captures.claim()
        for query in self.queries:
            self._claim(query)

    def open(self) -> None:
        """Open the vault, the stores and the sinks; what is away may be waited for without end.

        Raises:
            VaultError: The vault is not the one that a checkpoint was sealed with.
            SinkError: A sink cannot be opened.
        """
        self._open_door()
        self.captures.start()  # under keys of a vault that is the right one
        for query in self.queries:
            if is_store_backed(query.products):
                self._open_store(query, self.mode.paths(query.name).checkpoint)
        for query in self.queries:
            query.open()

    def close(self) -> None:
        """Give back what was taken but the leases, each also where another cannot be closed.

        Raises:
            UnclosedError: Something could not be closed.
        """
        try:
            with ExitStack() as closing:
                while self.stores:
                    closing.callback(self.stores.popitem()[1].close)
                if self.door is not None:
                    closing.callback(self.door.close)
                for query in reversed(self.queries):
                    closing.callback(query.close)
                closing.callback(self.captures.close)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also what a package raises past exceptions
            log.warning("a run could not close what it had open", extra={"why": repr(error)})
            raise _unclosed(error) from error

    def is_taken_over(self, query: str) -> bool:
        """Return whether another run has taken over a query."""
        return any(each.name == query and each.lease.lost is not None for each in self.queries)

    def release(self) -> None:
        """Give the leases back, each also where another cannot be: another run may begin."""
        with ExitStack() as releasing:
            for query in self.queries:
                releasing.callback(query.lease.release)

    def _claim(self, query: QueryRun) -> None:
        """Make a query's checkpoint its own."""
        reads = sources_of(self.spec, query.products)
        products = query.products
        lowered = query.lowered
        plan = Claim(
            lowered.program,
            lowered.former,
            solution_of(products),
            statements_of(products),
            reads,
            query.lease.check,
        )
        query.lowered = replace(lowered, program=self.mode.claim(query.name, plan))
        paths = self.mode.paths(query.name)
        if self.restored and go_on_as_another(query.name, paths.checkpoint, query.lease.check):
            self.board.warn(restored_warning(query.name))
        if not self.rebuild:  # which forgets what waits
            check_held(paths.checkpoint, query.products)
        note_readers(self.spec, query.name, paths.checkpoint, reads)
        if not query.is_personal:  # A search copies records, as they are.
            suspect = Suspect(
                query=query.name,
                root=self.spec.checkpoint,
                checkpoint=paths.checkpoint,
                scratch=self.spec.scratch,
            )
            isolate(self.spec, suspect)
        if not self.rebuild:
            if built := unbuilt(paths.checkpoint):
                self.board.build(query.name, sorted(built))
            for warning in _target_warnings(self.spec, query, paths.checkpoint):
                self.board.warn(warning)

    def _open_store(self, query: QueryRun, checkpoint: Place) -> None:
        wait = StoreWait(check=query.lease.check, ended=query.ended, tell=self.board.wait)
        self.stores[query.name] = open_store(
            self.spec,
            query.name,
            query.products,
            local(checkpoint, f"solution: {solution_of(query.products)}"),
            beside=self.rebuild,
            wait=wait if self.patient else None,
        )

    def _open_door(self) -> None:
        """Open the door to the vault, which is then the queries' own, where one is personal."""
        if not any(each.is_personal for each in self.queries):
            return
        target, ended = vault_store(self.spec).target, self.asked.is_set
        tell = partial(self._wait_for_vault, f"the vault, {target}")
        waiting = waiting_for(target, ended=ended, tell=tell)
        vault = waiting.until_done(partial(open_vault, self.spec), SILENT)
        retention = timedelta(milliseconds=self.spec.run.tombstone_retention_ms)
        self.door = VaultDoor(vault, retention=retention, ended=ended, tell=tell)
        for query in self.queries:
            if query.is_personal:
                self._claim_vault(query, vault)
        root = local(self.spec.checkpoint, "a vault")
        waiting.until_done(partial(keep_erased, root, vault), SILENT)

    def _wait_for_vault(self, target: str, waiting: Waiting | None) -> None:
        """Tell that the queries with personal columns wait for the vault, or no more."""
        names = [each.name for each in self.queries if each.is_personal]
        for name in names:
            held_up = target if len(names) == 1 else f"{target}, for {name}"
            told = waiting and replace(waiting, product=name, target=held_up)
            self.board.wait(held_up, told)

    def _claim_vault(self, query: QueryRun, vault: Vault) -> None:
        """Make the vault that of a query; a rebuild that another sealed starts over."""
        checkpoint = self.mode.paths(query.name).on_disk("a vault")
        if self.rebuild and is_of_another(checkpoint, vault):
            shutil.rmtree(checkpoint)
            self._claim(query)
        claim_vault(checkpoint, query.name, vault)


def _unclosed(error: BaseException) -> UnclosedError:
    why = error.message if isinstance(error, JoineryError) else f"{type(error).__name__}: {error}"
    return UnclosedError(
        f"could not close what the run had open: {why}",
        detail="What was committed is kept.",
        hint="Start the run again: it continues where it stopped.",
    )


def _target_warnings(spec: ProjectSpec, query: QueryRun, checkpoint: Place) -> Iterator[RunWarning]:
    """Yield a warning for each target that lacks what a kept checkpoint takes for sent."""
    folder = spec.path_of(".")
    sent = SentMark(checkpoint, folder)
    built = unbuilt(checkpoint)
    members = [each for each in query.members if each.product.name not in built]
    members = [each for each in members if not each.product.outbox]  # has no rebuild
    for product, sinks in ((each.product, each.sinks) for each in members):
        about = described(product)
        for declared, sink in zip(product.sinks, sinks, strict=True):
            has = sent.has(product.name, sink.target)
            if has is False:
                yield new_warning(about, sink.target)
            elif has:
                place = emptied(declared.kind, dict(declared.options), product.name, folder)
                if place is not None:
                    yield emptied_warning(about, place)
