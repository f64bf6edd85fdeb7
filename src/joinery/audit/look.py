"""The comparison of one product's documents in one sink with those that should be there.

All keys are compared once, chunk by chunk. What differs is looked at again until it is settled:

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

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from joinery.audit.key import KeyTexts, in_sample
from joinery.audit.verdict import Difference, Open, same
from joinery.model.change import Key
from joinery.sinks.key import canonical_key
from joinery.sinks.reader import DocumentReader, Held

_TOGETHER = 200
_LOOKS = 5
_PAUSE_S = 0.5
_FIRST, _MOST = 500, 5_000
_CHUNK_S = 0.5
_NOT_APPLIED = "what the database shows was not applied in time"
_BEHIND = "the database that was compared with is behind"
_SAVE_S, _SAVE_SHARE = 0.5, 20.0


@dataclass(frozen=True, slots=True)
class Shown:
    """Documents as one snapshot gives them.

    Attributes:
        upper: The place in the log at or above all that they show.
        documents: By key; None where there is none.
        unreadable: By key, why the document cannot be told.
        versions: Of all rows that were read; equal for two snapshots where nothing changed.
        snapshot: Which transactions they show, as PostgreSQL writes it.
    """

    upper: int
    documents: Mapping[Key, str | None]
    unreadable: Mapping[Key, str]
    versions: frozenset[object]
    snapshot: str = ""


class Truth(Protocol):
    """What documents should be."""

    def roots(self, after: Key | None, most: int) -> Sequence[Key]:
        """Return the keys of the next rows of the root, in an order of its own."""

    def present(self, keys: Sequence[Key]) -> Collection[Key]:
        """Return those of some keys under which the root has a row."""

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        """Return documents as they are now; None where it has not come so far in time.

        Args:
            keys: Of roots; one without a row has no document.
            at_least: A place in the log that has to be shown.
            noting: Note the versions of rows, which takes a while.
        """


class Applied(Protocol):
    """How far a product has come."""

    def reach(self, place: int) -> bool:
        """Return once all up to a place is applied and sent; False where it is not in time."""

    def heard(self) -> int:
        """Return a place at or above all that the product has been told."""


@dataclass(slots=True)
class Found:
    """What was found so far; it can be written down, and gone on from.

    Attributes:
        after: The last root key that was compared at the first look; None before all.
        all_seen: Whether all keys were compared once.
        doubtful: Keys that differed at their first look, to be looked at again.
    """

    after: str | None = None
    all_seen: bool = False
    compared: int = 0
    again: int = 0
    position: int | None = None
    doubtful: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    unsettled: list[Open] = field(default_factory=list)
    unreadable: list[Open] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a comparison goes.

    Attributes:
        share: Of the keys that are compared, from 0 to 1.
        per_second: Documents at most; None for no bound.
        looks: How often a doubtful document is looked at.
        pause: Waits.
        clock: In seconds.
        now_us: The time of day, in which versions are: microseconds since 1970.
    """

    share: float = 1.0
    per_second: float | None = None
    looks: int = _LOOKS
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000


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

    def run(self) -> Found:
        """Compare all that is left to be compared; what differed at an earlier time, once more."""
        self._doubt_again()
        if not self.found.all_seen:
            self._compare_roots()
            self._look_for_extra()
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

    def _compare_roots(self) -> None:
        limit = _MOST if self._pace.per_second is None else max(1, round(self._pace.per_second))
        most = min(_FIRST, limit)
        after = None if self.found.after is None else self._keys.key(self.found.after)
        while True:
            begun = self._pace.clock()
            roots = self._truth.roots(after, most)
            if not roots:
                return
            after = roots[-1]
            texts = {each: self._keys.text(each) for each in roots}
            share = self._pace.share
            chosen = {key: text for key, text in texts.items() if in_sample(text, share)}
            self._first_look(chosen)
            self.found.after = texts[after]
            self._save()
            took = self._pace.clock() - begun
            most = min(limit, max(_FIRST // 5, round(most * _CHUNK_S / max(took, 0.01))))
            if self._pace.per_second:
                self._pace.pause(max(0.0, len(chosen) / self._pace.per_second - took))

    def _first_look(self, texts: Mapping[Key, str]) -> None:
        shown = self._truth.documents([*texts], noting=False)
        assert shown is not None  # nothing was asked of its place
        held = self._reader.read([*texts.values()])
        self.found.compared += len(texts)
        self.found.position = shown.upper
        for key, text in texts.items():
            if key in shown.unreadable:
                self.found.unreadable.append(Open(text, shown.unreadable[key]))
            elif not same(shown.documents[key], _value(held.get(text))):
                self.found.doubtful.append(text)

    def _look_for_extra(self) -> None:
        """Find the documents in the sink that no row of the root stands behind."""
        doubtful = {canonical_key(each) for each in self.found.doubtful}
        held = self._reader.keys()
        chosen = (each for each in held if in_sample(each, self._pace.share))
        for chunk in _chunks(chosen, _MOST):
            keys: list[Key] = []
            for text in chunk:
                try:
                    keys.append(self._keys.key(text))
                except ValueError as error:
                    self.found.unreadable.append(Open(text, str(error)))
            known = self._truth.present(keys)
            for key in keys:
                text = self._keys.text(key)
                # A row without a document was compared at its turn.
                if key not in known and canonical_key(text) not in doubtful:
                    self.found.compared += 1
                    self.found.doubtful.append(text)

    def _settle(self) -> None:
        self.found.again += len(self.found.doubtful)
        pause = _PAUSE_S
        together = max(_TOGETHER, min(_MOST, len(self.found.doubtful) // 20))
        at_once = 1
        for number in range(self._pace.looks):
            left: list[str] = []
            chunks = deque(_chunks(self.found.doubtful, together))
            while chunks:
                some = [chunks.popleft() for _ in range(min(at_once, len(chunks)))]
                begun, waited = self._pace.clock(), self._waited_s
                if late := self._look_again(some, left):
                    # What was not there in time for some would not be for others.
                    self.found.unsettled += [Open(each, late) for each in chain(*chunks)]
                    break
                took, waited = self._pace.clock() - begun, self._waited_s - waited
                at_once = _at_once(at_once, took, waited, most=max(1, _MOST // together))
            self.found.doubtful = left
            self._save()
            if not left:
                return
            together = max(1, together // 8)
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
        self.found.unsettled += [Open(text, why) for each in firsts for text in each.keys]
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


def _at_once(now: int, took_s: float, waited_s: float, *, most: int) -> int:
    """Return how many chunks are looked at together next.

    To wait for the run takes as long for many as for one. To read does not, and what changes
    between two readings proves nothing.
    """
    return min(most, now * 2) if waited_s > took_s / 2 else max(1, min(most, now // 2))


def _value(held: Held | None) -> str | None:
    return None if held is None else held.value


def _chunks(keys: Iterable[str], size: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    for each in keys:
        chunk.append(each)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
