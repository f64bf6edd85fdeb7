"""How far a query has come in one of its sources, and how sure it is, as a run tells it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from joinery.model.moment import moment_text, seconds_of

Sure = Literal["exact", "sound", "probable", "read"]
"""What a place in a source proves.

`exact`: the database's own log is captured, and all up to the place is applied and sent. `sound`:
likewise, by what Kafka Connect keeps of the connector. `probable`: by a heartbeat, which may have
overtaken changes of before. `read`: what was read of the logs, and nothing of what is behind them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFrontier:
    """Up to where everything of a source is applied and sent.

    Attributes:
        place: In the log of its database, as the database writes it; empty where none is known.
        committed_at: When the last change up to there was committed or, by a heartbeat, when that
            was written, in seconds since 1970; None where it is not told.
        read: By relation, the last record of each partition that was read, the last change file
            of which all was, and the one after that, as `joinery wait` names them.
        more: By relation, the partitions that `read` leaves out.
    """

    source: str
    sure: Sure
    place: str = ""
    committed_at: float | None = None
    read: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    more: Mapping[str, int] = field(default_factory=dict)

    def of(self, relations: Collection[str]) -> SourceFrontier:
        """Return it with no more than some relations."""
        read = {name: each for name, each in self.read.items() if name in relations}
        more = {name: each for name, each in self.more.items() if name in relations}
        return replace(self, read=read, more=more)

    def to_json(self) -> dict[str, object]:
        """Return it as one JSON object."""
        at = self.committed_at
        return {
            "source": self.source,
            "sure": self.sure,
            "place": self.place,
            "committed_at": None if at is None else moment_text(at),
            "read": {name: list(each) for name, each in self.read.items()},
            "more": dict(self.more),
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> SourceFrontier:
        """Return what `to_json` told."""
        at = told["committed_at"]
        read = {name: tuple(each) for name, each in told["read"].items()}
        committed_at = None if at is None else seconds_of(at)
        return cls(**{**told, "committed_at": committed_at, "read": read})
