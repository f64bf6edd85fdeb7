"""Reads what the state of a checkpoint says, in a JVM of its own, beside its run or without one.

Spark's own provider reads the files that a commit names, which nobody changes, into a folder of
that JVM. The nodes that send documents show what they sent, and write nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from joinery.delivery.query_paths import QueryPaths
from joinery.errors import RunError
from joinery.model.change import Change
from joinery.model.type import Field, Struct
from joinery.place.place import numbers_in
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.project.product import ProjectSpec
from joinery.semantics.read_change import change_reader
from joinery.solutions.spark_state.costs import document_nodes, shares
from joinery.solutions.spark_state.fingerprint import (
    SPARK_STATE,
    differences,
    standing_fingerprint,
    state_marks,
)
from joinery.solutions.spark_state.node_state import NodeState
from joinery.solutions.spark_state.program import KernelProgram
from joinery.solutions.spark_state.words import node_title
from joinery.spark.batch.query_kernel import lower_query
from joinery.spark.batch.stores import solution_of
from joinery.spark.launch import STATE_SETTINGS
from joinery.spark.partitions import PARTITIONS
from joinery.spark.recovery.checkpoint import state_ids, state_settings, unbuilt
from joinery.spark.recovery.mark import marked, marks_of
from joinery.spark.source.door_process import DoorProcess

_DOOR = "dev.joinery.kernel.door.CommittedDocuments"
_ABSENT = ("FileNotFoundException", "NoSuchFileException")


class StateReadError(RunError):
    """The state of a checkpoint cannot be read."""

    code = "RUN_STATE_READ"


class StateReader:
    """Answers from the state of one query as it was after a batch; closed once.

    Args:
        spec: The project.
        products: All products of the query.
        batch: After which; None for the last one that was committed.

    Attributes:
        batch: After which.

    Raises:
        StateReadError: The query has no such state, or that of another plan than the project's.
        LocalOnlyError: Its checkpoint is not on a disk.
        RunError: Java is missing.
    """

    def __init__(
        self, spec: ProjectSpec, products: Sequence[Product], batch: int | None = None
    ) -> None:
        query = products[0].query
        self._keys = {each.name: each.key for each in products}
        checkpoint = _checkpoint(spec, query, products)
        hint = "Bring it up to date first: joinery apply, or joinery run --rebuild."
        if batch is not None and (mark := marked(checkpoint, batch)) is not None:
            checkpoint = mark
            hint = "Read it with the project as it was when the batch was marked."
        program, earlier = _standing_program(spec, query, products, checkpoint, hint)
        self.batch = _committed(query, checkpoint, batch)
        self._unbuilt = unbuilt(checkpoint)
        self._program = program
        settings = state_settings(checkpoint, self.batch)
        self._process = DoorProcess(_DOOR, self._failure)
        self._process.ask(
            {
                "program": program.to_json(),
                "marks": state_marks(program, earlier),
                "state": str(checkpoint / "state"),
                "partitions": int(settings.pop(PARTITIONS)),
                "version": self.batch + 1,
                "ids": state_ids(checkpoint, self.batch),
                "settings": {**STATE_SETTINGS, **settings},
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.close()

    def document(self, product: str, key: str) -> tuple[str | None, str]:
        """Return a document's text, None where there is none, and why it is refused, if it is.

        Args:
            product: One of the query.
            key: The columns of the product's key, as a JSON object.

        Raises:
            StateReadError: The state cannot be read.
        """
        self._check_built(product)
        columns = self._keys[product].fields
        if any(isinstance(each.type, Struct) for each in columns):  # of rows: looked up by both
            self._process.ask({"product": product, "key": key})
            letter, _, document = self._process.answer().decode().partition("\n")
            return document or None, json.loads(letter)["reason"] if letter else ""
        return told(b"".join(self._lines(product, len(columns), key, 1.0)).decode())

    def lines(
        self, product: str, prefix: Mapping[str, str], sample: float = 1.0
    ) -> Iterator[bytes]:
        """Return the documents that sinks hold, as lines of the files sink, many at a time.

        One whose version the state does not tell is without; one that cannot be sent has `refused`,
        which says why, in place of its value. Nothing else is asked until all lines are taken.

        Args:
            product: One of the query.
            prefix: Values of the first columns of the key, as JSON; only documents with these.
            sample: The share of them, from 0 to 1; the same keys each time.

        Raises:
            StateReadError: The state cannot be read.
        """
        self._check_built(product)
        return self._lines(product, len(prefix), _object(prefix), sample)

    def rows(self, product: str, key: Mapping[str, str]) -> list[Change]:
        """Return the rows that a document of a product with a root is made of, its root's first.

        Each is a change that puts it, with those columns that the query keeps, and may come again.
        Rows beyond a limit are left out.

        Args:
            product: One of the query.
            key: All columns of the product's key, as JSON.

        Raises:
            StateReadError: The state cannot be read, or not by the keys of rows.
        """
        self._check_built(product)
        self._process.ask({"rows": product, "columns": len(key), "key": _object(key)})
        answer = self._process.answer()
        if answer.startswith(b"!"):
            raise StateReadError(
                f'product "{product}": {answer[1:].decode()} cannot be found by their keys',
            )
        return list(change_reader(kept_relations(self._program))(answer.splitlines()))

    def sizes(self) -> list[NodeState]:
        """Return how much state each node of the query keeps; all of it is gone through.

        Raises:
            StateReadError: The state cannot be read.
        """
        self._process.ask({"sizes": True})
        *counts, notes = json.loads(self._process.answer())
        nodes, names = self._program.nodes, [each.name for each in self._program.products]
        parts = shares(document_nodes(self._program))
        found = [
            NodeState(
                node_title(node), {names[product]: part for product, part in share.items()}, *count
            )
            for node, share, count in zip(nodes, parts, counts, strict=True)
        ]
        return [*found, NodeState("", {}, *notes)]

    def _lines(self, product: str, columns: int, key: str, sample: float) -> Iterator[bytes]:
        self._process.ask({"product": product, "columns": columns, "key": key, "sample": sample})
        yield from iter(self._process.answer, b"")

    def _check_built(self, product: str) -> None:
        if product in self._unbuilt:
            raise StateReadError(
                f'product "{product}" is not built yet', hint="Build it first: joinery run --once."
            )

    def _failure(self, told: str) -> StateReadError:
        """Return that the state cannot be read, or is gone by now."""
        if any(each in told for each in _ABSENT):
            return StateReadError(
                f"the state after batch {self.batch} is no longer there",
                hint="A checkpoint keeps the state of its last hundred batches or so.",
            )
        lines = (line for line in told.splitlines() if "rror" in line or "xception" in line)
        return StateReadError(
            f"the state after batch {self.batch} could not be read",
            detail=next(lines, told).strip()[:300],
        )


def _object(values: Mapping[str, str]) -> str:
    """Return JSON values by name as the text of an object."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in values.items()) + "}"


