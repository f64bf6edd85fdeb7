"""What a files source notes in its checkpoint: the files it has seen, with their sizes then.

The kernel writes the notes (`LabelLog`) in numbered segments; now and then one holds others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from joinery.place.place import Place, matching

_SUFFIX = ".labels"
NOWHERE = "-"
"""As Spark writes the position of a source that had nothing yet."""


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

    def all(self) -> Iterator[SeenFile]:
        """Yield all files that were noted, some of them perhaps again."""
        self._last = ""
        yield from self.fresh()

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


def numbers_read(offset: str) -> Mapping[str, frozenset[int]]:
    """Return by topic the numbers of the files that a files source has read, some of them in part.

    Args:
        offset: Where it stands, as Spark writes it.

    Example:
        >>> numbers_read('{"topics": {"user": {"done": "0-1", "open": [[3, 7, 90]]}}}')
        {'user': frozenset({0, 1, 3})}
    """
    told = {} if offset == NOWHERE else json.loads(offset).get("topics", {})
    return {
        topic: numbers_of(each.get("done", "")) | {number for number, *_ in each.get("open", ())}
        for topic, each in told.items()
    }


def numbers_of(text: str) -> frozenset[int]:
    """Return the numbers of runs such as `0-41,43`."""
    done: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        done.update(range(int(first), int(last or first) + 1))
    return frozenset(done)


def has_tail(offset: str, topic: str) -> bool:
    """Return whether a files source has read of a file that was still being written."""
    return offset != NOWHERE and "tail" in json.loads(offset).get("topics", {}).get(topic, {})


def without(offset: str, topic: str, numbers: Collection[int]) -> str:
    """Return a position of a files source that has not read some files of a topic.

    Example:
        >>> without('{"topics": {"user": {"done": "0-3", "lines": 9}}}', "user", {1})
        '{"topics": {"user": {"done": "0,2,3", "lines": 9}}}'
    """
    if not numbers:
        return offset
    told = json.loads(offset)
    read = told["topics"][topic]
    left = sorted(numbers_of(read["done"]) - {*numbers})
    read["done"] = ",".join(map(str, left))
    if "open" in read:
        read["open"] = [each for each in read["open"] if each[0] not in numbers]
    return json.dumps(told)
