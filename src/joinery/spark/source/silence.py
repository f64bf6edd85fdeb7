"""Notices that nothing is heard of a source, though the run reads all that its log has.

A log that nobody writes looks like one that has nothing new. What tells them apart is a sign
that the source gives again and again: the heartbeats of a capture, or those that a connector
writes to a topic.

Limits: what was heard before a run began it does not know, so a source counts as heard of when
its run begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from joinery.model.progress import Silence, silent_target


class SourceSilence:
    """Whether one source is heard of.

    Args:
        source: Its name.
        reason: What is missing, in words.
        after_s: How long the same sign may stand before the source counts as silent.
        tell: Called by target when the source is silent, and with None once it is heard again.
        clock: Seconds since any time, which no one sets.
    """

    def __init__(
        self,
        source: str,
        reason: str,
        after_s: float,
        tell: Callable[[str, Silence | None], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._reason, self._after_s = source, reason, after_s
        self._tell, self._clock = tell, clock
        self._sign: object = None
        self._heard_at = clock()
        self._silent = False

    def look(self, sign: object) -> None:
        """Compare the sign that the source gives now with that before."""
        if sign != self._sign:
            self._sign, self._heard_at = sign, self._clock()
            if self._silent:
                self._silent = False
                self._tell(silent_target(self._source), None)
        elif not self._silent and (for_s := self._clock() - self._heard_at) >= self._after_s:
            self._silent = True
            silence = Silence(source=self._source, reason=self._reason, since=time.time() - for_s)
            self._tell(silence.target, silence)

    def forgive(self) -> None:
        """Count from now on, as where it could not be heard because something else is away.

        A source that is silent by then stays so: nothing was heard of it.
        """
        self._heard_at = self._clock()
