"""What a million changes cost on a price list, which a user may replace.

The list is of a common public cloud's order of magnitude, in dollars: a guess to begin with,
not an offer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Protocol, runtime_checkable

from joinery.errors import SpecError

_HOUR_S = 3600
_MILLION = 1_000_000


class PriceError(SpecError):
    """A price list has a name that is none, or a price that is not a number."""

    code = "SPEC_PRICE"


@runtime_checkable
class Hosted(Protocol):
    """Options of a solution that may need a server."""

    @property
    def server(self) -> str | None:
        """The kind of server that is paid for by the hour; None without one."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in dollars.

    Attributes:
        worker_hour: The machine that runs Spark.
        database_hour: A relational server, where one is used.
        cache_hour: A key-value server, where one is used.
        read_million: A million read units of DynamoDB.
        write_million: A million write units of DynamoDB.
    """

    worker_hour: float = 0.20
    database_hour: float = 0.25
    cache_hour: float = 0.15
    read_million: float = 0.125
    write_million: float = 0.625

    def with_list(self, told: Mapping[str, object]) -> Prices:
        """Return the prices with those of a list in their place.

        Raises:
            PriceError: It has a name that is none, or a price that is not a number.
        """
        known = [each.name for each in fields(self)]
        for name, price in told.items():
            if name not in known:
                raise PriceError(
                    f'there is no price "{name}"', detail=f"Known: {', '.join(known)}."
                )
            if isinstance(price, bool) or not isinstance(price, int | float) or price < 0:
                raise PriceError(f'the price "{name}" is not a number of 0 or more')
        return replace(self, **{name: float(str(price)) for name, price in told.items()})

    def of_million(
        self, rate: float, *, server: str | None, reads: float = 0, writes: float = 0
    ) -> float:
        """Return the price of a million changes, state not counted.

        Args:
            rate: Changes a second.
            server: `database`, `cache` or None.
            reads: Read units a change.
            writes: Write units a change.

        Example:
            >>> round(Prices().of_million(10_000, server="database"), 4)
            0.0125
        """
        hourly = self.worker_hour
        hourly += {"database": self.database_hour, "cache": self.cache_hour}.get(server or "", 0.0)
        hours = _MILLION / rate / _HOUR_S
        return hours * hourly + reads * self.read_million + writes * self.write_million
