"""The foreach sink: a user's own Python function, called with lists of documents.

The function runs in a process of its own, so that a document which makes it crash, hang or
fail can be singled out by halving the list, and becomes a dead letter of reason `poison`.

Limits: at least once. After a crash or a failure the function is called again with the same
documents, at the same versions.

Invariant: a document is counted as written only after a call that held it returned.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from joinery.errors import SinkOptionError
from joinery.project.option import Target, count, duration, options, path_in, text
from joinery.sinks.function_process import Called, FunctionProcess
from joinery.sinks.line import StagedRow, read_chunks
from joinery.sinks.protocol import (
    Guarantee,
    Promise,
    Refusal,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Written,
)
from joinery.sinks.told_before import ToldBefore

POISON = "poison"
_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_MOST_POISON = 100
_TRIES_ALONE = 3
_GUARANTEE = Guarantee(
    summary="The function is called with each document at least once; its version shows repeats.",
    keeps="log",
    gaps={
        Promise.FENCE: "the function does not know which run calls it",
        Promise.ATOMIC: "a batch is several calls",
    },
)


@options
class ForeachOptions:
    """`{foreach: {function: module:function}}`."""

    keeps_all: ClassVar[bool] = False
    function: str = text(
        "Module and function, `module:name`.",
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
        examples=["my_hooks:deliver"],
    )
    folder: str = text("The working folder; by default that of the project file.", default="")
    batch: int = count("The most documents per call.", default=500)
    timeout: int = duration("A call that takes longer counts as failed.", default="5m")
    remember: str = text(
        "A file that remembers what the function was told, so that it is not told it again, as in"
        " a rebuild.",
        default="",
        examples=["told.db"],
    )

    def make(self, product: str, folder: Path) -> ForeachSink:
        """Return the sink of a product."""
        if not _NAME.fullmatch(self.function):
            raise SinkOptionError(
                'option "function" of sink "foreach" is not a module:function',
                hint="Write {foreach: {function: my_module:deliver}}.",
            )
        if not self.timeout:
            raise SinkOptionError(
                'option "timeout" of sink "foreach" is not a duration', hint="Write 30s or 5m."
            )
        return ForeachSink(self, folder)

    def target(self, product: str, folder: Path) -> Target | None:
        """What the function does is its own."""
        return None


class ForeachSink:
    """Calls a function with the documents of each batch."""

    guarantee = _GUARANTEE

    def __init__(self, options: ForeachOptions, folder: Path) -> None:
        self._options = options
        self._folder = path_in(folder, options.folder)
        self._process: FunctionProcess | None = None
        self._memory = path_in(folder, options.remember) if options.remember else None
        self._told: ToldBefore | None = None
        self.target = f"foreach {options.function}"

    def open(self) -> None:
        """Start the function's process and import the function.

        Raises:
            SinkError: It cannot be imported, or the file of what it was told not be opened.
        """
        if self._memory is not None:
            self._told = ToldBefore(self._memory, self._options.function)
        self._process = FunctionProcess(
            self._options.function, self._folder, timeout_s=self._options.timeout / 1000
        )
        self._process.start()

    def write(self, batch: StagedBatch) -> Written:
        """Call the function with all documents of `batch`."""
        refused: list[Refusal] = []
        for rows in read_chunks(batch.files, rows=self._options.batch):
            news = rows if self._told is None else self._told.news(batch.product, rows)
            refused += self._deliver(batch, news) if news else ()
            poison = sum(1 for each in refused if each.reason == POISON)
            if poison > _MOST_POISON:
                raise SinkError(
                    f"{self.target} fails on too many documents",
                    detail=f"It failed on {poison} of one batch, last with: {refused[-1].detail}",
                    hint="Fix the function; the batch is sent again at the next start.",
                )
        return Written(refused=tuple(refused))

    def close(self) -> None:
        """End the function's process."""
        if self._told is not None:
            self._told.close()
            self._told = None
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _deliver(self, batch: StagedBatch, rows: Sequence[StagedRow]) -> list[Refusal]:
        """Deliver `rows`, halving a list that fails until the document is found."""
        refused: list[Refusal] = []
        waiting = deque([list(rows)])
        while waiting:
            some = waiting.popleft()
            called = self._call(batch, some)
            if called.outcome == "taken":
                refused += (
                    Refusal(some[place], "document_refused", why) for place, why in called.refused
                )
            elif len(some) > 1:
                middle = len(some) // 2
                waiting.extendleft((some[middle:], some[:middle]))
            else:
                refused += self._alone(batch, some)
        return refused

    def _alone(self, batch: StagedBatch, one: list[StagedRow]) -> list[Refusal]:
        """Give a document that failed alone some more tries before it counts as poison."""
        called = Called("failed")
        for _ in range(_TRIES_ALONE):
            called = self._call(batch, one)
            if called.outcome == "taken":
                return [Refusal(one[0], "document_refused", why) for _, why in called.refused]
        return [Refusal(one[0], POISON, called.detail)]

    def _call(self, batch: StagedBatch, rows: Sequence[StagedRow]) -> Called:
        if self._process is None:
            raise SinkError(f"{self.target} is not open")
        batch.check()
        called = self._process.call(batch, rows)
        if called.outcome == "later":
            raise SinkUnavailableError(f"{self.target} is not ready", detail=f"{called.detail}.")
        if called.outcome == "taken" and self._told is not None:
            refused = {place for place, _ in called.refused}
            taken = [row for place, row in enumerate(rows) if place not in refused]
            self._told.note(batch.product, taken)
        return called
