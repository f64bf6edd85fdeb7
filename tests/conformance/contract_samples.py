"""Documents that the reference makes, beside the contracts that their products have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib.resources import files
from typing import Any

from jsonschema import Draft201909Validator, Draft202012Validator

from joinery.contract.contract import Contract, Entries, Items, Object, Scalar, Value
from joinery.contract.derive import contracts_of
from joinery.contract.json_schema import schema_of
from joinery.plan.build import build_plan
from joinery.project.product import ProjectSpec
from joinery.solutions.protocol import Sent

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Sample:
    """What a product or a stream promised, and what it sent."""

    contract: Contract
    keys: Sequence[Any]
    documents: Sequence[Any]

    @cached_property
    def validator(self) -> Any:
        return validator_of(schema_of(self.contract))

    def problems(self) -> Iterator[str]:
        """Yield where a key or a document is not as promised."""
        keys = validator_of(schema_of(self.contract)["x-key"])
        for validator, values in ((keys, self.keys), (self.validator, self.documents)):
            for each in values:
                for error in validator.iter_errors(each):
                    yield f"{self.contract.name}{error.json_path[1:]} {error.message}"


def validator_of(schema: Mapping[str, Any]) -> Any:
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def problems_of_standard(document: Any) -> list[str]:
    """Return where a document does not fit the Open Data Contract Standard's own schema."""
    schema = json.loads((files("open_data_contract_standard") / "schema.json").read_text("utf-8"))
    return [each.message for each in Draft201909Validator(schema).iter_errors(document)]


def samples_of(project: ProjectSpec, sent: Sequence[Sent]) -> Iterator[Sample]:
    """Yield each product and stream that sent something, with what it sent in all batches."""
    for contract in contracts_of(project, build_plan(project)):
        lines = [read(each) for batch in sent for each in batch.lines.get(contract.name, ())]
        documents = [each["value"] for each in lines if each["value"] is not None]
        if lines:
            yield Sample(contract, [each["key"] for each in lines], documents)


class Recorder:
    """A runner that notes what another sends."""

    def __init__(self, runner: Any) -> None:
        self.runner = runner
        self.samples: list[Sample] = []

    def run(self, project: ProjectSpec, batches: Any) -> Any:
        sent = self.runner.run(project, batches)
        self.samples += samples_of(project, sent)
        return sent


def read(line: str) -> Any:
    return json.loads(line, parse_float=Decimal)


def places(value: Value, found: Any, path: Path = ()) -> Iterator[tuple[Path, Value, Any]]:
    """Yield each place of a document, with what is promised of it and what stands there."""
    yield path, value, found
    if found is None:
        return
    match value.shape:
        case Scalar():
            return
        case Object(members):
            for each in members:
                yield from places(each.value, found[each.name], (*path, each.name))
        case Items(of):
            for index, item in enumerate(found):
                yield from places(of, item, (*path, index))
        case Entries(of=of):
            for name, item in found.items():
                yield from places(of, item, (*path, name))
