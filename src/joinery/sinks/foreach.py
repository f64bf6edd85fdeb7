"""The foreach sink: a user's own Python function, called with lists of documents.

The function runs in a process of its own, so that a document which makes it crash, hang or
fail can be singled out by halving the list, and becomes a dead letter of reason `poison`.

Limits: at least once. After a crash or a failure the function is called again with the same
documents, at the same versions.

Invariant: a document is counted as written only after a call that held it returned.

The process of a user's function, seen from the run: started, called, killed, started anew.

Invariant: whatever the function does to its process, a call returns what became of it
within its time.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from joinery.child import Child
from joinery.errors import SinkOptionError
from joinery.project.option import Target, count, duration, options, path_in, text
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

_START_S = 60.0
_END_S = 2.0
_WORKER = "joinery.sinks.foreach_worker"


@dataclass(frozen=True, slots=True)
class Called:
    """What became of a call.

    Attributes:
        outcome: `taken`; `later` where the function asks to wait; `failed` where it
            raised, crashed or took too long.
        detail: Why, as one line.
        refused: The places of documents that the function refuses, each with its reason.
    """

    outcome: Literal["taken", "later", "failed"]
    detail: str = ""
    refused: tuple[tuple[int, str], ...] = ()


class FunctionProcess:
    """A process that serves one function.

    Args:
        function: `module:function`.
        folder: Where it runs.
        timeout_s: The longest call.
    """

    def __init__(self, function: str, folder: Path, *, timeout_s: float) -> None:
        self._function = function
        self._folder = folder
        self._timeout_s = timeout_s
        self._child: Child | None = None

    def start(self) -> None:
        """Start it and import the function.

        Raises:
            SinkError: The function cannot be imported.
        """
        self._child = child = Child(_WORKER, self._function, folder=str(self._folder))
        try:
            answer = json.loads(child.receive(_START_S))
            why = f"{answer['detail']}." if answer["outcome"] != "ready" else ""
        except EOFError:
            why = "Its process ended immediately."
        except TimeoutError:
            why = f"Its import took longer than {_START_S} s."
        if why:
            self.stop(0.0)
            raise SinkError(
                f'function "{self._function}" cannot be used',
                detail=why,
                hint=f"It is imported from {self._folder}, and from installed packages.",
            )

    def call(self, batch: StagedBatch, rows: Sequence[StagedRow]) -> Called:
        """Call the function with `rows`, in a fresh process where the last one ended."""
        if self._child is None:
            self.start()
        assert self._child is not None
        request = {
            "product": batch.product,
            "key": batch.key.ddl,
            "value": batch.value.ddl,
            "rows": rows,
        }
        try:
            content = self._child.ask(json.dumps(request).encode(), self._timeout_s)
        except EOFError:
            return Called("failed", self._ended())
        except TimeoutError:
            self.stop(0.0)
            return Called("failed", f"it took longer than {self._timeout_s:g} s")
        answer = json.loads(content)
        refused = tuple((place, why) for place, why in answer.get("refused", ()))
        return Called(answer["outcome"], answer.get("detail", ""), refused)

    def stop(self, within_s: float = _END_S) -> int:
        """End the process: in good order where it can, else at once; return its exit code."""
        child, self._child = self._child, None
        return 0 if child is None else child.close(within_s)

    def _ended(self) -> str:
        """Clear away a process that has ended by itself, and say how."""
        code = self.stop()
        return f"its process was ended by signal {-code}" if code < 0 else f"it exited with {code}"


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
        self.target = f"foreach {options.function}"

    def open(self) -> None:
        """Start the function's process and import the function.

        Raises:
            SinkError: It cannot be imported.
        """
        self._process = FunctionProcess(
            self._options.function, self._folder, timeout_s=self._options.timeout / 1000
        )
        self._process.start()

    def write(self, batch: StagedBatch) -> Written:
        """Call the function with all documents of `batch`."""
        refused: list[Refusal] = []
        for rows in read_chunks(batch.files, rows=self._options.batch):
            refused += self._deliver(batch, rows)
            poison = sum(1 for each in refused if each.reason == POISON)
            if poison > _MOST_POISON:
                raise SinkError(
                    f"{self.target} fails on too many documents",
                    detail=f"On {poison} of one batch, the last time with: {refused[-1].detail}",
                    hint="Fix the function; the batch is sent again at the next start.",
                )
        return Written(refused=tuple(refused))

    def close(self) -> None:
        """End the function's process."""
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
        return called
