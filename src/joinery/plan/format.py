"""Whether a relation's source can bear its format, and what it needs for that."""

from __future__ import annotations

from joinery.plan.context import Context
from joinery.spec.product import RelationSpec, SourceSpec
from joinery.spec.schema_registry import RegistryOptions, registry_options

AVRO = ("avro", "debezium-avro")


def registry_of(
    context: Context, spec: RelationSpec, *, source: str, format_: str
) -> RegistryOptions | None:
    """Return the schema registry of a relation's messages; None where they need none.

    Args:
        context: Takes the problem where there is no registry.
        spec: The relation.
        source: The name of its source.
        format_: The name of its format.
    """
    found = next((each for each in context.spec.sources if each.name == source), None)
    if format_ not in AVRO or found is None:
        return None
    registry = registry_options(dict(found.options).get("registry"))
    if registry is None:
        _refuse(context, spec, found, format_)
    return registry


def _refuse(context: Context, spec: RelationSpec, source: SourceSpec, format_: str) -> None:
    path = ("relations", spec.name, "format") if spec.format else ("defaults", "format")
    message = f'format "{format_}" of relation "{spec.name}" needs a schema registry'
    if source.kind == "kafka":
        hint = "Write registry: {url: http://host:8081} under kafka."
        detail = f'Its source "{source.name}" names none.'
    else:
        hint = "Read it from Kafka, or use debezium-json or json."
        detail = f'Its source "{source.name}" is of kind {source.kind}, which carries texts.'
    context.refuse("PLAN_REGISTRY", message, path, detail=detail, hint=hint)
