"""Exports in the Open Data Contract Standard fit its published schema, and say what is promised."""

from __future__ import annotations

from typing import Any

from open_data_contract_standard.model import OpenDataContractStandard
from tests.conformance.contract_samples import problems_of_standard
from tests.unit.contract.declared import RELATIONS, contracts

from joinery.contract.odcs import odcs_of
from joinery.project.load import block_text, read_tree

SINK = "sink: {files: {path: out}}"
EVERY = (
    "boolean byte short int long float double string binary date timestamp timestamp_ntz"
    " decimal(10,2) array<int> array<array<string>> map<int,struct<a:int>> struct<a:array<date>>"
).split()
PERSONAL = """\
vault: {sqlite: {path: vault.db}, master: "0000000000000000000000000000000000000000000="}
relations:
  user: {key: [id], fields: {id: long, email: string}, personal: {subject: id, fields: [email]}}
"""


def exported(products: str, relations: str = RELATIONS) -> dict[str, Any]:
    return odcs_of("shop", contracts(products, relations), version="2.1.0")


def test_a_product_fits_the_standard() -> None:
    document = exported(
        f"{{p: {{root: user, expect: {{fresh: 1500ms}}, {SINK}, embed: {{"
        "o: {many: order, on: {user_id: id}}, m: {many: order, on: {user_id: id}, as: map}}}}"
    )

    assert [] == problems_of_standard(document)
    assert [] != problems_of_standard({**document, "schema": [{"nome": "p"}]})
    OpenDataContractStandard.from_string(block_text(document))


def test_every_type_fits_the_standard() -> None:
    columns = ", ".join(f'c{number}: "{each}"' for number, each in enumerate(EVERY))
    relations = f"relations: {{user: {{key: [id], fields: {{id: long, {columns}}}}}}}\n"
    document = exported(f"{{p: {{root: user, {SINK}}}}}", relations)

    assert [] == problems_of_standard(document)
    assert len(EVERY) + 1 == len(document["schema"][0]["properties"])


def test_it_tells_key_nulls_and_freshness() -> None:
    document = exported(
        f"{{p: {{root: user, fields: [id, name], expect: {{fresh: 90s}}, {SINK}}}}}"
    )

    product = document["schema"][0]
    key = {"name": "id", "logicalType": "integer", "physicalType": "long", "required": True}
    assert [
        {
            **key,
            "primaryKey": True,
            "primaryKeyPosition": 1,
            "description": "Column id of user.",
        },
        {
            "name": "name",
            "logicalType": "string",
            "physicalType": "string",
            "required": False,
            "description": "Column name of user.",
        },
    ] == product["properties"]
    assert [{"property": "key", "value": [key]}] == product["customProperties"]
    assert [{"property": "latency", "value": 90, "unit": "s", "element": "p"}] == (
        document["slaProperties"]
    )
    assert "2.1.0" == document["version"]


def test_a_key_that_documents_do_not_show_is_no_primary_key() -> None:
    document = exported(f"{{p: {{root: user, fields: [{{id: size}}, name], {SINK}}}}}")

    assert [] == [each for each in document["schema"][0]["properties"] if "primaryKey" in each]


def test_personal_values_are_classified() -> None:
    document = exported(f"{{p: {{root: user, {SINK}}}}}", PERSONAL)

    assert [None, "personal"] == [
        each.get("classification") for each in document["schema"][0]["properties"]
    ]


def test_it_is_written_as_yaml() -> None:
    assert read_tree(block_text(exported(f"{{p: {{root: user, {SINK}}}}}"))) is not None
