"""The records of logs, read from their beginning without a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.app.log_start import first_offsets, gone_of
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import SpecError
from joinery.model.change import Change, Key
from joinery.model.type import DataType
from joinery.observe.frontier import Frontier, seen_sizes
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.project.product import ProjectSpec
from joinery.provenance.live_rows import Record
from joinery.provenance.logs import Ordered
from joinery.provenance.sought import Search, sought_columns
from joinery.provenance.told import Naming, file_names, key_text, keys_named
from joinery.semantics.read_change import typed
from joinery.semantics.render import map_key_text
from joinery.solutions.spark_state.decoded import as_decoded, told_by_deletes
from joinery.vault.keys import blind_index
from joinery.vault.tables import open_vault

if TYPE_CHECKING:
    from joinery.spark.source.door_process import DoorProcess
    from joinery.spark.source.file_feed import FileChanges

_SHOWN = 100
"""How many changes are read for keys that show what keys look like."""


class WhyError(SpecError):
    """A question about a document cannot be answered as it is asked."""

    code = "WHY"


@dataclass(frozen=True, slots=True)
class About:
    """What is asked of logs.

    Attributes:
        find: Returns the changes that it is about.
        relation: The relation whose key was asked for.
    """

    find: Callable[[Search], Collection[int]]
    relation: Relation


@dataclass(frozen=True, slots=True)
class Logs:
    """What the logs of some relations tell, in the order in which they were written.

    Attributes:
        ordered: What orders records of different logs.
        read: How many records were read, by relation.
        left: How many were not, by relation; empty where all were.
        dead: How many records at least are dead letters, by topic.
        gone: What is gone of logs that no longer have all that was read of them, by relation.
        ignored: How many updates and deletes at least were ignored, by relation that is `append`.
        logged_s: By relation of a topic in Kafka, when that took each record, by its place.
        blind: Returns the blind index by which a personal key is known.
        until: The last that was read, as a message names it; empty where all was.
    """

    changes: Sequence[Change]
    naming: Naming
    ordered: Ordered
    read: Mapping[str, int]
    left: Mapping[str, int]
    dead: Mapping[str, int]
    gone: Mapping[str, str]
    ignored: Mapping[str, int]
    logged_s: Mapping[str, Mapping[tuple[int, int], float]]
    blind: Callable[[str], str] = str
    until: str = ""

    @staticmethod
    def of(
        spec: ProjectSpec,
        *products: Product,
        records: int,
        at: str = "",
        frontier: Frontier | None = None,
        about: About | None = None,
        process: DoorProcess | None = None,
    ) -> Logs:
        """Return those that some products read, decoded as their queries decode them.

        What was added to a file after a query saw it is left out, since the query reads no more;
        so are the records of a topic from before the offset at which the query began.

        Args:
            spec: The project, which names the folders.
            products: The plans of the products.
            records: How many records of a topic are read at most.
            at: Only what was written up to then, a moment as `in_written_order` takes it; empty
                for all.
            frontier: Only what a query had applied when it came to this; None for all.
            about: What is asked about; where there is none of it, changes of its relation that
                show what keys look like. None for all.
            process: That was started before, which may look for it.

        Raises:
            WhyError: A format needs a registry, or topics are named by a pattern.
            MomentError: `at` is not a moment of these logs.
            RunError: Java is missing, or the files cannot be read.
        """
        from joinery.spark.source.log_order import unreadable

        relations = tuple(dict.fromkeys(one for each in products for one in each.relations))
        for each in relations:
            if reason := unreadable(spec, each):
                raise WhyError(f'why cannot read relation "{each.name}", which {reason}')
        queries = dict.fromkeys(each.query for each in products)
        checkpoints = [QueryPaths.of(spec.checkpoint, each).checkpoint for each in queries]
        asked = _Asked(spec, products, relations, checkpoints, records, frontier)
        found = None if about is None else asked.about(about, at, process)
        return asked.all(at, about) if found is None else found

    def key(self, relation: Relation, text: str) -> Key:
        """Return the key that a text names, of those that the logs tell of.

        Raises:
            WhyError: They tell of none such, or of several.
        """
        keys = dict.fromkeys(tuple(each.key.values()) for each in self._of(relation.name))
        asked = text if not relation.has_personal_key else _known_by(relation, text, self.blind)
        found = keys_named(relation, keys, text) or keys_named(relation, keys, asked)
        if len(found) > 1:
            named = [key_text(relation, each) for each in found[:3]]
            raise WhyError(
                f'"{text}" names {len(found)} keys of {relation.name}: {", ".join(named)}',
                hint=f"Write one as a JSON array: '{named[0]}'.",
            )
        if found:
            return found[0]
        known = ", ".join(key_text(relation, each) for each in [*keys][:3])
        raise WhyError(
            f"no record of {relation.name} has the key {text}",
            detail=" ".join(self.unread(relation)),
            hint=f"Keys look like {known}." if known else "",
        )

    def _of(self, relation: str) -> Iterable[Change]:
        """Return the changes of one relation, without those of the others being made."""
        from joinery.spark.source.change_log import ChangeLog

        if isinstance(self.changes, ChangeLog):
            return self.changes.of_relation(relation)
        return (each for each in self.changes if each.relation == relation)

    def unread(self, relation: Relation) -> list[str]:
        """Return why a log may tell of more than was read."""
        told = [f"Records after {self.until} were left out."] if self.until else []
        if left := self.left.get(relation.name, 0):
            told.append(f"{left:,} more records were not read; --records takes more.")
        if gone := self.gone.get(relation.name):
            told.append(f"Its log no longer has {gone}.")
        if dead := self.dead.get(relation.topic, 0):
            told.append(f"At least {dead:,} records of {relation.topic} are dead letters.")
        return told


class _Asked:
    """What is asked of the logs of some relations; see `Logs.of`."""

    def __init__(
        self,
        spec: ProjectSpec,
        products: Sequence[Product],
        relations: Sequence[Relation],
        checkpoints: Sequence[Place],
        records: int,
        frontier: Frontier | None,
    ) -> None:
        self._spec, self._products, self._relations = spec, products, relations
        self._most, self._frontier = records, frontier
        self._seen, self._begun = seen_sizes(checkpoints), first_offsets(spec, checkpoints)
        self._come = [Frontier.read(each) for each in checkpoints]
        self._decoded = as_decoded(spec, relations, *products)
        self._told = told_by_deletes(products)

    def about(self, asked: About, at: str, process: DoorProcess | None) -> Logs | None:
        """Return what a search finds; None where there are too many changes, or no Kafka client."""
        from joinery.artifact import ArtifactError
        from joinery.spark.source.search_process import TooManyChangesError

        columns: dict[str, set[str]] = {}
        for product in self._products:
            for name, sought in sought_columns(product).items():
                columns.setdefault(name, set()).update(sought)
        try:
            return self._found(asked, columns, at, process)
        except (TooManyChangesError, ArtifactError):
            return None

    def _found(
        self,
        asked: About,
        columns: Mapping[str, Collection[str]],
        at: str,
        process: DoorProcess | None,
    ) -> Logs:
        from joinery.spark.source.log_order import moment_of, one_database
        from joinery.spark.source.log_search import log_search

        moment, one = moment_of(self._spec, self._relations, at), one_database(self._relations)
        with log_search(
            self._spec,
            self._decoded,
            most=self._most,
            told=self._told,
            seen=self._seen,
            begun=self._begun,
            columns=columns,
            process=process,
        ) as search:
            numbers = asked.find(search) or search.first(asked.relation, _SHOWN)
            by, changes = search.in_written_order(numbers, one_database=one, moment=moment)
        if self._frontier is not None:
            has = self._has(search.files)
            changes = [each for each in changes if has(Record.of(each))]
        logs = self._logs(
            changes,
            search.files,
            ordered=by,
            read=search.read,
            left=search.left,
            dead=search.dead,
            ignored=search.ignored,
        )
        return replace(logs, until=at or logs.until)

    def all(self, at: str, about: About | None) -> Logs:
        """Return all that the logs tell; of it what a search finds, where it finds something."""
        from joinery.spark.source.file_feed import read_files
        from joinery.spark.source.log_order import in_written_order

        found = read_files(
            self._spec,
            self._decoded,
            most=self._most,
            told=self._told,
            seen=self._seen,
            begun=self._begun,
        )
        ordered, changes = in_written_order(self._spec, self._relations, found, at)
        if about is not None and (begins := about.find(found.changes.search())):
            changes = changes.among(begins)
        if self._frontier is not None:
            has = self._has(found.files)
            changes = changes.reordered(
                place for place, each in enumerate(changes.records()) if has(each)
            )
        dead: dict[str, int] = {}
        for letter in found.letters:
            topic = str(letter["topic"])
            dead[topic] = dead.get(topic, 0) + 1
        logs = self._logs(
            changes,
            found.files,
            ordered=ordered,
            read={name: counts.get("read", 0) for name, counts in found.counts.items()},
            left=found.left,
            dead=dead,
            ignored={name: count for name in found.counts if (count := _ignored(found, name))},
        )
        until = at or logs.until
        return replace(logs, logged_s=found.logged_s, until=until)

    def _has(self, files: Mapping[str, Mapping[int, Path]]) -> Callable[[Record], bool]:
        from joinery.spark.source.log_order import reached

        assert self._frontier is not None
        return reached(self._frontier, self._relations, files)

    def _logs(
        self,
        changes: Sequence[Change],
        files: Mapping[str, Mapping[int, Path]],
        *,
        ordered: Ordered,
        read: Mapping[str, int],
        left: Mapping[str, int],
        dead: Mapping[str, int],
        ignored: Mapping[str, int],
    ) -> Logs:
        topics = {each.name: each.topic for each in self._relations}
        return Logs(
            changes,
            Naming(topics, file_names(files)),
            ordered,
            read,
            left,
            dead,
            gone_of(self._spec, self._relations, self._seen, self._begun, self._come),
            ignored,
            {},
            _blind(self._spec, self._relations),
            "" if self._frontier is None else "that batch",
        )


def _ignored(found: FileChanges, relation: str) -> int:
    counts = found.counts[relation]
    return counts.get("ignored_updates", 0) + counts.get("ignored_deletes", 0)


def asked_key(name: str, columns: Mapping[str, DataType], key: object) -> str:
    """Return the text that names a key which is given as Python has it.

    Args:
        name: Whose key it is.
        columns: The key's, with their types.
        key: A text, which is taken as it is; or its value, or its values by column or in order.

    Raises:
        WhyError: There are not as many values as the key has columns.
    """
    if isinstance(key, str):
        return key
    if isinstance(key, Mapping):
        key = [key[each] for each in columns if each in key]
    values = list(key) if isinstance(key, list | tuple) else [key]
    if len(values) != len(columns):
        raise WhyError(
            f"the key of {name} does not have {len(values)} columns",
            hint=f"Its key is {', '.join(columns)}.",
        )
    types = [*columns.values()]
    try:
        return map_key_text([typed(*each) for each in zip(values, types, strict=True)], types)
    except (TypeError, ValueError, AttributeError, ArithmeticError):  # of another type
        if len(values) > 1 and any(
            each is None or isinstance(each, list | tuple) for each in values
        ):
            return json.dumps(values, ensure_ascii=False, default=str)
        return ",".join(map(str, values))


def _blind(spec: ProjectSpec, relations: Sequence[Relation]) -> Callable[[str], str]:
    """Return what gives the blind index of a value; as it is where no key is personal."""
    if not any(each.has_personal_key for each in relations):
        return lambda text: text
    with closing(open_vault(spec)) as vault:
        return partial(blind_index, vault.of_indexes)


def _known_by(relation: Relation, text: str, blind: Callable[[str], str]) -> str:
    """Return the text of the key that rows are known by, from that of the key as it is declared."""
    parts = [text] if len(relation.key) == 1 else text.split(",")
    if len(parts) != len(relation.key):
        return text
    pairs = zip(parts, relation.key, relation.key_names, strict=True)
    return ",".join(each if key == name else blind(each) for each, key, name in pairs)
