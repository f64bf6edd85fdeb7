"""The stores of a run's queries: opened before Spark starts, closed after it.

What a store is called stands in `joinery.store.json`, beside the checkpoint it belongs to: a
rebuild's has a name of its own, so that it is built beside the standing one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from joinery.errors import JoineryError
from joinery.files import write_whole
from joinery.model.progress import Waiting
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.spark_state.fingerprint import SPARK_STATE
from joinery.solutions.stored.owner import Owner
from joinery.solutions.stored.patient import PatientSolution
from joinery.solutions.stored.state import (
    StoreError,
    StoreSolution,
)
from joinery.solutions.trigger.custom import own_statements
from joinery.solutions.trigger.options import TriggerOptions
from joinery.spark.batch.store_thread import StoreThread

FILE_NAME = "joinery.store.json"
FOLDER = "store"
METADATA = "metadata"  # of Spark, which notes a query's id there


def solution_of(products: Sequence[Product]) -> str:
    """Return the solution of a query, which its products share."""
    return products[0].solution


def statements_of(products: Sequence[Product]) -> str:
    """Return the user's own statements that make the documents of a query; empty without any."""
    options = TriggerOptions.of(products[0])
    return "" if options is None else own_statements(options.sql)


def is_store_backed(products: Sequence[Product]) -> bool:
    """Return whether a query's join state is in a store."""
    return solution_of(products) != SPARK_STATE and not products[0].outbox


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWait:
    """How the run of a query waits for its store.

    Attributes:
        check: Raises once another run has taken over.
        ended: True once the run is to end; a wait ends then.
        tell: Called by target with what is waited for, and None once that is over.
    """

    check: Callable[[], None]
    ended: Callable[[], bool]
    tell: Callable[[str, Waiting | None], None]


def open_store(
    spec: ProjectSpec,
    query: str,
    products: Sequence[Product],
    checkpoint: Path,
    *,
    beside: bool,
    wait: StoreWait | None = None,
) -> StoreThread:
    """Open the store of a query; one that is not there is opened with the first batch.

    Args:
        spec: The project.
        query: The query's name.
        products: Of the query.
        checkpoint: That the store belongs to; it is there.
        beside: Give a store that is new a name that no other has.
        wait: How an outage is waited for; without it one is an error.

    Raises:
        StoreError: The store cannot be used.
    """
    place = place_of(spec, query, checkpoint, beside=beside)
    place.folder.mkdir(parents=True, exist_ok=True)
    options = dict(products[0].solution_options)
    make = partial(open_solution, solution_of(products), products, options, place)
    try:
        return StoreThread(make if wait is None else partial(_patient, make, query, wait))
    except (JoineryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # of what a package adds
        if isinstance(error, OSError) and error.filename is not None:
            raise  # A file's name and its error say more than we know.
        why = f"{type(error).__name__}: {error}"
        raise StoreError(f'could not open the store of "{query}": {why}') from error


def place_of(spec: ProjectSpec, query: str, checkpoint: Path, *, beside: bool) -> SolutionPlace:
    """Return where the store of a query's checkpoint stands, and what it is called.

    Args:
        spec: The project.
        query: The query's name.
        checkpoint: That the store belongs to.
        beside: It is built beside the one that stands.
    """
    return SolutionPlace(
        folder=checkpoint / FOLDER,
        query=store_name(checkpoint, query, beside=beside),
        project=spec.path_of("."),
        max_document_bytes=spec.run.max_document_bytes,
        owner=owner_of(spec, checkpoint),
        beside=beside,
    )


def _patient(make: Callable[[], StoreSolution], query: str, wait: StoreWait) -> StoreSolution:
    target = f"the store of {query}"
    tell = partial(wait.tell, target)
    return PatientSolution(make, query, target, check=wait.check, ended=wait.ended, tell=tell)


def owner_of(spec: ProjectSpec, checkpoint: Path) -> Owner:
    """Return whose the store of a checkpoint is."""
    root = spec.checkpoint.resolve()
    file = checkpoint / METADATA
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return Owner(f"{spec.name}, whose checkpoints are in {root}", known.get("id"))


def store_name(checkpoint: Path, query: str, *, beside: bool) -> str:
    """Return what the store of a checkpoint is called; a new one `beside` another is unlike it."""
    file = checkpoint / FILE_NAME
    if file.is_file():
        return str(json.loads(file.read_text(encoding="utf-8"))["name"])
    name = f"{query}_{secrets.token_hex(3)}" if beside else query
    write_whole(file, json.dumps({"name": name}) + "\n", synced=False)
    return name
