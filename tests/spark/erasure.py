"""A shop with personal columns: its rows, its runs, and where a canary can still be read."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.sqlite_file import sqlite_file

from joinery.spark.batch.run import Run, RunOptions
from joinery.vault.erasure import erase
from joinery.vault.tables import open_vault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CANARY, CONTROL = "c4n4ry", "legible"


PROJECT = """\
name: shop
sources: {changes: {files: {path: data}}}
vault: {sqlite: {path: keys/vault.db}, master: "not a secret, since this is only a test"}
relations:
  person:
    key: [id]
    fields: {id: long, email: string, phone: string, name: string}
    personal: {subject: id, fields: [email, phone], join: [email]}
  letter:
    key: [id]
    fields: {id: long, email: string, topic: string}
    personal: {subject: id, fields: [email], join: [email]}
products:
  profile:
    root: person
    embed: {letters: {many: letter, on: [email], fields: [id, topic, email]}}
    sink:
      - sqlite: {path: clear.db, reveal: true}
      - files: {path: out}
"""


Row = dict[str, Any]


def email(number: int) -> str:
    return f"{CANARY}-{number}@example.org"


def person(number: int) -> Row:
    told = {"id": number, "email": email(number), "phone": f"{CANARY} 0049 {number}"}
    return {**told, "name": f"{CONTROL} {number}"}


def change(folder: Path, topic: str, name: str, *rows: Row | str) -> None:
    part = folder / "data" / topic / f".{name}"
    part.parent.mkdir(parents=True, exist_ok=True)
    lines = (each if isinstance(each, str) else json.dumps(each) for each in rows)
    part.write_text("".join(f"{each}\n" for each in lines))
    part.rename(part.with_name(f"{name}.jsonl"))


def run(spark: SparkSession, project: Any, *, rebuild: bool = False) -> None:
    started = Run(project.spec, project.plan, RunOptions(once=True, rebuild=rebuild))
    started.prepare()
    started.start(spark)
    started.await_termination()


def shown(folder: Path, product: str = "profile") -> dict[Any, str]:
    """Return the documents of the sink that reveals, as the bytes that stand there."""
    with sqlite_file(folder / "clear.db") as database:
        rows = database.execute(f"SELECT * FROM {product}")
        at = [each[0] for each in rows.description].index("document")
        return {row[0] if at == 1 else row[:at]: row[at] for row in rows}


def holding(folder: Path, text: str) -> set[str]:
    """Return what holds a text, but the source's own log."""
    raw = text.encode()
    found = set[str]()
    for each in [each for each in folder.rglob("*") if each.is_file()]:
        with suppress(FileNotFoundError):  # a log of SQLite goes with its last reader
            if raw in each.read_bytes():
                found.add(str(each.relative_to(folder)))
    return {each for each in found if not each.startswith("data/")}


def erased(project: Any, relation: str, subject: int | str) -> None:
    vault = open_vault(project.spec)
    outputs = project.products.values()
    read = {each.name: each for one in outputs for each in one.plan.relations}
    erase(project.spec, project.plan, vault, read[relation], str(subject))
    vault.close()
