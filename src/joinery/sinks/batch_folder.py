"""A folder that holds one file per batch, in emission order by name.

A name is generation and batch id, `000001-0000000042.jsonl`, and thirteen more digits where it was
put after that batch (`000001-00000000421790000000000.jsonl`). Each checkpoint that writes
into the folder is a generation of its own, remembered in `.generations.json`, so a fresh
checkpoint sorts after all that stood before and overwrites nothing.

Invariant: a file that stands under its name is complete, and a batch that runs again
replaces its own file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from joinery.files import join_synced, sync_folder, write_whole

_DIGITS = 10  # of a batch's number


class BatchFolder:
    """One folder, and within it the files whose names begin with `prefix`."""

    def __init__(self, path: Path, prefix: str = "") -> None:
        self.path = path
        self._prefix = prefix
        self._generations: dict[str, int] = {}

    def put(
        self,
        parts: Sequence[Path],
        *,
        query_id: str,
        batch_id: int,
        check: Callable[[], None],
        after: int = 0,
    ) -> Path | None:
        """Put the lines of `parts` in place as the file of this batch.

        Args:
            parts: Files of whole lines; without a byte among them nothing is written.
            query_id: The identity of the checkpoint.
            batch_id: The batch.
            check: Called right before the file becomes visible.
            after: Of lines that are put between two batches: rises with each, in milliseconds.
        """
        filled = [part for part in parts if part.stat().st_size]
        if not filled:
            return None
        self.path.mkdir(parents=True, exist_ok=True)
        # More digits stand after the batch itself, and before the next one.
        number = f"{batch_id:010d}{after:013d}" if after else f"{batch_id:010d}"
        name = f"{self._prefix}{self._generation(query_id):06d}-{number}.jsonl"
        whole = join_synced(filled, self.path / f".{name}.part")
        check()
        whole.replace(self.path / name)
        sync_folder(self.path)
        return self.path / name

    def last_batch(self, query_id: str) -> int | None:
        """Return the last batch of a checkpoint that has a file; None where none has."""
        generation = self._read().get(query_id)
        found = (self._named.fullmatch(each.name) for each in self.standing())
        numbers = [each[2] for each in found if each and int(each[1]) == generation]
        return max((int(each[:_DIGITS]) for each in numbers), default=None)

    def _generation(self, query_id: str) -> int:
        if query_id not in self._generations:
            self._generations = self._read()
        if query_id not in self._generations:
            self._generations[query_id] = 1 + max(
                [*self._generations.values(), *self._standing()], default=0
            )
            self._remember()
        return self._generations[query_id]

    @property
    def _memory(self) -> Path:
        return self.path / f".{self._prefix}generations.json"

    def _read(self) -> dict[str, int]:
        if not self._memory.is_file():
            return {}
        read: dict[str, int] = json.loads(self._memory.read_text(encoding="utf-8"))
        return read

    def _remember(self) -> None:
        write_whole(self._memory, json.dumps(self._generations, indent=1), synced=False)

    def standing(self) -> list[Path]:
        """Return the files of all batches, in emission order."""
        names = sorted(entry.name for entry in self.path.iterdir())
        return [self.path / name for name in names if self._named.fullmatch(name)]

    def _standing(self) -> list[int]:
        """The generations that files already have; they outlive a lost memory."""
        found = (self._named.fullmatch(each.name) for each in self.standing())
        return [int(match[1]) for match in found if match]

    @property
    def _named(self) -> re.Pattern[str]:
        return re.compile(re.escape(self._prefix) + r"(\d{6,})-(\d{10,})\.jsonl")
