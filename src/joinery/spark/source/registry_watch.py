"""Tells which schema registries the tasks of a run wait for; of tasks on other machines nothing.

Invariant: looking never holds up a batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from joinery.model.progress import Waiting
from joinery.plan.relation import Relation
from joinery.spark.jvm import class_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPEN = "dev.joinery.kernel.door.RegistryWaits"
_EACH_S = 1.0


class RegistryWatch:
    """Looks, as often as it is asked but once a second, for registries that are waited for.

    Args:
        spark: A session with the kernel.
        relations: All that the run reads.
        wait: Called by target with what is waited for, and with None once it is over.
    """

    def __init__(
        self,
        spark: SparkSession,
        relations: Iterable[Relation],
        wait: Callable[[str, Waiting | None], None],
    ) -> None:
        self._spark, self._wait = spark, wait
        self._sources: dict[str, set[str]] = {}
        for each in relations:
            if each.registry is not None:
                addresses = ", ".join(each.registry.addresses)
                self._sources.setdefault(addresses, set()).add(each.source)
        self._told: dict[str, Waiting] = {}
        self._over: set[str] = set()
        self._due_at = 0.0

    def look(self) -> None:
        """Tell what is waited for now, and what no more."""
        if not self._sources or time.monotonic() < self._due_at:
            return
        self._due_at = time.monotonic() + _EACH_S
        self.note(json.loads(class_of(self._spark, _OPEN).open()))

    def note(self, found: Mapping[str, Mapping[str, Any]]) -> None:
        """Tell of waits, by the addresses of a registry; see `RegistryWait` of the kernel."""
        waits = {
            target: Waiting(
                product="",
                target=target,
                reason=each["reason"],
                attempts=each["attempts"],
                since=each["since"] / 1000,
                source=source,
            )
            for addresses, each in found.items()
            for source in self._sources.get(addresses, ())
            for target in (f'the schema registry of source "{source}"',)
        }
        # A run that gives a registry up ends before the second look.
        over = self._told.keys() - waits.keys()
        for target in over & self._over:
            del self._told[target]
            self._wait(target, None)
        self._over = over
        for target, waiting in waits.items():
            if self._told.get(target) != waiting:
                self._told[target] = waiting
                self._wait(target, waiting)
