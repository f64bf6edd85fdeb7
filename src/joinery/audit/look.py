"""The comparison of one product's documents in one sink with those that should be there.

All keys are compared once (`first_look`). What differs is looked at again until it is settled:

1. a snapshot of the database gives the document E1;
2. all up to that snapshot is applied and sent; the sink holds D1;
3. a later snapshot gives E2;
4. all up to that one is applied and sent, too; the sink holds D2.

The document is **right** where E1 is D1 or E2 is D2. It is **wrong** where E1 is E2 and not one
row behind it has another version than before, D1 is D2 under one version, and E is not D: the
sink shows a moment between both snapshots, in which nothing changed. Otherwise it is looked at
again, and after some looks it is unsettled.

Invariant: no verdict depends on how long anything takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from joinery.audit.first_look import FirstLook
from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts
from joinery.audit.protocol import Applied, Shown, Truth
from joinery.audit.verdict import Difference, Open, same
from joinery.model.change import Key
from joinery.sinks.reader import DocumentReader, Held
from joinery.slices import slices

_TOGETHER, _MOST = 200, 5_000
_AT_FIRST = 1_600
_PAUSE_S = 0.5
_NOT_APPLIED = "what the database shows was not applied in time"
_BEHIND = "the database that was compared with is behind"
_SAVE_S, _SAVE_SHARE = 0.5, 20.0


@dataclass(frozen=True, slots=True)
class _First:
    """A snapshot of some documents, `keys` by their texts."""

    keys: Mapping[str, Key]
    shown: Shown


@dataclass(frozen=True, slots=True)
class _Second:
    """A later snapshot of the same, and what the sink held between both."""

    first: _First
    before: Mapping[str, Held]
    shown: Shown


class Comparison:
    """Compares one product's documents in one sink.

    Args:
        keys: The forms of root keys.
        truth: What documents should be.
        reader: What the sink holds.
        applied: How far the product has come.
        pace: How it goes.
        found: What an earlier comparison had found, to be gone on from.
        saved: Called whenever it is worth writing down what was found.
    """

    def __init__(
        self,
        keys: KeyTexts,
        truth: Truth,
        reader: DocumentReader,
        applied: Applied,
        *,
        pace: Pace,
        found: Found,
        saved: Callable[[Found], None] = lambda found: None,
    ) -> None:
        self._keys, self._truth, self._reader, self._applied = keys, truth, reader, applied
        self._pace, self._saved = pace, saved
        self._save_at = 0.0
        self._waited_s = 0.0
        self.found = found
        self._first_look = FirstLook(keys, truth, reader, pace=pace, found=found, save=self._save)

    def run(self) -> Found:
        """Compare all that is left to be compared; what differed at an earlier time, once more."""
        self._doubt_again()
        if not self.found.all_seen:
            self._first_look.run()
            self.found.all_seen = True
            self._save()
        self._settle()
        return self.found

    def _doubt_again(self) -> None:
        """Have all looked at again that a comparison found which was broken off: it was then."""
        found = self.found
        keys = [*found.doubtful, *(each.key for each in found.differences)]
        keys += [each.key for each in found.unsettled]
        found.doubtful = [*dict.fromkeys(keys)]
        found.differences, found.unsettled = [], []

    def _save(self) -> None:
        """Write down what was found, but so that it takes little of the time."""
        begun = self._pace.clock()
        if begun >= self._save_at:
            self._saved(self.found)
            now = self._pace.clock()
            self._save_at = now + max(_SAVE_S, _SAVE_SHARE * (now - begun))

    def look(self, keys: Sequence[str]) -> None:
        """Look at some keys alone, as if they had differed."""
        self.found.doubtful = list(keys)
        self._settle()

    def _settle(self) -> None:
        self.found.again += len(self.found.doubtful)
        pause = _PAUSE_S
        together = max(_TOGETHER, min(_MOST, len(self.found.doubtful) // 20))
        at_once = _AT_FIRST
        for number in range(self._pace.looks):
            left: list[str] = []
            chunks = deque(slices(self.found.doubtful, together))
            while chunks:
                count = min(max(1, at_once // together), len(chunks))
                some = [chunks.popleft() for _ in range(count)]
                begun, waited = self._pace.clock(), self._waited_s
                if late := self._look_again(some, left):
                    # What was not there in time for some would not be for others.
                    self.found.unsettled += [Open(each, late, late=True) for each in chain(*chunks)]
                    break
                took, waited = self._pace.clock() - begun, self._waited_s - waited
                at_once = _at_once(at_once, took, waited)
            self.found.doubtful = left
            self._save()
            if not left:
                return
            # What changes beside a document proves nothing of it: few are looked at one by one.
            together = 1 if len(left) <= _TOGETHER else max(1, together // 8)
            if number + 1 < self._pace.looks:
                self._pace.pause(pause)
                pause *= 2
        why = f"it changed at each of {self._pace.looks} looks"
        self.found.unsettled += [Open(each, why) for each in self.found.doubtful]
        self.found.doubtful = []
        self._save()

    def _look_again(self, chunks: Sequence[Sequence[str]], left: list[str]) -> str:
        """Settle what can be; add the keys that are still doubtful to those left.

        Args:
            chunks: Of keys; each has snapshots of its own, and all are waited for together.
            left: Filled.

        Returns:
            Why something was not there in time; those that could not be settled for it are noted
            as unsettled. Else nothing.
        """
        judged_us = self._pace.now_us()
        firsts = [_First(keys, self._shown(keys)) for keys in map(self._keys_of, chunks)]
        if not self._reach(max(each.shown.upper for each in firsts)):
            return self._give_up(firsts, _NOT_APPLIED)
        seconds = list[_Second]()
        for first in firsts:
            before = self._reader.read([*first.keys])
            shown = self._truth.documents([*first.keys.values()], at_least=self._applied.heard())
            if shown is None:
                break
            seconds.append(_Second(first, before, shown))
        if seconds and not self._reach(max(each.shown.upper for each in seconds)):
            return self._give_up(firsts, _NOT_APPLIED)
        for second in seconds:
            self._judge(second, self._reader.read([*second.first.keys]), judged_us, left)
        return self._give_up(firsts[len(seconds) :], _BEHIND)

    def _keys_of(self, texts: Iterable[str]) -> Mapping[str, Key]:
        return {text: self._keys.key(text) for text in texts}

    def _shown(self, keys: Mapping[str, Key]) -> Shown:
        shown = self._truth.documents([*keys.values()])
        assert shown is not None  # nothing was asked of its place
        return shown

    def _give_up(self, firsts: Sequence[_First], why: str) -> str:
        """Note documents as unsettled; return why, nothing where there are none."""
        self.found.unsettled += [
            Open(text, why, late=True) for each in firsts for text in each.keys
        ]
        return why if firsts else ""

    def _reach(self, place: int) -> bool:
        begun = self._pace.clock()
        try:
            return self._applied.reach(place)
        finally:
            self._waited_s += self._pace.clock() - begun

    def _judge(
        self, look: _Second, after: Mapping[str, Held], judged_us: int, left: list[str]
    ) -> None:
        first, second = look.first.shown, look.shown
        self.found.position = second.upper
        quiet = first.versions == second.versions
        for text, key in look.first.keys.items():
            if key in second.unreadable:
                self.found.unreadable.append(Open(text, second.unreadable[key]))
                continue
            if key in first.unreadable:
                left.append(text)
                continue
            wanted, then = first.documents.get(key), second.documents[key]
            one, other = look.before.get(text), after.get(text)
            if same(wanted, _value(one)) or same(then, _value(other)):
                continue
            if quiet and wanted == then and one == other:
                self.found.differences.append(
                    Difference(
                        text,
                        then,
                        _value(other),
                        None if other is None else other.version,
                        position=second.upper,
                        snapshot=second.snapshot,
                        judged_us=judged_us,
                    )
                )
            else:
                left.append(text)


def _at_once(now: int, took_s: float, waited_s: float) -> int:
    """Return how many documents are looked at next before the run is waited for.

    To wait for the run takes as long for many as for one. To read does not, and what changes
    between two readings proves nothing.
    """
    return min(_MOST, now * 2) if waited_s > took_s / 2 else max(1, now // 2)


def _value(held: Held | None) -> str | None:
    return None if held is None else held.value