def kept_relations(program: KernelProgram) -> list[Relation]:
    """Return the relations of a program in its order, with the columns that it keeps.

    What a product sends as rows, and versions of rows, are relations of it, too.
    """
    return [
        Relation(
            name=each.name,
            source="",
            topic="",
            format="",
            key=tuple(each.columns[place].name for place in each.key),
            columns=tuple(Field(column.name, column.type) for column in each.columns),
        )
        for each in program.relations
    ]


def told(line: str) -> tuple[str | None, str]:
    """Return the document that a line has, as its text, and why it is refused, if it is.

    Args:
        line: As the files sink has it; empty where there is none.

    Example:
        >>> told('{"key":{"id":1},"value":{"id":1,"price":1.50},"version":7}')
        ('{"id":1,"price":1.50}', '')
        >>> told('{"key":{"id":1},"refused":"overflow"}')
        (None, 'overflow')
    """
    if not line:
        return None, ""
    read = json.JSONDecoder().raw_decode
    _, end = read(line, line.index(":") + 1)
    begin = line.index(":", end) + 1
    found, after = read(line, begin)
    is_refused = line[end:begin] == ',"refused":'
    return (None, found) if is_refused else (line[begin:after], "")


def _checkpoint(spec: ProjectSpec, query: str, products: Sequence[Product]) -> Path:
    """Return the checkpoint of a query whose state is Spark's."""
    solution = solution_of(products)
    if solution != SPARK_STATE:
        raise StateReadError(f'query "{query}" keeps its state in {solution}, not in files')
    return QueryPaths.of(spec.checkpoint, query).on_disk("the reader of state")


def _standing_program(
    spec: ProjectSpec, query: str, products: Sequence[Product], checkpoint: Path, hint: str
) -> tuple[KernelProgram, Sequence[str]]:
    """Return the program whose state stands, and the marks of those that wrote it before."""
    lowered = lower_query(products, spec.run, standing_fingerprint(checkpoint))
    told = ""
    for each in (lowered.program, lowered.former):
        if each is not None:
            others = differences(checkpoint, each)
            if not others:
                return each, lowered.earlier
            told = told or others[0]
    raise StateReadError(
        f'query "{query}" has the state of another plan than the project',
        detail=told,
        hint=hint,
    )


def _marks(checkpoint: Path) -> str:
    told = ", ".join(str(each.batch) for each in marks_of(checkpoint))
    return f", and marks of {told}" if told else ""


def _committed(query: str, checkpoint: Path, batch: int | None) -> int:
    """Return the batch whose state is read."""
    done = numbers_in(checkpoint / "commits")
    if not done or not numbers_in(checkpoint / "state"):
        raise StateReadError(f'query "{query}" has no state: it has run no batch')
    if batch is not None and batch not in done:
        raise StateReadError(
            f'the checkpoint of query "{query}" has no batch {batch}',
            detail=f"It has {min(done)} to {max(done)}{_marks(checkpoint)}.",
        )
    return max(done) if batch is None else batch
