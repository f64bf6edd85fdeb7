"""What is looked after beside a capture: what the spool keeps, the log of the database, its tables.

Invariant: looking holds up nothing: what cannot be done now is done at the next look.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping

from joinery.capture.database import LogDatabase
from joinery.capture.gone_columns import gone_warnings
from joinery.capture.keep import Applied, SpoolKeep
from joinery.capture.spool import CaptureError, CaptureLostError, SpoolFolder, spool_removed
from joinery.capture.state import kept_bytes
from joinery.model.warning import RunWarning
from joinery.project.postgres import WalLimit

_log = logging.getLogger(__name__)
_SERVER_S = 5.0
_TABLES_S = 10.0
_LONGEST_S = 60.0
_SHARE = 100  # of the time that files are kept
_MIB = 1 << 20


class TooMuchLogError(CaptureError):
    """A database keeps more of its log for a source than it may."""

    code = "RUN_WAL"
    drops: bool = False


class Tending:
    """Removes change files that are needed no more, and watches what the slot keeps.

    And whether the tables are those whose changes the spool has: of one that was dropped and made
    again, nothing is followed. And whether they have the columns that relations declare.

    Args:
        database: Whose log is captured.
        spool: Into which.
        name: The source's.
        keep_s: How long change files are kept at least, in seconds.
        applied: Says what those who read the spool have applied.
        max_wal: How much of its log the database may keep for us.
        columns: By table, the columns that relations declare.
        on_warning: Told what someone should look at.
    """

    def __init__(
        self,
        database: LogDatabase,
        spool: SpoolFolder,
        *,
        name: str,
        keep_s: float,
        applied: Applied,
        max_wal: WalLimit | None,
        columns: Mapping[str, Collection[str]],
        on_warning: Callable[[RunWarning], None],
    ) -> None:
        self._database, self._spool, self._name = database, spool, name
        self._keep, self._keep_s, self._applied = SpoolKeep(spool), keep_s, applied
        self._max_wal, self._on_warning = max_wal, on_warning
        self._columns = columns
        self._prune_at = self._ask_at = self._compare_at = 0.0
        self.error: TooMuchLogError | None = None
        self.lost: CaptureLostError | None = None

    @property
    def over(self) -> bool:
        """Whether the capture may not go on."""
        return self.error is not None or self.lost is not None

    def look(self) -> bool:
        """Do what is due; return whether the capture may go on."""
        now = time.monotonic()
        if now >= self._prune_at:
            self._prune()
            took = time.monotonic() - now
            self._prune_at = now + max(min(self._keep_s / _SHARE, _LONGEST_S), _SHARE * took)
        if self._max_wal is not None and now >= self._ask_at:
            self._check(self._max_wal)
            self._ask_at = now + _SERVER_S
        if now >= self._compare_at:
            self._compare()
            self._compare_at = now + _TABLES_S
        return not self.over

    def _compare(self) -> None:
        try:
            if self._spool.identity is None:
                raise spool_removed(self._spool)
            if self._spool.position is None:
                return
            for each in self._database.check_same(self._spool):
                self._on_warning(each)
            if self._columns:
                found = self._database.columns_of(tuple(self._columns))
                for each in gone_warnings(self._name, self._columns, found):
                    self._on_warning(each)
        except CaptureLostError as error:
            self.lost = error
        except (CaptureError, OSError, ValueError, KeyError) as error:
            # The capture itself tells of it, once it has to do with that.
            _log.info("the tables of source %s were not compared: %s", self._name, error)

    def _prune(self) -> None:
        try:
            removed = self._keep.prune(self._keep_s, self._applied)
        except (OSError, ValueError, KeyError) as error:  # a checkpoint that is just replaced
            _log.warning("change files of source %s were not removed: %s", self._name, error)
            return
        if removed:
            _log.info("%s change files of source %s were removed", removed, self._name)

    def _check(self, limit: WalLimit) -> None:
        try:
            kept = kept_bytes(self._database)
        except CaptureError as error:
            # The capture itself waits for the server, or tells what it refuses.
            _log.info("could not read how much log is kept for source %s: %s", self._name, error)
            return
        if kept is None or kept <= limit.bytes:
            return
        told = (
            f"the database keeps {kept / _MIB:,.0f} MiB of its log for source"
            f' "{self._name}", more than max_wal ({limit.bytes / _MIB:,.0f} MiB)'
        )
        free = f"joinery source drop {self._name} frees it."
        if limit.then == "warn":
            about = f'source "{self._name}"'
            self._on_warning(RunWarning(code="WARN_WAL", about=about, message=told, hint=free))
            return
        if limit.then == "stop":
            self.error = TooMuchLogError(
                told,
                detail="The capture has ended; the slot is kept, so the database keeps its log.",
                hint=f"Raise max_wal and run again, or give up: {free}",
            )
            return
        self.error = TooMuchLogError(
            told,
            detail=f'The slot "{self._database.slot}" is dropped, and later changes are lost.',
            hint=f"Run joinery source drop {self._name}, then joinery run --rebuild.",
        )
        self.error.drops = True
