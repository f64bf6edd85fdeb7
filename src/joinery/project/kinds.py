"""What a project may name by its kind: sinks, lookup stores, solutions, their stores, formats.

A kind is one of Joinery's own, or an entry point of an installed package. Reading a project
loads no more than the kinds that it names; what a kind is written with loads its driver only
where it connects.

Invariant: a name means one kind; a package cannot replace one of Joinery's own.
"""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from joinery.errors import (
    JoineryError,
    LookupOptionError,
    SinkOptionError,
    SolutionOptionError,
    SpecError,
    StoreOptionError,
)
from joinery.project.function import imported
from joinery.project.option import Option, Target, flag, options, options_in, options_of, size, word

_LOADERS = frozenset({"importlib", "importlib_metadata"})
"""Folders of what loads entry points: Python's own, and its backport if a library has it."""


class UnknownKindError(SpecError):
    """No kind of this name is installed here."""

    code = "SPEC_UNKNOWN_SINK"


class PackageError(SpecError):
    """What an installed package adds cannot be used."""

    code = "SPEC_PACKAGE"


@dataclass(frozen=True, slots=True)
class Registry:
    """The kinds of one sort, by name.

    Attributes:
        group: Of the entry points by which packages add kinds.
        noun: What one is called in messages.
        code: Of the error that a name means none.
        built_in: Joinery's own, each as `module:attribute`.
        has: What each thing that a kind makes has to have.
        refusal: Raised where options are not what their kind takes.
        beside: What may stand beside the options of any kind.
        of: What the kinds belong to, behind their name in messages.
    """

    group: str
    noun: str
    code: str
    built_in: Mapping[str, str]
    has: tuple[str, ...] = ()
    refusal: type[SpecError] = SpecError
    beside: Mapping[str, Option] = field(default_factory=dict)
    of: str = ""

    def names(self) -> tuple[str, ...]:
        """Return the names of all kinds that are installed, Joinery's own first."""
        return (*self.built_in, *sorted(self._added().keys() - self.built_in.keys()))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._added()

    def find(self, name: str) -> Any:
        """Return what a name means.

        Raises:
            UnknownKindError: Nothing that is installed has this name.
            PackageError: What has it cannot be imported, or says nothing of its kind.
        """
        if name in self.built_in:
            return imported(self.built_in[name])
        if entries := self._added().get(name):
            return self._loaded(name, entries)
        known = self.names()
        near = difflib.get_close_matches(name, known, n=1)
        raise UnknownKindError(
            f'{self.noun} "{name}" is not installed',
            code=self.code,
            detail=f"Installed are {', '.join(known)}.",
            hint=f'Use "{near[0]}".' if near else "",
        )

    def options(self, name: str) -> type | None:
        """Return the class of a kind's options; None where its package declares none."""
        try:
            found = self.find(name) if name in self else None
        except PackageError:
            return None  # `broken` tells why
        return found if isinstance(found, type) else None

    def broken(self, name: str) -> PackageError | None:
        """Return why a kind cannot be used though it is installed, None where it can be."""
        try:
            _ = self.find(name) if name in self else None
        except PackageError as error:
            return error
        return None

    def says(self, name: str, word: str) -> bool:
        """Return whether the options of a kind say of all of its kind what a word means."""
        return bool(getattr(self.options(name), word, False))

    def known(self, name: str) -> Mapping[str, Option] | None:
        """Return what may stand under a kind in a project file; None where that is not known."""
        found = self.options(name)
        return None if found is None else {**options_in(found), **self.beside}

    def read(self, name: str, given: Mapping[str, object]) -> Any:
        """Return the options of a kind with the values that are given.

        Raises:
            SpecError: They are not what the kind takes, or there is no such kind.
        """
        own = {key: value for key, value in given.items() if key not in self.beside}
        return options_of(self.find(name), own, f'{self.noun} "{name}"{self.of}', self.refusal)

    def make(self, name: str, given: Mapping[str, object], *where: Any) -> Any:
        """Return what a kind makes of options; a plain function of a package gets them as given.

        Args:
            name: The kind's.
            given: Its options.
            where: What it is made for, and the place where it stands last.

        Raises:
            SpecError: As `read`; or the package's options cannot make anything.
        """
        found = self.find(name)
        if isinstance(found, type):
            make = self._method(self.read(name, given), name, "make")
            with self._telling(name, "make"):
                return self._whole(name, make(*where))
        own = {key: value for key, value in given.items() if key not in self.beside}
        with self._telling(name, "make"):
            return self._whole(name, found(*where[:-1], own, where[-1]))

    def target(
        self, name: str, given: Mapping[str, object], made_for: str, folder: Path
    ) -> Target | None:
        """Return what a kind's options mean; None where that cannot be told.

        Args:
            name: The kind's.
            given: Its options.
            made_for: The product or the relation, which names the table unless options do.
            folder: Where relative paths begin.

        Raises:
            SpecError: The package's options cannot tell it.
        """
        kind = self.options(name)
        if kind is None:
            return None
        self._method(kind, name, "target")
        try:
            declared = self.read(name, given)
        except SpecError:
            return None
        with self._telling(name, "target"):
            found: Target | None = declared.target(made_for, folder)
        if found is not None and not isinstance(found, Target):
            raise self._unfit(name, f'"target" returns {type(found).__name__}, not a Target')
        return found

    def _method(self, options: Any, name: str, method: str) -> Callable[..., Any]:
        """Return a method that the options of each kind have to have; packages may forget it."""
        if not hasattr(options, method):
            kind = options if isinstance(options, type) else type(options)
            raise self.refusal(
                f'the options of {self.noun} "{name}" have no method "{method}"',
                detail=f"They are declared by {kind.__module__}:{kind.__qualname__}.",
                hint="Use another version of the package, or fix it.",
            )
        found: Callable[..., Any] = getattr(options, method)
        return found

    def _added(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points of packages by name: one each, unless packages disagree."""
        found: dict[str, list[EntryPoint]] = {}
        for each in entry_points(group=self.group) if self.group else ():
            found.setdefault(each.name, []).append(each)
        return found

    def _loaded(self, name: str, entries: list[EntryPoint]) -> Any:
        packages = sorted({_package(each) for each in entries})
        if len(packages) > 1:
            raise PackageError(
                f'{self.noun} "{name}" is in several packages: {", ".join(packages)}',
                hint="Uninstall all of them but one.",
            )
        try:
            found = entries[0].load()
        except (Exception, SystemExit) as error:
            raise PackageError(
                f'{self.noun} "{name}" of package "{packages[0]}" cannot be imported',
                detail=f"{entries[0].value}: {_raised(error)}.",
                hint="Reinstall or fix the package.",
            ) from error
        if is_dataclass(found) if isinstance(found, type) else callable(found):
            return found
        raise self._unfit(name, "it is neither a class made by `options` nor a function")

    def _whole(self, name: str, made: Any) -> Any:
        """Return what a kind made, once it is seen to have all that it needs."""
        if name not in self.built_in and not all(hasattr(made, each) for each in self.has):
            lacking = next(each for each in self.has if not hasattr(made, each))
            what = f'"make" returns {type(made).__name__}, which has no "{lacking}"'
            raise self._unfit(name, what)
        return made

    def _unfit(self, name: str, why: str) -> PackageError:
        packages = ", ".join(_package(each) for each in self._added().get(name, ()))
        return PackageError(
            f'{self.noun} "{name}" of package "{packages}" cannot be used: {why}',
            hint="Use another version of the package, or fix it.",
        )

    @contextmanager
    def _telling(self, name: str, method: str) -> Iterator[None]:
        """Tell what a package's method raises as its own; what Joinery's raise is as it is."""
        try:
            yield
        except JoineryError:
            raise
        except (Exception, SystemExit) as error:
            if name in self.built_in:
                raise
            raise self._unfit(name, f'"{method}" raised {_raised(error)}') from error


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _raised(error: BaseException) -> str:
    """Return what was raised, and where, unless that was before the package's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    at = [each for each in frames if not _is_loading(each.filename)]
    told = f": {error}" if str(error) else ""
    where = f" ({Path(at[-1].filename).name}:{at[-1].lineno})" if at else ""
    return f"{type(error).__name__}{told}{where}"


def _is_loading(file: str) -> bool:
    return file.startswith(("<", __file__)) or not _LOADERS.isdisjoint(Path(file).parts)


@options
class DeliveryOptions:
    """What may stand beside the options of any sink."""

    parallel: str = word(
        "Who writes: `tasks` of the executors, each its part of a batch, or the `driver`; by"
        " default tasks where the sink is not atomic anyway.",
        ("tasks", "driver"),
        default="",
    )
    spool: bool = flag(
        "Keep batches on disk and write them at the target's own pace.", default=False
    )
    spool_max_bytes: int = size("When the spool is this large, the run waits.", default="1 GiB")


@options
class RevealOptions:
    """What may stand beside the options of any sink, for products with personal columns."""

    reveal: bool = flag("Write personal columns in clear; without it they are null.", default=False)


SINKS = Registry(
    "joinery.sinks",
    "sink",
    "SPEC_UNKNOWN_SINK",
    {
        "files": "joinery.sinks.files:FilesOptions",
        "kafka": "joinery.sinks.kafka:KafkaSinkOptions",
        "postgres": "joinery.sinks.postgres:PostgresOptions",
        "sqlite": "joinery.sinks.sqlite:SqliteOptions",
        "opensearch": "joinery.sinks.opensearch:OpenSearchOptions",
        "redis": "joinery.sinks.redis:RedisOptions",
        "foreach": "joinery.sinks.foreach:ForeachOptions",
        "console": "joinery.sinks.console:ConsoleOptions",
    },
    ("guarantee", "target", "open", "write", "close"),
    SinkOptionError,
    {**options_in(DeliveryOptions), **options_in(RevealOptions)},
)
DEAD_LETTER_KINDS = ("files", "kafka")
"""The kinds of sinks that can keep dead letters."""

SOURCES = Registry(
    "",  # no package adds one: a source has to bring more than its options
    "source",
    "SPEC_UNKNOWN_KEY",
    {
        "files": "joinery.project.kafka:FilesSourceOptions",
        "kafka": "joinery.project.kafka:KafkaOptions",
        "postgres": "joinery.project.postgres:PostgresSourceOptions",
        "mysql": "joinery.project.mysql:MysqlSourceOptions",
    },
)
VAULTS = Registry(
    "",
    "vault",
    "SPEC_UNKNOWN_KEY",
    {
        "sqlite": "joinery.project.vault:SqliteVaultOptions",
        "postgres": "joinery.project.vault:PostgresVaultOptions",
    },
)
LOOKUP_STORES = Registry(
    "joinery.lookups",
    "lookup store",
    "SPEC_UNKNOWN_LOOKUP_STORE",
    {
        "sqlite": "joinery.lookups.sqlite:SqliteOptions",
        "postgres": "joinery.lookups.postgres:PostgresOptions",
        "redis": "joinery.lookups.redis:RedisOptions",
        "dynamodb": "joinery.lookups.dynamodb:DynamoOptions",
        "http": "joinery.lookups.http:HttpOptions",
        "function": "joinery.lookups.function:FunctionOptions",
    },
    ("target", "most_keys", "open", "fetch", "close"),
    LookupOptionError,
)
KEY_VALUE_STORES = Registry(
    "joinery.stores",
    "store",
    "SPEC_UNKNOWN_STORE",
    {
        "rocksdb": "joinery.solutions.key_value.rocksdb:RocksDbOptions",
        "redis": "joinery.solutions.key_value.redis:RedisOptions",
        "dynamodb": "joinery.solutions.key_value.dynamodb:DynamoOptions",
        "memory": "joinery.solutions.key_value.memory:MemoryOptions",
    },
    ("get_many", "put_many", "scan", "close"),
    StoreOptionError,
    of=' of "kv"',
)
SOLUTIONS = Registry(
    "joinery.solutions",
    "solution",
    "RUN_SOLUTION",
    {
        "spark-state": "joinery.solutions.spark_state.options:SparkStateOptions",
        "rdbms-trigger": "joinery.solutions.trigger.options:TriggerOptions",
        "rdbms-store": "joinery.solutions.relational.options:RdbmsStoreOptions",
        "kv": "joinery.solutions.key_value.options:KvOptions",
        "dynamodb": "joinery.solutions.single_table.options:DynamoOptions",
        "auto": "joinery.solutions.auto:AutoOptions",
    },
    ("apply", "forget", "close"),
    SolutionOptionError,
)


@dataclass(frozen=True, slots=True)
class Format:
    """How a message tells a change; the kernel has a decoder under the same name.

    Attributes:
        name: As a project file writes it.
        message: What a message is.
        events: Change events, with an operation and images before and after; else flat rows.
        registry: Messages are bytes, by schemas that a schema registry holds; else text, so that
            one can be a line of a change file.
    """

    name: str
    message: str
    events: bool
    registry: bool


DEBEZIUM_JSON = Format(
    "debezium-json",
    "a change event of Debezium as JSON, with or without schemas",
    events=True,
    registry=False,
)
DEBEZIUM_AVRO = Format("debezium-avro", "the same as Avro", events=True, registry=True)
JSON = Format("json", "a flat row as JSON", events=False, registry=False)
AVRO = Format("avro", "a flat row as Avro", events=False, registry=True)
FORMATS: Mapping[str, Format] = {
    each.name: each for each in (DEBEZIUM_JSON, DEBEZIUM_AVRO, JSON, AVRO)
}
DEFAULT_FORMAT = JSON


def format_of(*, events: bool, registry: bool) -> Format:
    """Return the format of messages of this make."""
    made = (events, registry)
    return next(each for each in FORMATS.values() if (each.events, each.registry) == made)


DEFAULT_SOLUTION = "spark-state"
AUTO = "auto"
