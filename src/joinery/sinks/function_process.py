"""The process of a user's function, seen from the run: started, called, killed, started again.

Invariant: whatever the function does to its process, a call returns what became of it
within its time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joinery.child import Child
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import (
    SinkError,
    StagedBatch,
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
