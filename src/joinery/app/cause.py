"""Why a document is wrong, by what the logs say of it: the sink, the input, or Joinery.

| the logs give | the sink holds | cause |
| what the database has | nothing, or what the logs never gave | `sink` |
| what the database has | what the logs gave once, sent before they gave this | `joinery` |
| what the database has | what the logs gave once, under a later version | `sink` |
| something else | | `input` |

What logs prove that no longer have their beginning is what they give; what they do not give is
`unknown`.

Invariant: where a change is in the logs that the database does not show yet, as of a commit that
hangs, nothing is called wrong. Nor is it against the logs themselves where they have gone on since.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from joinery.app.logs import Logs, WhyError
from joinery.audit.key import KeyTexts
from joinery.audit.verdict import Difference, Open, same
from joinery.errors import RunError
from joinery.model.change import Change
from joinery.observe.kept_letters import kept_letters
from joinery.observe.outline import letters_folder
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.project.captured import CAPTURED, as_files
from joinery.project.kind import SourceSpec
from joinery.project.kinds import FORMATS
from joinery.project.product import ProjectSpec
from joinery.provenance.document_log import differences
from joinery.provenance.documents_log import DocumentsLog
from joinery.sinks.key import canonical_key

_RECORDS = 1_000_000
_TRIES = 3
_SHOWN = 3
_LONGEST = 40
_NEWEST = 500


@dataclass(slots=True)
class _Told:
    """What the logs tell of the document of a difference.

    Attributes:
        held_once: Whether it ever was what the sink holds.
        newest: The changes that altered it, the last one first, some hundreds of them: what a
            database does not show yet is no older.
    """

    wrong: Difference
    held_once: bool = False
    newest: deque[Change] = field(default_factory=lambda: deque(maxlen=_NEWEST))

    def note(self, text: str | None, change: Change) -> None:
        """Note what a change has made of it."""
        self.held_once = self.held_once or same(text, self.wrong.held)
        self.newest.appendleft(change)


class Causes:
    """Finds the causes of one product's differences.

    Args:
        spec: The project.
        product: Whose documents.
        target: The sink that they were read from, as its dead letters name it.
        placed: Whether documents were compared at a place in their database's log.
        records: How many records of a topic are read.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        product: Product,
        target: str,
        *,
        placed: bool,
        records: int = _RECORDS,
    ) -> None:
        self._spec, self._product, self._records = spec, product, records
        self._target, self._placed = target, placed
        self._keys = KeyTexts(product.root.relation)
        self._transactions: dict[Path, Sequence[int | None]] = {}

    def of(self, wrong: Sequence[Difference]) -> tuple[list[Difference], list[Open], str]:
        """Return differences with their causes, those that are none after all, and a note."""
        try:
            logs = self._logs()
        except (WhyError, RunError) as error:
            detail = f" ({error.detail})" if error.detail else ""
            return [*wrong], [], f"causes are not known: {error.message}{detail}"
        if logs.left:
            names = ", ".join(logs.left)
            return [*wrong], [], f"causes are not known: not all records of {names} were read"
        judged = self.judged(wrong, logs)
        told = [each for each in judged if isinstance(each, Difference)]
        return told, [each for each in judged if isinstance(each, Open)], ""

    def judged(self, wrong: Sequence[Difference], logs: Logs) -> list[Difference | Open]:
        """Return differences with their causes by some logs, or why they are none."""
        told = {self._keys.key(each.key): _Told(each) for each in wrong}
        log = DocumentsLog(
            self._product,
            told,
            max_document_bytes=self._spec.run.max_document_bytes,
            altered=lambda key, text, change: told[key].note(text, change),
        )
        log.tell(logs.changes)
        refused = self._refused()
        return [
            self._judged(each, log.texts[key], logs, refused=_holds(refused, each.wrong))
            for key, each in told.items()
        ]

    def _refused(self) -> dict[str, list[str | None]] | None:
        """Return the documents that the sink has refused, by key, of open letters.

        None where letters are not read.
        """
        kept, found = kept_letters(letters_folder(self._spec)), dict[str, list[str | None]]()
        if kept is None:
            return None
        for each in kept.open:
            of = each.of, each.facts.get("sink")
            if each.kind == "document" and of == (self._product.name, self._target):
                key = canonical_key(str(each.facts["key"]))
                found.setdefault(key, []).append(each.facts.get("value"))
        return found

    def _logs(self) -> Logs:
        """Return the logs; read again where that failed, since they go on meanwhile."""
        for _ in range(_TRIES - 1):
            with suppress(RunError):
                return Logs.of(self._spec, self._product, records=self._records)
        return Logs.of(self._spec, self._product, records=self._records)

    def _judged(
        self, told: _Told, text: str | None, logs: Logs, *, refused: bool | None
    ) -> Difference | Open:
        """Return a difference with its cause, or why it is none.

        Args:
            told: What the logs told of its document.
            text: The document that they give.
            logs: All of them.
            refused: Whether the sink has refused the right one; None where letters are not read.
        """
        wrong = told.wrong
        hidden = next((e for e in told.newest if not self._is_shown(e, wrong, logs)), None)
        if hidden is not None:
            at = logs.naming.place(hidden)
            why = f"the database does not show a change of it yet ({at})"
            return Open(wrong.key, why, late=True)
        if not same(text, wrong.expected):
            if not self._placed:
                return Open(wrong.key, "its logs have gone on since it was compared")
            if logs.gone:
                return replace(wrong, why=f"the logs cannot tell: {_gone(logs)}")
            lacking = "; ".join(islice(_lacking(text, wrong.expected), _SHOWN))
            dead = sum(logs.dead.values())
            letters = f"{dead:,} dead letter{'s' if dead > 1 else ''}" if dead else "no dead letter"
            return replace(wrong, cause="input", why=f"the logs lack it: {lacking}; {letters}")
        if refused:
            return replace(wrong, cause="sink", why="the sink refused it: see joinery dlq")
        found = self._blamed(told, logs)
        if refused is None and found.cause == "joinery":
            why = f"{found.why}, unless the sink refused it: dead letters are not read here"
            return replace(wrong, why=why)
        return found

    def _blamed(self, told: _Told, logs: Logs) -> Difference:
        """Return the difference of a document that is right by the logs, with its cause."""
        wrong = told.wrong
        if wrong.held is None:
            return replace(wrong, cause="sink", why="the logs give it, and the sink lacks it")
        if not told.held_once or not told.newest:
            if logs.gone:
                return replace(wrong, why=f"what the sink holds may have been right: {_gone(logs)}")
            return replace(wrong, cause="sink", why="the logs never gave what the sink holds")
        last = told.newest[0]
        at, written_us = logs.naming.place(last), self._written_us(last, logs)
        if written_us is None:
            return replace(wrong, why=f"the sink holds what was right before {at}")
        if wrong.version is not None and wrong.version >= written_us:
            why = f"what was right before {at}, under a version from after it"
            return replace(wrong, cause="sink", why=why)
        return replace(wrong, cause="joinery", why=f"{at} altered it, and that was not sent")

    def _is_shown(self, change: Change, wrong: Difference, logs: Logs) -> bool:
        """Return whether the snapshot shows a change; by its transaction, else by its place."""
        if not self._placed:
            return True
        relation = self._relation(change)
        # Positions of flat rows are whatever somebody wrote there.
        told = FORMATS[relation.format].events and not relation.position
        if told and (change.position or 0) > (wrong.position or 0):
            return False
        transaction = self._transaction(change, logs)
        return transaction is None or is_visible(transaction, wrong.snapshot)

    def _transaction(self, change: Change, logs: Logs) -> int | None:
        """Return the transaction that a record of the capture tells."""
        if self._source(change).kind not in CAPTURED or change.place is None:
            return None
        file = self._file(change, logs)
        if file is None:
            return None
        if file not in self._transactions:
            self._transactions[file] = _transactions(file)
        told, line = self._transactions[file], change.place[1]
        return told[line - 1] if line <= len(told) else None

    def _relation(self, change: Change) -> Relation:
        return next(each for each in self._product.relations if each.name == change.relation)

    def _source(self, change: Change) -> SourceSpec:
        name = self._relation(change).source
        return next(each for each in self._spec.sources if each.name == name)

    def _file(self, change: Change, logs: Logs) -> Path | None:
        """Return the change file that holds a record; None for a record in Kafka."""
        source, place = self._source(change), change.place
        files = as_files(self._spec, source) if source.kind in CAPTURED else source
        name = None if place is None else logs.naming.files.get(change.relation, {}).get(place[0])
        if name is None or files.kind != "files":
            return None
        folder = self._spec.path_of(str(dict(files.options)["path"]))
        return folder / self._relation(change).topic / name

    def _written_us(self, change: Change, logs: Logs) -> int | None:
        """Return when a record came into its log; None where nothing tells it."""
        file = self._file(change, logs)
        if file is not None:
            return file.stat().st_mtime_ns // 1000 if file.is_file() else None
        logged_s = logs.logged_s.get(change.relation, {}).get(change.place or (0, 0), 0.0)
        return round(logged_s * 1_000_000) or None


def _holds(refused: Mapping[str, Sequence[str | None]] | None, wrong: Difference) -> bool | None:
    """Return whether the right document is among those that were refused; None where unknown."""
    if refused is None:
        return None
    return any(same(each, wrong.expected) for each in refused.get(canonical_key(wrong.key), ()))


def _transactions(file: Path) -> list[int | None]:
    """Return the transaction that each line of a change file tells; none where it is gone."""
    try:
        with file.open("rb") as lines:
            return [_transaction(line) for line in lines]
    except FileNotFoundError:  # As old as what a spool keeps no longer.
        return []


def _transaction(line: bytes) -> int | None:
    with suppress(ValueError, AttributeError):  # No JSON, such as a line that is being written.
        found = json.loads(line).get("source", {}).get("txId")
        return found if isinstance(found, int) else None
    return None


def _gone(logs: Logs) -> str:
    """Return what is gone of the logs."""
    told = "; ".join(f"{gone} of {name}" for name, gone in logs.gone.items())
    return f"the logs no longer have {told}"


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


def _lacking(logged: str | None, wanted: str | None) -> Iterator[str]:
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
