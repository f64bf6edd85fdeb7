"""What a project may name by its kind: sinks, lookup stores, solutions and their stores.

A kind is one of Joinery's own, or an entry point of an installed package. Reading a project
loads no more than the kinds that it names; what a kind is written with loads its driver only
where it connects.

Invariant: a name means one kind; a package cannot replace one of Joinery's own.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from joinery.errors import SpecError


class UnknownKindError(SpecError):
    """No kind of this name is installed here."""

    code = "SPEC_UNKNOWN_SINK"


@dataclass(frozen=True, slots=True)
class Registry:
    """The kinds of one sort, by name.

    Attributes:
        group: Of the entry points by which packages add kinds.
        noun: What one is called in messages.
        code: Of the error that a name means none.
        built_in: Joinery's own, each as `module:attribute`.
    """

    group: str
    noun: str
    code: str
    built_in: Mapping[str, str]

    def names(self) -> tuple[str, ...]:
        """Return the names of all kinds that are installed, Joinery's own first."""
        return (*self.built_in, *sorted(self._added().keys() - self.built_in.keys()))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._added()

    def find(self, name: str) -> Any:
        """Return what a name means.

        Raises:
            UnknownKindError: Nothing that is installed has this name.
        """
        if name in self.built_in:
            module, _, attribute = self.built_in[name].partition(":")
            return getattr(import_module(module), attribute)
        if entry := self._added().get(name):
            return entry.load()
        known = self.names()
        near = difflib.get_close_matches(name, known, n=1)
        raise UnknownKindError(
            f'{self.noun} "{name}" is not installed',
            code=self.code,
            detail=f"Installed are {', '.join(known)}.",
            hint=f'Use "{near[0]}".' if near else "",
        )

    def _added(self) -> dict[str, EntryPoint]:
        return {each.name: each for each in entry_points(group=self.group)}


SINKS = Registry(
    "joinery.sinks",
    "sink",
    "SPEC_UNKNOWN_SINK",
    {
        "files": "joinery.sinks.files:files_sink",
        "kafka": "joinery.sinks.kafka:kafka_sink",
        "postgres": "joinery.sinks.postgres:postgres_sink",
        "sqlite": "joinery.sinks.sqlite:sqlite_sink",
        "opensearch": "joinery.sinks.opensearch:opensearch_sink",
        "redis": "joinery.sinks.redis:redis_sink",
        "foreach": "joinery.sinks.foreach:foreach_sink",
        "console": "joinery.sinks.console:console_sink",
    },
)
LOOKUP_STORES = Registry(
    "joinery.lookups",
    "lookup store",
    "SPEC_UNKNOWN_LOOKUP_STORE",
    {
        "sqlite": "joinery.lookups.sqlite:sqlite_store",
        "postgres": "joinery.lookups.postgres:postgres_store",
        "redis": "joinery.lookups.redis:redis_store",
        "dynamodb": "joinery.lookups.dynamodb:dynamodb_store",
        "http": "joinery.lookups.http:http_store",
        "function": "joinery.lookups.function:function_store",
    },
)
KEY_VALUE_STORES = Registry(
    "joinery.stores",
    "store",
    "SPEC_UNKNOWN_STORE",
    {
        "rocksdb": "joinery.solutions.key_value.rocksdb:rocksdb_store",
        "redis": "joinery.solutions.key_value.redis:redis_store",
        "dynamodb": "joinery.solutions.key_value.dynamodb:dynamodb_store",
        "memory": "joinery.solutions.key_value.memory:memory_store",
    },
)
STORE_SOLUTIONS = Registry(
    "joinery.solutions",
    "solution",
    "RUN_SOLUTION",
    {
        "rdbms-trigger": "joinery.solutions.trigger.open:rdbms_trigger",
        "rdbms-store": "joinery.solutions.relational.open:rdbms_store",
        "kv": "joinery.solutions.key_value.open:kv",
        "dynamodb": "joinery.solutions.single_table.open:dynamodb",
    },
)
