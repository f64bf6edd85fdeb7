"""The contracts of a project: exported as text, and compared with what was promised before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from joinery.app.project import unknown_name
from joinery.contract.compare import Difference, differences
from joinery.contract.contract import Contract
from joinery.contract.derive import contracts_of
from joinery.contract.json_schema import (
    ContractFileError,
    bundle_of,
    read_schemas,
    schema_of,
)
from joinery.contract.odcs import odcs_of
from joinery.expression.expression import Analyser
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.plan.stream import outputs_of
from joinery.project.committed import load_committed
from joinery.project.load import block_text, load_spec
from joinery.project.product import ProjectSpec
from joinery.semantics.json_text import pretty_json

ContractFormat = Literal["jsonschema", "odcs"]
_COMMIT = "git:"


def contract_text(
    spec: ProjectSpec,
    plan: Plan,
    names: Sequence[str] = (),
    *,
    format: ContractFormat = "jsonschema",
    version: str = "1.0.0",
) -> str:
    """Return contracts in a format that others read.

    Args:
        spec: The project.
        plan: Its plan.
        names: Products and streams; without any, all that have a contract.
        format: A JSON Schema, which has those of several under `$defs`; or one document in YAML.
        version: That of the document, of which a JSON Schema has none.

    Raises:
        UnknownNameError: There is no product or stream of a name.
        ContractFileError: What one sends has no contract.
    """
    chosen = _chosen(spec, plan, names)
    match format:
        case "odcs":
            return block_text(odcs_of(spec.name, chosen, version=version))
        case "jsonschema":
            alone = len(names) == 1
            schema = schema_of(chosen[0]) if alone else bundle_of(spec.name, chosen)
            return f"{pretty_json(json.dumps(schema, ensure_ascii=False))}\n"


def contract_differences(
    spec: ProjectSpec,
    plan: Plan,
    against: str,
    *,
    file: Path,
    analyser: Analyser | None = None,
) -> tuple[Difference, ...]:
    """Return what changed since a contract, in the order of that one.

    Args:
        spec: The project as it is.
        plan: Its plan.
        against: `git:` and a commit, an exported JSON Schema (`*.json`), or another project's file
            or folder.
        file: Where the project was read from, which the commit has as well.
        analyser: Types what only Spark knows, of the project at the commit.

    Raises:
        ContractFileError: The JSON is no exported contract.
        CommitError: The commit cannot be read.
        ProjectErrors: The other project cannot be read, or cannot hold.
    """
    return differences(_promised(against, file, analyser), contracts_of(spec, plan))


def _promised(against: str, file: Path, analyser: Analyser | None) -> tuple[Contract, ...]:
    commit = against.startswith(_COMMIT)
    if against.endswith(".json") and not commit:
        return read_schemas(_json(against), against)
    old = load_committed(file, against.removeprefix(_COMMIT)) if commit else load_spec(against)
    return contracts_of(old, build_plan(old, analyser))


def _json(file: str) -> object:
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ContractFileError(f'could not read file "{file}": {error.strerror}') from error
    except ValueError as error:
        raise ContractFileError(f'file "{file}" is not JSON: {error}') from error


def _chosen(spec: ProjectSpec, plan: Plan, names: Sequence[str]) -> list[Contract]:
    contracts = {each.name: each for each in contracts_of(spec, plan)}
    sent = [each.name for each in outputs_of(plan)]
    for name in names:
        if name not in sent:
            raise unknown_name("product or stream", name, sent)
        if name not in contracts:
            raise ContractFileError(
                f'product "{name}" has an outbox, and no contract',
                detail="What it sends is as the application wrote it.",
            )
    return [each for name, each in contracts.items() if not names or name in names]
