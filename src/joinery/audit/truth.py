"""The documents of a product as its source database gives them: rows read in sets, then assembled.

They are assembled by the rules that stores use, from the tables themselves: no log, no state of
a run and no kernel has a part in them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from joinery.audit.database import Snapshot, SourceDatabase
from joinery.audit.protocol import Form, Glance, Shown
from joinery.audit.statement import built_statement
from joinery.model.change import Key
from joinery.plan.product import Product
from joinery.semantics.document import Built
from joinery.semantics.row_key import key_reader
from joinery.solutions.stored.reading import not_collecting
from joinery.solutions.stored.tactic import RowTactic

_LOOK_S = 0.2


class DatabaseTruth:
    """What documents should be by a database.

    Args:
        product: Whose documents.
        database: Open.
        max_document_bytes: Above it there is no document.
        wait_s: How long a standby is waited for.
        pause: Waits.
        clock: In seconds.
    """

    def __init__(
        self,
        product: Product,
        database: SourceDatabase,
        *,
        max_document_bytes: int,
        wait_s: float,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._product, self._relation = product, product.root.relation
        self._max_bytes = max_document_bytes
        self._statements: dict[tuple[Form, bool], str | None] = {}
        self._database = database
        self._tactic = RowTactic(product, max_document_bytes)
        self._key_of = key_reader(self._relation)
        self._wait_s, self._pause, self._clock = wait_s, pause, clock

    def roots(self, after: Key | None, most: int) -> Sequence[Key]:
        """Return the keys of the next rows of the root."""
        with self._database.snapshot() as shown:
            return shown.roots(self._relation, after, most)

    def glances(self, form: Form) -> bool:
        """Return whether the database can make that of documents itself."""
        return self._statement(form, begun=False) is not None

    def glance(self, after: Key | None, most: int, form: Form) -> Glance:
        """Return what it makes of the documents of the next rows of the root."""
        statement = self._statement(form, begun=after is not None)
        assert statement is not None
        with self._database.snapshot() as shown:
            keys = shown.roots(self._relation, after, most)
            ends = [each for each in (after, *keys[-1:]) if each is not None]
            built = shown.built(statement, ends) if keys else ()
            return Glance(shown.upper, keys, {row[:-1]: row[-1] for row in built})

    def leave(self) -> None:
        """Break off what another thread has asked."""
        self._database.cancel()

    def present(self, keys: Sequence[Key]) -> Collection[Key]:
        """Return those of some keys under which the root has a row."""
        with self._database.snapshot() as shown:
            rows = shown.matching(self._relation.name, self._relation.key, keys)
            refused = {key for name, key in shown.refused if name == self._relation.name}
            return refused.union(map(self._key_of, rows))

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        """Return documents as they are now; None where a standby has not come so far in time."""
        until = self._clock() + self._wait_s
        while self._database.place < at_least:
            if self._clock() >= until:
                return None
            self._pause(_LOOK_S)
        with self._database.snapshot(noting=noting) as shown:
            return self._shown(keys, shown)

    def _statement(self, form: Form, *, begun: bool) -> str | None:
        if (form, begun) not in self._statements:
            self._statements[form, begun] = built_statement(
                self._product,
                self._database.tables,
                form,
                begun=begun,
                max_document_bytes=self._max_bytes,
            )
        return self._statements[form, begun]

    def _shown(self, keys: Sequence[Key], shown: Snapshot) -> Shown:
        with not_collecting():
            built, unreadable = self._built(keys, shown)
        self._tactic.findings()
        unreadable |= {
            key: f"it has no document: {each.detail or each.reason}"
            for key, each in built.items()
            if each.reason is not None
        }
        documents = {
            key: built[key].text if key in built and key not in unreadable else None for key in keys
        }
        versions = frozenset(shown.versions)
        return Shown(shown.upper, documents, unreadable, versions, shown.transactions)

    def _built(
        self, keys: Sequence[Key], shown: Snapshot
    ) -> tuple[dict[Key, Built], dict[Key, str]]:
        """Return documents and, of those behind which a run lacks a row, why they are unknown."""
        shown.refused.clear()
        built = dict(self._tactic.documents(keys, shown))
        if not shown.refused:
            return built, {}
        if len(keys) == 1:
            return {}, dict.fromkeys(keys, min(shown.refused.values()))
        middle = len(keys) // 2
        first, unknown = self._built(keys[:middle], shown)
        second, more = self._built(keys[middle:], shown)
        return first | second, unknown | more
