"""What the last comparison of a product's documents found, in a small file a sink."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Self
from zlib import crc32

from joinery.files import write_whole
from joinery.place.place import Place, matching

_SUFFIX = ".audit.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditNote:
    """What one comparison found.

    Attributes:
        product: Whose documents.
        target: The sink.
        ended_at: When it ended, in seconds since 1970.
        share: Of the keys that were compared, from 0 to 1.
        compared: How many documents.
        differ: How many of them are wrong still.
        unsettled: How many could not be judged.
        late: How many of those since the run, or the database, did not come far enough in time.
    """

    product: str
    target: str
    ended_at: float
    share: float
    compared: int
    differ: int
    unsettled: int
    late: int = 0

    @classmethod
    def of_product(cls, root: Place, product: str) -> tuple[Self, ...]:
        """Return the notes of a product, one a sink; one that cannot be read is none.

        Args:
            root: `run.checkpoint`.
            product: Its name.
        """
        folder = _folder(root)
        if not folder.is_dir():
            return ()
        found = [cls._read(each) for each in matching(folder, f"*{_SUFFIX}")]
        return tuple(each for each in found if each is not None and each.product == product)

    @classmethod
    def _read(cls, file: Place) -> Self | None:
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, root: Place) -> None:
        """Put the note in the place of the one before, unless that tells of more documents.

        A sample does not take the place of a comparison of all; nor does one that found nothing
        wrong, but could not judge some documents in time.
        """
        file = _folder(root) / f"{self.product}-{crc32(self.target.encode()):08x}{_SUFFIX}"
        before = self._read(file) if file.is_file() else None
        tells_less = before is not None and (self.share < before.share or self.late)
        if tells_less and not self.differ:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(asdict(self)), synced=False)


def audited_at(notes: Collection[AuditNote]) -> float | None:
    """Return since when all documents are known to have been compared; None where they were not.

    Example:
        >>> note = AuditNote(
        ...     product="p", target="t", ended_at=5.0, share=0.5, compared=1, differ=0, unsettled=0
        ... )
        >>> audited_at([note]) is None
        True
    """
    if not notes or any(each.share < 1 or each.late for each in notes):
        return None
    return min(each.ended_at for each in notes)


def _folder(root: Place) -> Place:
    return root / "_diff"
