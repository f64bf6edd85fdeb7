"""What a files source notes in its checkpoint: the files it has seen, with their sizes then.

The kernel writes the notes (`LabelLog`) in numbered segments; now and then one holds others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from joinery.place.place import Place, matching

_SUFFIX = ".labels"


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A change file as it was when a run first saw it.

    Attributes:
        number: Its place in the order in which the files of its topic were seen.
        size: In bytes; what comes behind them is never read.
    """

    topic: str
    name: str
    number: int
    size: int


class FileLabels:
    """The files that one source of a query has seen.

    Args:
        checkpoint: The query's.
        index: The number of the source in the checkpoint.
    """

    def __init__(self, checkpoint: Place, index: int) -> None:
        self._folder = checkpoint / "sources" / str(index)
        self._last = ""

    def fresh(self) -> Iterator[SeenFile]:
        """Yield the files that were noted since the last call, some of them perhaps again.

        Raises:
            OSError: A segment cannot be read, or was replaced meanwhile; ask again.
        """
        for segment in matching(self._folder, f"*{_SUFFIX}"):
            if segment.name > self._last:
                for line in segment.read_text(encoding="utf-8").splitlines()[1:]:
                    each = json.loads(line)
                    yield SeenFile(each["topic"], each["file"], each["number"], each["size"])
                self._last = segment.name
