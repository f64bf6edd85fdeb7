"""`joinery table add`: a table of a source joins the project, and a product, by one command.

Where `joinery table add` learns what a table is: a database, a registry, or a topic.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from joinery.cli.ending import DONE, tell_error
from joinery.delivery.action_log import ActionLog
from joinery.errors import JoineryError, ProjectErrors
from joinery.files import alone_in, replace_text
from joinery.model.table import SourceTable
from joinery.plan.build import examine
from joinery.project.edit import insert
from joinery.project.kafka import kafka_options
from joinery.project.kind import SourceSpec
from joinery.project.load import load_parts, project_files
from joinery.project.node import embed_data
from joinery.project.onboard import (
    OnboardError,
    Suggestion,
    TableChoices,
    chosen,
    large_warning,
    relation_for,
    suggestions_for,
    warnings_of,
)
from joinery.project.product import ProjectSpec
from joinery.project.relation import RelationSpec, relation_data
from joinery.project.schema_registry import RegistryOptions, registry_options
from joinery.project.write import Data

_POSTGRES = ("postgresql://", "postgres://")
_MYSQL = ("mysql://", "mariadb://")
_REGISTRY, _TOPIC = "registry:", "topic:"
_HINT = (
    "Name postgresql://user:password@host/database or mysql://… and tables,"
    " registry:http://host:8081#subject, or topic:name."
)


def read_source(
    where: str, names: Sequence[str], project: ProjectSpec, source: str | None
) -> tuple[SourceTable, ...]:
    """Return the tables that a user named.

    Args:
        where: `postgresql://…`, `mysql://…`, `registry:URL#subject` or `topic:name`;
            without a URL the registry of the project's source.
        names: Of tables, subjects or topics, beside what `where` names.
        project: Its Kafka source is asked for topics, and has the registry.
        source: The name of that source, where there are several.

    Raises:
        JoineryError: There is no such source, or it does not tell.
    """
    if where.startswith((*_POSTGRES, *_MYSQL)):
        return _database(where, names)
    if where.startswith(_REGISTRY):
        url, _, subject = where.removeprefix(_REGISTRY).partition("#")
        return _subjects(url, [*filter(None, [subject]), *names], project, source)
    if where.startswith(_TOPIC):
        first = where.removeprefix(_TOPIC)
        return _topics([*filter(None, [first]), *names], project, source)
    raise OnboardError("tables cannot be read from there", hint=_HINT)


def _database(url: str, names: Sequence[str]) -> tuple[SourceTable, ...]:
    from joinery.onboarding import mysql_catalog, postgres_catalog

    if not names:
        raise OnboardError("no table is named", hint="Name tables behind the database's URL.")
    if url.startswith(_POSTGRES):
        return postgres_catalog.read_tables(url, names)
    return mysql_catalog.read_tables(url, names)


def _subjects(
    url: str, subjects: Sequence[str], project: ProjectSpec, source: str | None
) -> tuple[SourceTable, ...]:
    from joinery.onboarding.registry_subject import read_subjects

    if not subjects:
        raise OnboardError("no subject is named", hint="Write registry:http://host:8081#subject.")
    known = None if url else _registry(_kafka(project, source))
    if known is None and not url:
        raise OnboardError("the project's source names no registry", hint=_HINT)
    return read_subjects(known or RegistryOptions(url=url), subjects)


def _topics(
    topics: Sequence[str], project: ProjectSpec, source: str | None
) -> tuple[SourceTable, ...]:
    from joinery.clients.kafka import Brokers
    from joinery.onboarding.topic_sample import read_topics

    if not topics:
        raise OnboardError("no topic is named", hint="Write topic:name.")
    kafka = _kafka(project, source)
    options = kafka_options(kafka)
    brokers = Brokers(options.bootstrap, dict(options.properties))
    return read_topics(brokers, topics, _registry(kafka))


def _registry(source: SourceSpec) -> RegistryOptions | None:
    return registry_options(dict(source.options).get("registry"))


def _kafka(project: ProjectSpec, name: str | None) -> SourceSpec:
    """Return the Kafka source that a user means."""
    wanted = name or project.defaults.source
    found = [
        each
        for each in project.sources
        if each.kind == "kafka" and (wanted is None or each.name == wanted)
    ]
    if len(found) != 1:
        what = "no Kafka source" if not found else "several Kafka sources"
        raise OnboardError(f"the project has {what}", hint="Name one: --source NAME.")
    return found[0]


_ENVIRONMENT = "SPEC_ENVIRONMENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddArguments:
    """What `joinery table add` was asked.

    Attributes:
        source: Where the tables are, as `read_source` takes it.
        names: Of tables.
        file: The project.
        choices: What the user wants otherwise.
        into: The product that is to embed them.
        embed_as: The name of the embed.
        write: Whether the project is changed.
    """

    source: str
    names: Sequence[str]
    file: Path
    choices: TableChoices
    into: str | None
    embed_as: str | None
    write: bool


def run_add(arguments: AddArguments) -> int:
    """Write the relations of tables into a project, and suggest where they embed."""
    file, choices = arguments.file, arguments.choices
    folder = file if file.is_dir() else file.resolve().parent
    try:
        with alone_in(folder) if folder.is_dir() else nullcontext():
            project = Editing(file)
            tables = read_source(arguments.source, arguments.names, project.spec, choices.source)
            added = [
                _join(project, found, choices, into=arguments.into, embed_as=arguments.embed_as)
                for found in tables
            ]
            _warn(each for each in (large_warning(tables),) if each)
            project.finish(write=arguments.write)
            if arguments.write:
                about = [*added, *filter(None, [arguments.into])]
                told = ", ".join(str(each.name) for each in tables)
                ActionLog(project.spec.checkpoint).note("table add", about, told)
    except JoineryError as error:
        return tell_error(error, file=str(file))
    return DONE


@dataclass(slots=True)
class Editing:
    """The files of a project, and what they are to become.

    Invariant: those that others refer to are written first, so that a command that is killed
    leaves a project that can be run.

    Attributes:
        spec: The project with all that was added so far.
        texts: By file, its new text.
    """

    path: Path
    spec: ProjectSpec = field(init=False)
    texts: dict[str, str] = field(init=False)
    _old: dict[str, str] = field(init=False)
    _changed: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.spec = self._read(None)
        files = project_files(self.path, [])
        self._old = {each: Path(each).read_bytes().decode("utf-8-sig") for each in files}
        self.texts = dict(self._old)

    def put(self, path: Sequence[str], name: str, value: Data) -> None:
        """Add an entry to the file that has its section, and read the project again."""
        place = self.spec.locate(tuple(path[:2])) or self.spec.locate(tuple(path[:1]))
        file = place.file if place and place.file in self.texts else next(iter(self.texts))
        self.texts[file] = insert(self.texts[file], path, name, value)
        self.spec = self._read(self.texts)
        self._changed.append(file)

    def finish(self, *, write: bool) -> None:
        """Show what changes, and write it."""
        for file, text in self.texts.items():
            _show_change(file, self._old[file], text)
        for file in dict.fromkeys(self._changed) if write else ():
            replace_text(Path(file), self.texts[file])

    def _read(self, instead: dict[str, str] | None) -> ProjectSpec:
        """Return the project; variables of the environment need not be set for this."""
        spec, problems = load_parts(self.path, instead=instead)
        told = [each for each in problems if each.code != _ENVIRONMENT]
        if spec is None or told:
            raise ProjectErrors(tuple(told))
        if instead is not None:
            told = list(examine(spec)[1])
            if told:
                raise ProjectErrors(tuple(told))
        return spec


def _join(
    project: Editing,
    found: SourceTable,
    choices: TableChoices,
    *,
    into: str | None,
    embed_as: str | None,
) -> str:
    """Write the relation of a table, and its embed where a product is named; return its name."""
    relation = relation_for(found, project.spec, choices)
    project.put(("relations",), relation.name, relation_data(relation))
    _warn(warnings_of(found))
    suggestions = tuple(suggestions_for(found, relation, project.spec))
    if into is None:
        _suggest(relation, suggestions)
        return relation.name
    _check_product(project.spec, into)
    embed = chosen(suggestions, into, embed_as)
    project.put(embed.path, embed.embed.name, embed_data(embed.embed))
    return relation.name


def _check_product(spec: ProjectSpec, name: str) -> None:
    known = [each.name for each in spec.products]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise OnboardError(
            f'there is no product "{name}"',
            detail=f"Known: {', '.join(known)}.",
            hint=f'Use "{near[0]}".' if near else "",
        )


def _suggest(relation: RelationSpec, suggestions: Iterable[Suggestion]) -> None:
    for each in suggestions:
        sys.stderr.write(
            f"{relation.name} could be embedded as {each}: add --into {each.product}\n"
        )


def _warn(warnings: Iterable[str]) -> None:
    for each in warnings:
        sys.stderr.write(f"warning: {each}\n")


def _show_change(file: str, old: str, new: str) -> None:
    changed = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    lines = [line for line in changed if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    if lines:
        sys.stdout.write("\n".join((f"{file}:", *lines)) + "\n")
