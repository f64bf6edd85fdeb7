"""Many files that are copied or deleted for as long as whoever does it may.

Each request comes after a check of its own, and is given up before what that tells is old: so a
network that was away for a while brings none of those who were replaced meanwhile. Only a copy of a
large file takes longer, and one in HDFS, which is several requests.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from joinery.place.remote_path import RemotePath
from joinery.place.s3 import LARGE_BYTES
from joinery.place.store import StorageError
from joinery.slices import slices

_ANSWER_S = 2.0  # to connect, and as long for the answer: less than half of a lease's lapse
_TRIES, _PAUSE_S = 5, 0.5
_DELETED_AT_ONCE = 250
_COPIES_AT_ONCE = 16


class Guarded:
    """Copies and deletes while `check` returns; it is called by one thread at a time.

    Args:
        check: Raises once nothing may be altered any more; what it tells holds for 5 s.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._turn = threading.Lock()

    def copy(self, folder: RemotePath, target: RemotePath, sizes: Mapping[str, int]) -> None:
        """Copy files below a folder to below another of the same bucket, in place of what is there.

        Args:
            folder: Where they are.
            target: Where they go.
            sizes: Of the files, by their names below the folder.
        """
        brief = folder.within(_ANSWER_S, 1)

        def copied(name: str) -> None:
            place = folder if sizes[name] >= LARGE_BYTES else brief
            self._done(lambda: (place / name).copy(target / name, sizes[name]))

        with ThreadPoolExecutor(_COPIES_AT_ONCE) as pool:
            for _ in pool.map(copied, sizes):
                pass

    def remove(self, folder: RemotePath, left: Collection[str] = ()) -> None:
        """Delete the files below a folder, but for those of some names there."""
        brief = folder.within(_ANSWER_S, 1)
        if folder.can_rename and not left:  # a folder of its own, which one request deletes
            self._done(brief.remove)
            return
        gone = [brief / name for name in folder.sizes() if name not in left]
        for some in slices(gone, _DELETED_AT_ONCE):
            self._done(partial(brief.remove_files, some))

    def rename(self, folder: RemotePath, target: RemotePath) -> None:
        """Give a folder another name that nothing has; the folder above is made."""
        brief = folder.within(_ANSWER_S, 1)
        self._done(target.parent.within(_ANSWER_S, 1).make_folder)
        self._done(lambda: brief.rename(target))

    def _done(self, act: Callable[[], None]) -> None:
        for tries_left in reversed(range(_TRIES)):
            with self._turn:
                self._check()
            try:
                act()
            except StorageError:
                if not tries_left:
                    raise
                time.sleep(random.uniform(0, _PAUSE_S))
            else:
                return
