"""Where `joinery table add` learns what a table is: a database, a registry, or a topic."""

from __future__ import annotations

from collections.abc import Sequence

from joinery.model.table import SourceTable
from joinery.spec.kafka import kafka_options
from joinery.spec.onboard import OnboardError
from joinery.spec.product import ProjectSpec, SourceSpec
from joinery.spec.schema_registry import RegistryOptions, registry_options

_DATABASES = ("postgresql://", "postgres://")
_REGISTRY, _TOPIC = "registry:", "topic:"
_HINT = (
    "Name postgresql://user:password@host/database and tables,"
    " registry:http://host:8081#subject, or topic:name."
)


def read_source(
    where: str, names: Sequence[str], project: ProjectSpec, source: str | None
) -> tuple[SourceTable, ...]:
    """Return the tables that a user named.

    Args:
        where: `postgresql://…`, `registry:URL#subject` or `topic:name`; without a URL the
            registry of the project's source.
        names: Of tables, subjects or topics, beside what `where` names.
        project: Its Kafka source is asked for topics, and has the registry.
        source: The name of that source, where there are several.

    Raises:
        JoineryError: There is no such source, or it does not tell.
    """
    if where.startswith(_DATABASES):
        return _database(where, names)
    if where.startswith(_REGISTRY):
        url, _, subject = where.removeprefix(_REGISTRY).partition("#")
        return _subjects(url, [*filter(None, [subject]), *names], project, source)
    if where.startswith(_TOPIC):
        first = where.removeprefix(_TOPIC)
        return _topics([*filter(None, [first]), *names], project, source)
    raise OnboardError("tables cannot be read from there", hint=_HINT)


def _database(url: str, names: Sequence[str]) -> tuple[SourceTable, ...]:
    from joinery.connect.postgres_catalog import read_tables

    if not names:
        raise OnboardError("no table is named", hint="Name tables behind the database's URL.")
    return read_tables(url, names)


def _subjects(
    url: str, subjects: Sequence[str], project: ProjectSpec, source: str | None
) -> tuple[SourceTable, ...]:
    from joinery.connect.registry_subject import read_subjects

    if not subjects:
        raise OnboardError("no subject is named", hint="Write registry:http://host:8081#subject.")
    known = None if url else _registry(_kafka(project, source))
    if known is None and not url:
        raise OnboardError("the project's source names no registry", hint=_HINT)
    return read_subjects(known or RegistryOptions(url=url), subjects)


def _topics(
    topics: Sequence[str], project: ProjectSpec, source: str | None
) -> tuple[SourceTable, ...]:
    from joinery.connect.kafka_client import Brokers
    from joinery.connect.topic_sample import read_topics

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
