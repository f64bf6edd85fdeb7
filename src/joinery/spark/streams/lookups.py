"""The lookups of one query that read stores: a batch's keys in, the rows as the kernel reads them.

Invariant: a store is asked by one asker alone, so whatever the tasks do, it sees no more
than the lookup's limits let through.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

from joinery.lookups.asker import Asker
from joinery.lookups.coherence import Coherence
from joinery.lookups.protocol import Answer, Key, LookupTable, Unfit
from joinery.lookups.registry import lookup_target, make_asker, table_of
from joinery.lookups.value import RowReader
from joinery.lookups.whole import Whole
from joinery.model.lookup import LookupProgress
from joinery.model.progress import Waiting
from joinery.model.type import Struct
from joinery.plan.step import Lookup
from joinery.semantics.render import renderer

_JSON = json.JSONDecoder(parse_float=Decimal)
_NEXT = "\n"


class StreamLookups:
    """The lookups of one query, each with its asker.

    Args:
        lookups: Those that read a database, by node.
        names: What each is called: stream and table.
        folder: Where relative paths begin.
        ended: True once the run is to end.
        tell: Called with the place of a store and what is waited for, None once that is over.
        coherence: Tells the askers which rows the run's own sinks have just written.
    """

    def __init__(
        self,
        lookups: Mapping[int, Lookup],
        names: Mapping[int, str],
        folder: Path,
        *,
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[str, Waiting | None], None] = lambda target, waiting: None,
        coherence: Coherence | None = None,
    ) -> None:
        self._names = dict(names)
        self._stores = {
            node: _StoreLookup(lookup, folder, names[node], ended, tell)
            for node, lookup in lookups.items()
        }
        heard = coherence or Coherence()
        for node, lookup in lookups.items():
            store = self._stores[node]
            heard.add(lookup_target(lookup, folder), store.asker, store.table)

    def open(self) -> None:
        """Open all stores; wait for one that is not there, for a while.

        Raises:
            LookupStoreError: One cannot be asked.
        """
        for store in self._stores.values():
            store.asker.open()

    def answers(self, node: int, keys: str) -> str:
        """Return what the store of a node says of some keys.

        Args:
            node: The lookup's.
            keys: A JSON object of the table's key a line.

        Returns:
            For each key a line: the row with its key as JSON, nothing where there is none,
            or `!` and why what the store holds is not a row.
        """
        return self._stores[node].answers(keys)

    def whole(self, node: int) -> Whole | None:
        """Return the table of a node while it is small, None where keys are to be asked for."""
        return self._stores[node].asker.whole()

    def pairs(self, node: int, whole: Whole) -> str:
        """Return a line with each key of a node's table, followed by what `answers` says of it."""
        return self._stores[node].pairs(whole)

    def progress(self) -> dict[str, LookupProgress]:
        """Return what was asked since the stores were opened."""
        return {self._names[node]: store.asker.progress() for node, store in self._stores.items()}

    def close(self) -> None:
        """Close all stores, each also where another cannot be closed."""
        with ExitStack() as closing:
            for store in self._stores.values():
                closing.callback(store.asker.close)


class _StoreLookup:
    """One lookup's asker, the shapes of its keys and rows, and the lines that it told last.

    A line is told again for as long as the asker gives the very answer that it was made of.
    """

    def __init__(
        self,
        lookup: Lookup,
        folder: Path,
        name: str,
        ended: Callable[[], bool],
        tell: Callable[[str, Waiting | None], None],
    ) -> None:
        self.asker: Asker = make_asker(
            lookup,
            folder,
            user=name.split("/", 1)[0],
            ended=ended,
            tell=lambda waiting: tell(self.asker.target, waiting),
        )
        self.table: LookupTable = table_of(lookup)
        self._keys = RowReader(self.table.key)
        self._told: dict[str, tuple[Key | Unfit, Answer, str]] = {}
        self._most_told = lookup.cache.size
        self._key_names = [each.name for each in self.table.key]
        self._render_key = renderer(Struct(self.table.key))
        self._names = [each.name for each in (*self.table.columns, *self.table.key)]
        named = {each.name: each for each in (*self.table.columns, *self.table.key)}
        self._render = renderer(Struct(tuple(named.values())))

    def answers(self, keys: str) -> str:
        texts = keys.split(_NEXT)[:-1]  # a text may hold what splitlines takes for an end
        asked = self._read(texts)
        answers = self.asker.ask([key for key in asked if not isinstance(key, Unfit)])
        told = self._told
        if len(told) > self._most_told:
            told.clear()
        lines: list[str] = []
        for text, key in zip(texts, asked, strict=True):
            answer = None if isinstance(key, Unfit) else answers[key]
            held = told.get(text)
            if held is None or held[1] is not answer:
                held = told[text] = key, answer, self._line(key, answer)
            lines.append(held[2])
        lines.append("")
        return _NEXT.join(lines)

    def _read(self, texts: Sequence[str]) -> list[Key | Unfit]:
        """Return keys from their texts; those of an earlier batch are read already."""
        told = self._told
        new = [each for each in texts if each not in told]
        read = zip(new, map(self._keys.named, _JSON.decode(f"[{','.join(new)}]")), strict=True)
        fresh = dict(read)
        return [fresh[each] if each in fresh else told[each][0] for each in texts]

    def pairs(self, whole: Whole) -> str:
        lines: list[str] = []
        for key, answer in whole.rows.items():
            lines.append(self._render_key(dict(zip(self._key_names, key, strict=True))))
            lines.append(self._line(key, answer))
        return _NEXT.join([*lines, ""]) if lines else ""

    def _line(self, key: Key | Unfit, answer: Answer) -> str:
        if answer is None:
            return ""
        if isinstance(answer, Unfit) or isinstance(key, Unfit):
            detail = answer.detail if isinstance(answer, Unfit) else ""
            return "!" + detail.replace("\n", " ")
        return self._render(dict(zip(self._names, answer + key, strict=True)))


class SentTables:
    """Remembers the table that was sent last for each lookup; an older one is let go of."""

    def __init__(self) -> None:
        self._sent: dict[int, tuple[Whole, Any]] = {}

    def of(self, node: int, whole: Whole, send: Callable[[], Any]) -> Any:
        """Return what was sent of `whole`; `send` is called where it was not sent yet."""
        held = self._sent.get(node)
        if held is not None and held[0] is whole:
            return held[1]
        self._sent[node] = whole, send()
        if held is not None:
            held[1].close()
        return self._sent[node][1]
