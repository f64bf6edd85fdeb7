"""Money moves between ten accounts, and no published state of the world ever loses a cent.

The test of internal consistency that Jamie Brandon published ("Internal consistency in
streaming systems", 2021): every transfer is a debit of one account and a credit of another,
so the balances of all accounts add up to zero after every batch, whatever order they come in.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ACCOUNTS = 10
PROJECT = """\
name: bank
sources: {changes: {files: {path: data}}}
defaults: {format: json}
relations:
  account: {key: [id], fields: {id: long}}
  transfer: {key: [id], fields: {id: long, payer: long, payee: long, amount: long}}
products:
  balance:
    root: account
    embed:
      credits: {many: transfer, on: {payee: id}, fields: [amount], hidden: true}
      debits: {many: transfer, on: {payer: id}, fields: [amount], hidden: true}
    values:
      credited: coalesce(sum(credits.amount), 0L)
      debited: coalesce(sum(debits.amount), 0L)
      balance: credited - debited
    sink: {files: {path: out}}
run: {max_rows_per_batch: BATCH}
"""


def write_bank(folder: Path, transfers: int, batches: int) -> dict[int, int]:
    """Write the project and its transfers in disorder; return the balances they lead to."""
    (folder / "joinery.yaml").write_text(PROJECT.replace("BATCH", str(transfers // batches)))
    chance, balances = random.Random(5), dict.fromkeys(range(ACCOUNTS), 0)
    lines = []
    for id in range(transfers):
        payer, payee = chance.sample(range(ACCOUNTS), 2)
        amount = chance.randrange(1, 100)
        balances[payer] -= amount
        balances[payee] += amount
        row = {"id": id, "payer": payer, "payee": payee, "amount": amount}
        lines.append(f"{json.dumps(row)}\n")
    chance.shuffle(lines)
    for topic, content in (
        ("account", [f'{{"id": {id}}}\n' for id in range(ACCOUNTS)]),
        ("transfer", lines),
    ):
        (folder / "data" / topic).mkdir(parents=True)
        (folder / "data" / topic / "0.jsonl").write_text("".join(content))
    return balances


@pytest.mark.parametrize("transfers", [20_000, pytest.param(1_000_000, marks=pytest.mark.chaos)])
def test_no_published_set_of_balances_loses_a_cent(
    spark: SparkSession, tmp_path: Path, transfers: int
) -> None:
    expected = write_bank(tmp_path, transfers, batches=10)

    jn.run(spark, jn.load(tmp_path / "joinery.yaml"), once=True).await_termination()

    published = dict.fromkeys(range(ACCOUNTS), 0)
    files = sorted((tmp_path / "out/balance").glob("*.jsonl"))
    for file in files:
        for line in map(json.loads, file.read_text().splitlines()):
            published[line["key"]["id"]] = line["value"]["balance"]
        assert sum(published.values()) == 0, f"after {file.name}"
    assert len(files) >= 10
    assert published == expected
