"""Looks for a person's value wherever a project keeps something, and for the key that opens it.

Folders are read byte for byte, archives member by member; a table by its rows, a topic by its
records. Limits: state that Spark has compressed is looked through as it is stored, where a text
stands readable only as far as it was not found to repeat. That it is sealed there follows from
where sealing happens, and is tested on state that is not compressed.

Invariant: what cannot be looked into is told, and never taken for clean.
"""

from __future__ import annotations

import base64
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from joinery.clients.postgres import database_errors, open_link
from joinery.clients.sql import quoted
from joinery.errors import JoineryError, SinkError
from joinery.model.type import Struct, opened
from joinery.place.place import local
from joinery.plan.product import OutboxForm, Plan, Product, Sink
from joinery.plan.stream import outputs_of
from joinery.project.captured import CAPTURED, spool_of
from joinery.project.kinds import SINKS
from joinery.project.product import ProjectSpec
from joinery.sinks.reader import LeavesOut, make_reader
from joinery.slices import slices
from joinery.vault.keys import Vault

_CHUNK = 1 << 20
_MOST_TOLD = 20
_READ_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Proof:
    """What looking for a value has found.

    Attributes:
        looked: What was looked into.
        found: Where it can be read, in words.
        unlooked: What could not be looked into, with the reason.
        sources: The logs of sources that hold it, which are not ours to erase.
    """

    looked: tuple[str, ...]
    found: tuple[str, ...]
    unlooked: tuple[str, ...]
    sources: tuple[str, ...]


def prove_erased(spec: ProjectSpec, plan: Plan, vault: Vault, name: bytes, value: str) -> Proof:
    """Look for a value of a subject in all that the project keeps, and for the subject's key.

    Args:
        spec: The project.
        plan: Its plan, which says where documents go.
        vault: May hold the key.
        name: The subject's, as the vault gives it.
        value: What is looked for.
    """
    look = _Look(spec, value)
    key = vault.known([name])
    if key.get(name) is not None:
        look.found.append(f"the key of the subject is in the vault, {vault.target}")
    root = local(spec.checkpoint, "erase --prove")
    look.folder("checkpoint, state, stage and logs", root)
    look.letters()
    for product in outputs_of(plan):
        for sink in product.sinks:
            look.sink(product, sink)
    look.sources()
    return Proof(tuple(look.looked), tuple(look.found), tuple(look.unlooked), tuple(look.logs))


