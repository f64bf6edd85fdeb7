"""What lookups in a store did so far: counts, and how old the answers were that they used."""

from __future__ import annotations

from dataclasses import dataclass, fields

AGE_BOUNDS_S = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""The upper bounds of the age histogram's bins; one more bin holds what is older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupProgress:
    """What the lookups in one table did since the run began.

    Attributes:
        keys: Distinct keys that batches asked for.
        hits: Answered from the cache with a row.
        negative_hits: Answered from the cache: no row.
        filtered: Answered by the filter of all keys: no row.
        shared: Answered by a request that another had under way.
        misses: Asked of the store.
        rows: Rows that the store gave.
        unfit: What the store gave that is not a row of the table.
        requests: Requests to the store, failed ones included.
        failures: Requests that failed.
        wholes: Requests that read the whole table, which is small.
        invalidated: Answers dropped because the table's own changes said so.
        ages: How many answers were how old when they were used, bin by bin.
        age_sum_s: The sum of those ages.
        oldest_s: The oldest of them.
    """

    keys: int = 0
    hits: int = 0
    negative_hits: int = 0
    filtered: int = 0
    shared: int = 0
    misses: int = 0
    rows: int = 0
    unfit: int = 0
    requests: int = 0
    failures: int = 0
    wholes: int = 0
    invalidated: int = 0
    ages: tuple[int, ...] = (0,) * (len(AGE_BOUNDS_S) + 1)
    age_sum_s: float = 0.0
    oldest_s: float = 0.0

    def counts(self) -> dict[str, int]:
        """Return the counts by name."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: count for name, count in named.items() if isinstance(count, int)}

    def age_quantile_s(self, share: float) -> float:
        """Return the bound below which `share` of the answers' ages lie.

        Example:
            >>> LookupProgress(ages=(8, 2) + (0,) * 11, oldest_s=0.07).age_quantile_s(0.9)
            0.07
        """
        wanted, seen = share * sum(self.ages), 0
        for bound, count in zip(AGE_BOUNDS_S, self.ages, strict=False):
            seen += count
            if seen >= wanted:
                return min(bound, self.oldest_s)
        return self.oldest_s

    def to_json(self) -> dict[str, object]:
        """Return the lookups as one JSON object, for machines."""
        return {
            **self.counts(),
            "age_p50_s": round(self.age_quantile_s(0.5), 3),
            "age_p99_s": round(self.age_quantile_s(0.99), 3),
            "oldest_s": round(self.oldest_s, 3),
        }
