"""Why a document is wrong, by what the logs say of it: the sink, the input, or Joinery.

| the logs give | the sink holds | cause |
| what the database has | nothing, or what the logs never gave | `sink` |
| what the database has | what the logs gave once, sent before they gave this | `joinery` |
| what the database has | what the logs gave once, under a later version | `sink` |
| something else | | `input` |

Invariant: where a change is in the logs that the database does not show yet, as of a commit that
hangs, nothing is called wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from joinery.app.logs import Logs, WhyError
from joinery.audit.key import KeyTexts
from joinery.audit.verdict import Difference, Open, same
from joinery.errors import RunError
from joinery.model.change import Change, Key
from joinery.plan.nodes import Product
from joinery.project.captured import CAPTURED, spool_of
from joinery.project.kinds import FORMATS
from joinery.project.product import ProjectSpec
from joinery.provenance.document_log import differences
from joinery.provenance.documents_log import DocumentsLog

_RECORDS = 1_000_000
_TRIES = 3
_SHOWN = 3
_LONGEST = 40


class Causes:
    """Finds the causes of one product's differences.

    Args:
        spec: The project.
        product: Whose documents.
        placed: Whether documents were compared at a place in their database's log.
        records: How many records of a topic are read.
    """

    def __init__(
        self, spec: ProjectSpec, product: Product, *, placed: bool, records: int = _RECORDS
    ) -> None:
        self._spec, self._product, self._records = spec, product, records
        self._placed = placed
        self._keys = KeyTexts(product.root.relation)

    def of(self, wrong: Sequence[Difference]) -> tuple[list[Difference], list[Open], str]:
        """Return differences with their causes, those that are none after all, and a note."""
        try:
            logs = self._logs()
        except (WhyError, RunError) as error:
            detail = f" ({error.detail})" if error.detail else ""
            return [*wrong], [], f"causes are not known: {error.message}{detail}"
        keys = {self._keys.key(each.key): each for each in wrong}
        were: dict[Key, Change] = {}

        def note(key: Key, text: str | None, change: Change) -> None:
            if same(text, keys[key].held):
                were[key] = change

        log = DocumentsLog(
            self._product,
            keys,
            max_document_bytes=self._spec.run.max_document_bytes,
            altered=note,
        )
        log.tell(logs.changes)
        if logs.left:
            names = ", ".join(logs.left)
            return [*wrong], [], f"causes are not known: not all records of {names} were read"
        judged = [self._judged(each, key, log, logs, were.get(key)) for key, each in keys.items()]
        told = [each for each in judged if isinstance(each, Difference)]
        return told, [each for each in judged if isinstance(each, Open)], ""

    def _logs(self) -> Logs:
        """Return the logs; read again where that failed, since they go on meanwhile."""
        for _ in range(_TRIES - 1):
            with suppress(RunError):
                return Logs.of(self._spec, self._product, records=self._records)
        return Logs.of(self._spec, self._product, records=self._records)

    def _judged(
        self, wrong: Difference, key: Key, log: DocumentsLog, logs: Logs, was: Change | None
    ) -> Difference | Open:
        text, last = log.texts[key], log.last.get(key)
        if last is not None and not self._is_shown(last, wrong, logs):
            at = logs.naming.place(last)
            return Open(wrong.key, f"the database does not show its last change yet ({at})")
        if not same(text, wrong.expected):
            told = "; ".join(islice(_told(text, wrong.expected), _SHOWN))
            dead = sum(logs.dead.values())
            letters = f"; {dead:,} records are dead letters" if dead else "; no dead letter"
            return replace(wrong, cause="input", why=f"the logs lack it: {told}{letters}")
        if wrong.held is None:
            return replace(wrong, cause="sink", why="the logs give it, and the sink lacks it")
        if was is None or last is None:
            return replace(wrong, cause="sink", why="the logs never gave what the sink holds")
        at = logs.naming.place(last)
        if wrong.version is not None and wrong.version >= self._written_us(last, logs):
            why = f"what was right before {at}, under a version from after it"
            return replace(wrong, cause="sink", why=why)
        return replace(wrong, cause="joinery", why=f"{at} altered it, and that was not sent")

    def _is_shown(self, change: Change, wrong: Difference, logs: Logs) -> bool:
        """Return whether the snapshot shows a change; by its transaction, else by its place."""
        if not self._placed:
            return True
        relation = next(e for e in self._product.relations if e.name == change.relation)
        # Positions of flat rows are whatever somebody wrote there.
        told = FORMATS[relation.format].events and not relation.position
        if told and (change.position or 0) > (wrong.position or 0):
            return False
        transaction = self._transaction(change, logs)
        return transaction is None or is_visible(transaction, wrong.snapshot)

    def _transaction(self, change: Change, logs: Logs) -> int | None:
        """Return the transaction that a record of the capture tells."""
        file = self._file(change, logs)
        if file is None or change.place is None:
            return None
        with file.open(encoding="utf-8") as lines:
            told: Any = json.loads(next(islice(lines, change.place[1] - 1, None), "{}"))
        found = told.get("source", {}).get("txId")
        return found if isinstance(found, int) else None

    def _file(self, change: Change, logs: Logs) -> Path | None:
        relation = next(e for e in self._product.relations if e.name == change.relation)
        source = next(each for each in self._spec.sources if each.name == relation.source)
        if source.kind not in CAPTURED or change.place is None:
            return None
        name = logs.naming.files.get(relation.name, {}).get(change.place[0])
        return (
            None if name is None else spool_of(self._spec, source) / "files" / relation.topic / name
        )

    def _written_us(self, change: Change, logs: Logs) -> int:
        file = self._file(change, logs)
        return 0 if file is None or not file.is_file() else file.stat().st_mtime_ns // 1000


def is_visible(transaction: int, snapshot: str) -> bool:
    """Return whether a snapshot shows a transaction.

    Args:
        transaction: Its number, or the lower 32 bits of that.
        snapshot: As PostgreSQL writes it: the first that goes on, the first that had not begun,
            and those between that go on.

    Example:
        >>> [is_visible(each, "10:15:10,12") for each in (9, 10, 11, 12, 15)]
        [True, False, True, False, False]
    """
    if not snapshot:
        return True
    first, after, going = snapshot.split(":")
    whole = (int(after) >> 32 << 32) | (transaction & 0xFFFF_FFFF)
    if whole >= int(after) + (1 << 31):
        whole -= 1 << 32
    return whole < int(first) or (
        whole < int(after) and whole not in {int(each) for each in going.split(",") if each}
    )


def _told(logged: str | None, wanted: str | None) -> Iterator[str]:
    """Yield how what the logs give differs from what the database has."""
    if logged is None or wanted is None:
        yield "they give none" if logged is None else "they give a document"
        return
    for each in differences(json.loads(logged), json.loads(wanted)):
        one, other = (_short(value) for value in (each.before, each.after))
        yield f"{each.path} is {other} in the database, {one} in the logs"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