class _Look:
    def __init__(self, spec: ProjectSpec, value: str) -> None:
        self._spec, self._value = spec, value
        self._needles = _spellings(value)
        self.looked: list[str] = []
        self.found: list[str] = []
        self.unlooked: list[str] = []
        self.logs: list[str] = []

    def folder(self, what: str, place: Path) -> None:
        self.looked.append(what)
        self.found += [f"{what}: {each}" for each in self._holding(place)]

    def letters(self) -> None:
        sink = self._spec.run.dead_letters
        named = dict(self._spec.sinks).get(sink.use) if sink.use is not None else sink
        options = dict(named.options) if named is not None else {}
        if named is not None and named.kind == "files":
            self.folder("dead letters", self._spec.path_of(str(options["path"])))
        else:
            self.unlooked.append("dead letters: they are in a topic")

    def sink(self, product: Product, sink: Sink) -> None:
        name, options = product.name, dict(sink.options)
        what = f"sink {sink.kind} of {name}"
        target = SINKS.target(sink.kind, options, name, self._spec.path_of("."))
        address = target.address if target is not None else ""
        match sink.kind:
            case "files":
                self.folder(what, Path(str(address)) / name)
            case "sqlite":
                path = Path(str(address))
                self.looked.append(what)
                for each in (path, *path.parent.glob(f"{path.name}-*")):
                    self.found += [f"{what}: {found}" for found in self._holding(each)]
            case "postgres":
                self._try(
                    what, lambda: self._in_postgres(what, SINKS.read(sink.kind, options), name)
                )
            case "kafka":
                self._try(
                    what, lambda: self._in_kafka(what, SINKS.read(sink.kind, options), product)
                )
            case _:
                self._try(what, lambda: self._in_documents(what, sink, product))

    def sources(self) -> None:
        for source in self._spec.sources:
            if source.kind == "files":
                folder = self._spec.path_of(str(dict(source.options)["path"]))
                self.logs += [f"source {source.name}: {each}" for each in self._holding(folder)]
            elif source.kind in CAPTURED:
                what = f"spool of source {source.name}"
                self.folder(what, spool_of(self._spec, source))
                self.logs.append(f"source {source.name}: not looked into")
            else:
                self.logs.append(f"source {source.name}: not looked into")

    def _try(self, what: str, look: Any) -> None:
        try:
            look()
            self.looked.append(what)
        except JoineryError as error:
            self.unlooked.append(f"{what}: {error.message}")

    def _in_postgres(self, what: str, options: Any, product: str) -> None:
        table = quoted(options.table or product)
        place = f"{quoted(options.schema)}.{table}" if options.schema else table
        link = open_link(options.url)
        try:
            # The text of a row doubles its quotes; that of JSON writes them as JSON does.
            sql = (
                f"SELECT count(*) FROM {place} AS t WHERE EXISTS (SELECT 1 FROM unnest(%s::text[])"
                " AS spelled WHERE position(spelled IN to_jsonb(t)::text) > 0"
                " OR position(spelled IN t::text) > 0)"
            )
            row = link.execute(sql, (_texts_in_json(self._value),)).fetchone()
            if row is not None and row[0]:
                self.found.append(f"{what}: {row[0]} rows of {place}")
        except database_errors() as error:
            self.unlooked.append(f"{what}: {type(error).__name__}")
        finally:
            link.close()

    def _in_documents(self, what: str, sink: Sink, product: Product) -> None:
        value = opened(product.output)
        assert isinstance(value, Struct)  # as it was
        folder = self._spec.path_of(".")
        options = {name: each for name, each in sink.options if name != "spool"}
        reader = make_reader(
            sink.kind, options, product=product.name, folder=folder, key=product.key, value=value
        )
        documents = 0
        with closing(reader):
            for some in slices(reader.keys(), _READ_AT_ONCE):
                held = [f"{key} {each.value}".encode() for key, each in reader.read(some).items()]
                documents += sum(any(needle in each for needle in self._needles) for each in held)
        if documents:
            self.found.append(f"{what}: {documents} of its documents")
        if isinstance(reader, LeavesOut) and reader.left_out:
            raise SinkError(f"{reader.left_out} of its documents are not known by their keys")

    def _in_kafka(self, what: str, options: Any, product: Product) -> None:
        from joinery.clients.kafka_reader import read_topic
        from joinery.sinks.outbox import read_events

        brokers, topic = options.brokers(), options.topic
        if isinstance(product.form, OutboxForm):
            records = read_events(brokers, topic)
        else:
            records = ((topic, each) for each in read_topic(brokers, topic))
        holding = Counter(
            name for name, each in records if self._is_in(each.key) or self._is_in(each.value)
        )
        self.found += [f"{what}: {n} records of topic {name}" for name, n in holding.items()]

    def _is_in(self, text: bytes | None) -> bool:
        return text is not None and any(needle in text for needle in self._needles)

    def _holding(self, place: Path) -> list[str]:
        found = list(_files_with(place, self._needles))
        more = len(found) - _MOST_TOLD
        return [*found[:_MOST_TOLD], *([f"and {more} more files"] if more > 0 else [])]


def _spellings(value: str) -> tuple[bytes, ...]:
    """Return a value as it may be written: as it is, in JSON, in base64."""
    texts = _texts(value)
    raw = value.encode()
    # Whatever stands before it in the bytes, the middle of it is one of three.
    coded = {base64.b64encode(bytes(shift) + raw)[4 if shift else 0 : -4] for shift in range(3)}
    return (*(each.encode() for each in sorted(texts)), *(each for each in coded if len(each) > 8))


def _texts(value: str) -> set[str]:
    """Return a value as it is, and as JSON may write it."""
    return {value, _in_json(value), json.dumps(value)[1:-1]}


def _texts_in_json(value: str) -> list[str]:
    """Return the same, and each as JSON writes that text once more."""
    texts = _texts(value)
    return sorted(texts | {_in_json(each) for each in texts})


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _files_with(place: Path, needles: Iterable[bytes]) -> Iterator[str]:
    files = [place] if place.is_file() else sorted(place.rglob("*")) if place.is_dir() else []
    sought = tuple(needles)
    for file in files:
        if not file.is_file():
            continue
        if zipfile.is_zipfile(file):
            yield from _members_with(file, sought)
            continue
        with file.open("rb") as stream:
            if _has(stream, sought):
                yield str(file)


def _members_with(file: Path, needles: tuple[bytes, ...]) -> Iterator[str]:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            with archive.open(name) as stream:
                if _has(stream, needles):
                    yield f"{file}: {name}"


def _has(stream: IO[bytes], needles: tuple[bytes, ...]) -> bool:
    longest = max(map(len, needles))
    before = b""
    while chunk := stream.read(_CHUNK):
        whole = before + chunk
        if any(needle in whole for needle in needles):
            return True
        before = whole[-longest:]
    return False
