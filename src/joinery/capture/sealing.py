"""Under which key the lines of a capture are sealed: another each day, asked of the vault.

Invariant: a key that cannot be had leaves the last one in force, so nothing is written in clear;
what the spool says is personal is sealed, or nothing is captured.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from joinery.capture.spool import CaptureError
from joinery.errors import JoineryError
from joinery.retry import Patience

_log = logging.getLogger(__name__)
_PATIENCE = Patience(first_s=1.0, longest_s=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSeal:
    """Under what the lines of some tables are sealed.

    Attributes:
        tables: The tables, as schema.table.
        name: The key's, in the vault.
        key: In base64.
    """

    tables: tuple[str, ...]
    name: str
    key: str = field(repr=False)


def today() -> date:
    """Return the day by which keys go, that of UTC."""
    return datetime.now(UTC).date()


class Sealing:
    """The keys of one capture.

    Args:
        source: The source's name.
        seal: Returns under which key lines of which tables are sealed on a day; None where none
            are.
        day: Returns the day.
        clock: Returns seconds that only grow.
    """

    def __init__(
        self,
        source: str,
        seal: Callable[[date], LineSeal] | None,
        *,
        day: Callable[[], date] = today,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._seal = source, seal
        self._day, self._clock = day, clock
        self._sealed_on: date | None = None
        self._failed = 0
        self._again_at = 0.0
        self.tables: frozenset[str] = frozenset()

    def begin(self) -> LineSeal | None:
        """Return what seals lines today; None where nothing is personal.

        Raises:
            VaultUnavailableError: The vault is not there now.
            JoineryError: It cannot be used.
        """
        if self._seal is None:
            return None
        today = self._day()
        told = self._seal(today)
        self._sealed_on, self.tables = today, frozenset(told.tables)
        return told

    def renewed(self) -> LineSeal | None:
        """Return what seals lines from now on; None where that is what has done so.

        May be asked often: a vault that is away is asked again after a while, which grows.
        """
        if self._seal is None or self._sealed_on == self._day() or self._clock() < self._again_at:
            return None
        try:
            told = self.begin()
        except JoineryError as error:
            self._failed += 1
            self._again_at = self._clock() + _PATIENCE.wait_s(self._failed)
            if self._failed == 1:
                _log.warning(
                    "could not renew the key of source %s, trying again: %s",
                    self._source,
                    error,
                )
            return None
        self._failed = 0
        return told

    def check(self, personal: Collection[str]) -> None:
        """Refuse to write in clear what the spool says is personal.

        Args:
            personal: The tables that it says so of, as schema.table.

        Raises:
            CaptureError: One of them is not sealed.
        """
        if clear := {*personal} - self.tables:
            raise CaptureError(
                f"table {min(clear)} has personal columns now, but this capture was started"
                " without them",
                hint="Start it again, so that it reads the project file as it is now.",
            )
