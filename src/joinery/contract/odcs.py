"""Contracts as a document of the Open Data Contract Standard (ODCS 3.1), as data for YAML.

A product is an object of its `schema`. What the standard has no word for stands under
`customProperties`: the key, which need not be in a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from joinery.contract.contract import Contract, Entries, Items, Member, Object, Scalar, Shape, Value
from joinery.model.type import WHOLE_NUMBERS, Atomic, Decimal

API_VERSION = "v3.1.0"
_MS = 1000
_LOGICAL: Mapping[str, str] = {
    **dict.fromkeys(WHOLE_NUMBERS, "integer"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    **dict.fromkeys(("string", "binary"), "string"),
    "boolean": "boolean",
    "date": "date",
}


def odcs_of(project: str, contracts: Sequence[Contract], *, version: str) -> dict[str, Any]:
    """Return the document of a project's contracts.

    Args:
        project: The project's name: that of the document, and its id.
        contracts: In order.
        version: The contract's, as its owner counts.
    """
    promised = [_latency(each, each.fresh_ms) for each in contracts if each.fresh_ms is not None]
    return {
        "apiVersion": API_VERSION,
        "kind": "DataContract",
        "id": f"urn:joinery:{project}",
        "name": project,
        "version": version,
        "status": "active",
        "schema": [_product(each) for each in contracts],
        **({"slaProperties": promised} if promised else {}),
    }


def _latency(contract: Contract, fresh_ms: int) -> dict[str, Any]:
    seconds = fresh_ms // _MS if fresh_ms % _MS == 0 else fresh_ms / _MS
    return {"property": "latency", "value": seconds, "unit": "s", "element": contract.name}


def _product(contract: Contract) -> dict[str, Any]:
    key = contract.key.members if contract.shows_key else ()
    places = {each.name: place for place, each in enumerate(key, 1)}
    columns = [_member(each) for each in contract.key.members]
    return {
        "name": contract.name,
        "logicalType": "object",
        "physicalType": "document",
        **({"description": contract.description} if contract.description else {}),
        "properties": [_member(each, places.get(each.name)) for each in contract.value.members],
        "customProperties": [{"property": "key", "value": columns}],
    }


def _member(member: Member, place: int | None = None) -> dict[str, Any]:
    key = {} if place is None else {"primaryKey": True, "primaryKeyPosition": place}
    told = {"description": member.description} if member.description else {}
    return {"name": member.name, **_value(member.value), **key, **told}


def _value(value: Value) -> dict[str, Any]:
    personal = {"classification": "personal"} if value.personal else {}
    return {**_shape(value.shape), "required": not value.nullable, **personal}


def _shape(shape: Shape) -> dict[str, Any]:
    match shape:
        case Scalar(kind):
            return {"logicalType": _logical(kind), "physicalType": str(kind)}
        case Items(of):
            return {"logicalType": "array", "physicalType": "array", "items": _value(of)}
        case Entries(key):
            # The standard has maps from 3.2 on.
            return {"logicalType": "object", "physicalType": f"map by {key}"}
        case Object(members):
            inner = [_member(each) for each in members]
            return {"logicalType": "object", "physicalType": "struct", "properties": inner}


def _logical(kind: Atomic | Decimal) -> str:
    return "number" if isinstance(kind, Decimal) else _LOGICAL[kind.name]
