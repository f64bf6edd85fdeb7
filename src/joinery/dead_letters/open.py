"""Where a project's dead letters are kept: a folder, or a Kafka topic."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joinery.dead_letters.folder import DeadLetterFolder, DeadLetterReader, DeadLetterWriter
from joinery.dead_letters.reader import folder_reader
from joinery.dead_letters.remote import RemoteDeadLetters
from joinery.errors import SpecError
from joinery.place.place import Place
from joinery.place.remote_path import RemotePath
from joinery.project.kafka import kafka_options
from joinery.project.kind import SourceSpec
from joinery.project.kinds import DEAD_LETTER_KINDS
from joinery.project.option import property_texts
from joinery.project.product import ProjectSpec
from joinery.project.run import RunSpec

_LOCK = ".replay.lock"
_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")
_SECURITY = ("security.", "sasl.", "ssl.")


class DeadLetterPlaceError(SpecError):
    """Dead letters cannot be kept where the project says."""

    code = "SPEC_DEAD_LETTERS"


def dead_letter_writer(spec: ProjectSpec, query: str) -> DeadLetterWriter:
    """Return where one query keeps its dead letters.

    Raises:
        DeadLetterPlaceError: The project names no place that can hold them.
    """
    if (folder := _beside_checkpoint(spec)) is not None:
        return RemoteDeadLetters(folder, query)
    kind, options = _place(spec)
    if kind == "files":
        return DeadLetterFolder(spec.path_of(str(options["path"])), query)
    from joinery.dead_letters.topic import DeadLetterTopic

    return DeadLetterTopic(_brokers(spec, options), str(options["topic"]))


def dead_letter_reader(spec: ProjectSpec) -> DeadLetterReader:
    """Return where all dead letters of a project are found.

    Raises:
        DeadLetterPlaceError: The project names no place that can hold them.
    """
    if (folder := dead_letter_folder(spec)) is not None:
        return folder_reader(folder)
    from joinery.dead_letters.topic import DeadLetterTopicReader

    _, options = _place(spec)
    return DeadLetterTopicReader(_brokers(spec, options), str(options["topic"]))


def dead_letter_folder(spec: ProjectSpec) -> Place | None:
    """Return the folder that has all dead letters of a project; None where a topic has them.

    Raises:
        DeadLetterPlaceError: The project names no place that can hold them.
    """
    if (folder := _beside_checkpoint(spec)) is not None:
        return folder
    kind, options = _place(spec)
    return spec.path_of(str(options["path"])) if kind == "files" else None


@contextmanager
def alone(spec: ProjectSpec) -> Iterator[None]:
    """Put letters back while no other process of this machine does; one that does is waited for.

    Raises:
        DeadLetterPlaceError: The project names no place that can hold them.
    """
    folder = dead_letter_folder(spec)
    place = folder if isinstance(folder, Path) else spec.scratch
    place.mkdir(parents=True, exist_ok=True)
    with (place / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def dead_letter_topic(spec: ProjectSpec) -> tuple[Any, str]:
    """Return the brokers and the name of the topic that dead letters go to.

    Raises:
        DeadLetterPlaceError: They do not go to Kafka.
    """
    kind, options = _place(spec)
    if kind != "kafka":
        raise DeadLetterPlaceError(f"dead letters go to {kind}", hint="Write {kafka: {topic: …}}.")
    return _brokers(spec, options), str(options["topic"])


def source_brokers(source: SourceSpec, *, all_properties: bool = True) -> Any:
    """Return the brokers of a Kafka source; of its properties all, or those of security."""
    from joinery.clients.kafka import Brokers

    options = kafka_options(source)
    properties = {
        name: value
        for name, value in options.properties.items()
        if all_properties or name.startswith(_SECURITY)
    }
    return Brokers(options.bootstrap, properties)


def own_dead_letter_topic(spec: ProjectSpec) -> str | None:
    """Return the topic that real time takes by itself, None where it takes none.

    It takes one where the project leaves `run.dead_letters` out and has one Kafka source.
    The name adds no dot to the project's, so a pattern over captured topics, whose names
    begin with a prefix and a dot, does not read it.
    """
    kafkas = sum(each.kind == "kafka" for each in spec.sources)
    if not spec.run.real_time or spec.run.dead_letters != RunSpec().dead_letters or kafkas != 1:
        return None
    return f"{_NOT_IN_TOPICS.sub('-', spec.name)}-dead-letters"


def _beside_checkpoint(spec: ProjectSpec) -> RemotePath | None:
    """Return the folder beside a remote checkpoint that has them, where the project says none."""
    checkpoint = spec.checkpoint
    if spec.run.dead_letters == RunSpec().dead_letters and isinstance(checkpoint, RemotePath):
        return checkpoint / "_dead_letters"
    return None


def _place(spec: ProjectSpec) -> tuple[str, dict[str, Any]]:
    """Return kind and options of the place, a named sink looked up."""
    if (topic := own_dead_letter_topic(spec)) is not None:
        return "kafka", {"topic": topic}
    sink = spec.run.dead_letters
    kind, options = sink.kind, dict(sink.options)
    if sink.use is not None:
        named = dict(spec.sinks).get(sink.use)
        if named is None:
            raise DeadLetterPlaceError(f'there is no sink "{sink.use}" for dead letters')
        kind, options = named.kind, {**dict(named.options), **options}
    if kind not in DEAD_LETTER_KINDS:
        raise DeadLetterPlaceError(
            f'dead letters cannot be kept in "{kind}"',
            hint="Write {files: {path: …}} or {kafka: {topic: …}}.",
        )
    return kind, options


def _brokers(spec: ProjectSpec, options: dict[str, Any]) -> Any:
    """Return the brokers that the place names, else those of the only Kafka source."""
    from joinery.clients.kafka import Brokers

    if options.get("bootstrap"):
        properties = property_texts(options.get("properties"))
        return Brokers(str(options["bootstrap"]), properties)
    sources = [each for each in spec.sources if each.kind == "kafka"]
    if len(sources) != 1:
        raise DeadLetterPlaceError(
            '"dead_letters" needs "bootstrap"',
            detail="It is the default only where the project has one Kafka source.",
            hint="Write {kafka: {topic: …, bootstrap: host:9092}}.",
        )
    return source_brokers(sources[0], all_properties=False)
