"""What becomes of the rebuild of a query: one that is going on, and one that ended unfinished."""

from __future__ import annotations

from dataclasses import dataclass

from joinery.delivery.lease_file import Holder
from joinery.delivery.query_paths import SWAPPED, rebuild_paths
from joinery.model.moment import moment_text
from joinery.model.status import QueryStatus
from joinery.observe.read_status import read_status
from joinery.place.place import Place


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """A rebuild that is not finished.

    Attributes:
        told: What it told last.
        going_on: Whether its process does.
        sent: All of it is sent, and its checkpoint is to take its place.
    """

    told: QueryStatus
    going_on: bool
    sent: bool

    @classmethod
    def of(cls, root: Place, query: str) -> Rebuilding | None:
        """Return the rebuild of a query; None where there is none, or its files cannot be read."""
        paths = rebuild_paths(root, query)
        try:
            told, _ = read_status(paths.status_file)
            if told is None or not paths.checkpoint.exists():
                return None
            sent = (paths.checkpoint / SWAPPED).exists()
            if told.state == "ended" and sent:  # the run that follows puts it in place
                return None
            return cls(told, told.state == "running" and goes_on(paths.lease.holder), sent)
        except OSError:
            return None

    @property
    def progress(self) -> str:
        """Return that it is going on, in words; empty where it is not."""
        if not self.going_on:
            return ""
        return f"a rebuild has been running since {moment_text(self.told.began_at)}"

    @property
    def broken_off(self) -> str:
        """Return how it ended before it was done, in words; empty where it is going on."""
        if self.going_on:
            return ""
        at, again = moment_text(self.told.written_at), "joinery run --rebuild continues it"
        if self.sent:
            again = "everything is sent, and joinery run puts it in place"
        match self.told.state:
            case "failed":
                code = f" [{self.told.code}]" if self.told.code else ""
                return f"rebuild: it failed at {at}: {self.told.why}{code}; {again}"
            case "ended":
                return f"rebuild: it was stopped at {at} before it was done; {again}"
            case "running":
                return f"rebuild: it was killed, and last heard of at {at}; {again}"


def goes_on(holder: Holder | None) -> bool:
    """Return whether the process that holds a lease does; its JVM may outlive it for a while."""
    return holder is not None and holder.alive and not holder.orphaned
