"""Looks, while a run goes on, whether change files are still as they were when they were seen.

A file is read once, up to the size it had when its name first stood in its folder: what is
appended later is in no batch, and nothing else would say so.

Invariant: looking never holds up a batch, and takes at most a hundredth of a run's time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from joinery.model.batch import Counts
from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.project.product import ProjectSpec
from joinery.spark.source.file_labels import FileLabels
from joinery.spark.source.source import (
    SourceRead,
)

_EACH_S = 10.0
_REST = 100  # times as long as a look took
_CLOSING_S = 30.0
log = logging.getLogger(__name__)


class FileSizes:
    """The sizes of the change files of one source, then and now.

    Args:
        folder: Holds a folder for each topic.
        read: The source, and which relations read each topic.
        labels: What the source has seen.

    Attributes:
        added: By relation, the bytes that its files have more than when they were seen.
    """

    def __init__(self, folder: Path, read: SourceRead, labels: FileLabels) -> None:
        self.added: dict[str, int] = {}
        self._folder = folder
        self._read = read
        self._labels = labels
        self._seen: dict[str, dict[str, int]] = {}

    def warnings(self) -> Iterator[RunWarning]:
        """Yield, by relation, that files are of another size than when they were seen.

        Raises:
            OSError: A folder cannot be read.
        """
        for each in self._labels.fresh():
            self._seen.setdefault(each.topic, {})[each.name] = each.size
        for topic, seen in self._seen.items():
            if changed := changed_sizes(self._folder / topic, seen):
                added = sum(max(0, size - seen[name]) for name, size in changed.items())
                for relation in self._read.readers(topic):
                    self.added[relation] = added
                    yield _warning(relation, self._folder / topic, seen, changed)


class FileWatch:
    """Watches the change files of a run's queries, in a thread of its own.

    The first look is at the start, the last one when the run ends.

    Args:
        spec: The project, which names the folders.
        reads: By query, what it reads, in the order in which its checkpoint numbers it.
        checkpoints: By query, where its positions are kept.
        warn: Takes what someone should look at.
        ignore: Takes, by relation, how many bytes were added to files and are not read.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        reads: Mapping[str, Sequence[SourceRead]],
        checkpoints: Mapping[str, Place],
        warn: Callable[[RunWarning], None],
        ignore: Callable[[Counts], None],
    ) -> None:
        self._sizes = [
            FileSizes(_folder(spec, read), read, FileLabels(checkpoints[query], index))
            for query, every in reads.items()
            for index, read in enumerate(every)
            # Files of a spool, which may be millions, are our own, and renamed into place.
            if read.source.kind == "files" and "spool" not in dict(read.source.options)
        ]
        self._warn, self._ignore = warn, ignore
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="joinery-file-watch", daemon=True)
        if self._sizes:
            self._thread.start()

    def close(self) -> None:
        """Look once more, then no longer."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSING_S)

    def _watch(self) -> None:
        while not self._closing.is_set():
            began_at = time.monotonic()
            self._look()
            self._closing.wait(max(_EACH_S, _REST * (time.monotonic() - began_at)))
        self._look()

    def _look(self) -> None:
        for each in self._sizes:
            try:
                for warning in each.warnings():
                    self._warn(warning)
                self._ignore(each.added)
            except OSError as error:
                log.debug("change files were not looked at: %s", error)


def _folder(spec: ProjectSpec, read: SourceRead) -> Path:
    return spec.path_of(str(dict(read.source.options)["path"]))


def changed_sizes(folder: Path, seen: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of the files that have another than the one they were seen with."""
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as there:
        known = [each for each in there if each.name in seen]
        sizes = {each.name: each.stat().st_size for each in known}
    return {name: size for name, size in sizes.items() if size != seen[name]}


def _warning(
    relation: str, folder: Path, seen: Mapping[str, int], changed: Mapping[str, int]
) -> RunWarning:
    about, first = f'relation "{relation}"', min(changed)
    more = f" {len(changed) - 1:,} more files there changed, too." if len(changed) > 1 else ""
    return RunWarning(
        code="WARN_FILE_CHANGED",
        about=about,
        message=f"{about}: {folder / first} was changed after it was seen; the change is ignored",
        detail=f"It had {seen[first]:,} bytes then, and has {changed[first]:,} now.{more}",
        hint="A file is read once; write a new file and rename it into place.",
    )
