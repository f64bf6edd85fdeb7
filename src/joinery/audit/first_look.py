"""The first look at all documents: which are right, and which have to be looked at again.

Where the database can build documents itself, it gives what it makes of a chunk, digests if the
target gives such, too, while the target is asked about the chunk before. What is equal is right;
what is not is assembled from its rows and compared as a value, so that another way of writing the
same costs time, and is never called a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from joinery.audit.error import DiffFailedError
from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts, in_sample
from joinery.audit.protocol import Form, Glance, Glancing, Shown, Truth
from joinery.audit.verdict import Open, same
from joinery.errors import SinkError
from joinery.model.change import Key
from joinery.sinks.key import canonical_key
from joinery.sinks.reader import DocumentReader, RangeDigests, TellsDigests
from joinery.slices import slices

_FIRST, _MOST = 500, 5_000
_CHUNK_S = 0.5
_UNEQUAL = 500


@dataclass(slots=True)
class _Chunks:
    """How large chunks are, so that each takes as long, and no more come than are asked for."""

    pace: Pace
    most: int = _FIRST

    def __post_init__(self) -> None:
        self.most = min(_FIRST, self._limit)

    @property
    def _limit(self) -> int:
        rate = self.pace.per_second
        return _MOST if rate is None else max(1, round(rate))

    def took(self, seconds: float, count: int) -> None:
        """Say how long one took of how many documents; pause where that was too fast."""
        most = max(_FIRST // 5, round(self.most * _CHUNK_S / max(seconds, 0.01)))
        self.most = min(self._limit, most)
        if self.pace.per_second:
            self.pace.pause(max(0.0, count / self.pace.per_second - seconds))


class FirstLook:
    """Looks at all keys once, and notes those that differ as doubtful.

    Args:
        keys: The forms of root keys.
        truth: What documents should be.
        reader: What the sink holds.
        pace: How it goes.
        found: Filled.
        save: Called after each chunk.
    """

    def __init__(
        self,
        keys: KeyTexts,
        truth: Truth,
        reader: DocumentReader,
        *,
        pace: Pace,
        found: Found,
        save: Callable[[], None],
    ) -> None:
        self._keys, self._truth, self._reader = keys, truth, reader
        self._pace, self._found, self._save = pace, found, save
        self._doubted = set[str]()

    def run(self) -> None:
        """Look at all that is left."""
        self._note_doubted()
        anew = self._found.after is None
        if isinstance(self._truth, Glancing) and self._pace.share >= 1:
            digests = self._reader.digests if isinstance(self._reader, TellsDigests) else None
            form: Form = "text" if digests is None else "digest"
            held = self._texts if digests is None else _between(digests)
            if self._glance(self._truth, form, held) and digests and anew:
                return
        self._compare_roots()
        self._look_for_extra()

    # -- what the database makes

    def _glance(self, truth: Glancing, form: Form, held: _Held) -> bool:
        """Compare what the database makes of documents with what is held of them.

        Returns:
            False where it cannot, where the sink has keys in another order, or where too much is
            written in another way: what is left is to be compared otherwise.
        """
        if not truth.glances(form):
            return False
        chunks, seen, unequal = _Chunks(self._pace), 0, 0
        after = None if self._found.after is None else self._keys.key(self._found.after)
        with _asking(truth) as asked:
            coming = asked.submit(truth.glance, after, chunks.most, form)
            while unequal <= max(_UNEQUAL, seen // 2):
                begun = self._pace.clock()
                try:
                    glance = coming.result()
                    keys, last = glance.keys, glance.keys[-1] if glance.keys else None
                    if last is not None:
                        coming = asked.submit(truth.glance, last, chunks.most, form)
                    there = held(after, keys)
                except (DiffFailedError, SinkError):  # Who asks next says which is away.
                    return False
                if there is None:
                    return False
                unequal += self._judge(glance, there, asked)
                if last is None:
                    return True
                seen, after, self._found.after = seen + len(keys), last, self._keys.text(last)
                self._save()
                chunks.took(self._pace.clock() - begun, len(keys))
        return False

    def _judge(self, glance: Glance, held: Mapping[Key, str], asked: Executor) -> int:
        """Note what a chunk shows; return how many documents had to be assembled."""
        keys, differing = glance.keys, _differing(glance, held)
        self._found.position = glance.upper
        self._found.compared += len(keys) - len(differing)
        if differing:
            documents = asked.submit(self._truth.documents, differing, noting=False)
            self._compare(differing, documents.result())
        self._doubt_extra(held.keys() - {*keys})
        return len(differing)

    def _texts(self, after: Key | None, keys: Sequence[Key]) -> Mapping[Key, str]:
        """Return the documents of some keys, as the sink writes them."""
        texts = {self._keys.text(each): each for each in keys}
        held = self._reader.read([*texts])
        return {texts[text]: each.value for text, each in held.items()}

    # -- what is assembled

    def _compare_roots(self) -> None:
        chunks = _Chunks(self._pace)
        after = None if self._found.after is None else self._keys.key(self._found.after)
        while True:
            begun = self._pace.clock()
            roots = self._truth.roots(after, chunks.most)
            if not roots:
                return
            after = roots[-1]
            texts = {each: self._keys.text(each) for each in roots}
            share = self._pace.share
            chosen = [key for key, text in texts.items() if in_sample(text, share)]
            self._compare(chosen, self._truth.documents(chosen, noting=False))
            self._found.after = texts[after]
            self._save()
            chunks.took(self._pace.clock() - begun, len(chosen))

    def _compare(self, keys: Sequence[Key], shown: Shown | None) -> None:
        assert shown is not None  # nothing was asked of its place
        texts = {each: self._keys.text(each) for each in keys}
        held = self._reader.read([*texts.values()])
        self._found.compared += len(texts)
        self._found.position = shown.upper
        for key, text in texts.items():
            one = held.get(text)
            if key in shown.unreadable:
                self._found.unreadable.append(Open(text, shown.unreadable[key]))
            elif not same(shown.documents[key], None if one is None else one.value):
                self._found.doubtful.append(text)

    # -- what no row stands behind

    def _look_for_extra(self) -> None:
        """Find the documents in the sink that no row of the root stands behind."""
        self._note_doubted()
        held, share = self._reader.keys(), self._pace.share
        for chunk in slices((each for each in held if in_sample(each, share)), _MOST):
            keys = self._known_keys(chunk)
            known = self._truth.present(keys)
            # A row without a document was compared at its turn.
            self._doubt([each for each in keys if each not in known])

    def _note_doubted(self) -> None:
        self._doubted = {canonical_key(each) for each in self._found.doubtful}

    def _doubt_extra(self, keys: Collection[Key]) -> None:
        self._doubt(self._known_keys(sorted(map(self._keys.text, keys))))

    def _known_keys(self, texts: Sequence[str]) -> list[Key]:
        """Return the keys that texts stand for; note those that stand for none."""
        keys: list[Key] = []
        for text in texts:
            try:
                keys.append(self._keys.key(text))
            except ValueError as error:
                self._found.unreadable.append(Open(text, str(error)))
        return keys

    def _doubt(self, keys: Sequence[Key]) -> None:
        """Have the documents of keys without a row looked at again, each once."""
        for text in map(self._keys.text, keys):
            if canonical_key(text) not in self._doubted:
                self._found.compared += 1
                self._found.doubtful.append(text)


@contextmanager
def _asking(truth: Glancing) -> Iterator[Executor]:
    """Give the thread in which alone the truth is asked, while the sink is in this one."""
    with ThreadPoolExecutor(1, "joinery-diff") as asked:
        try:
            yield asked
        except BaseException:
            truth.leave()
            raise


_Held = Callable[[Key | None, Sequence[Key]], Mapping[Key, str] | None]


def _between(digests: RangeDigests) -> _Held:
    """Return what gives the digests of a chunk, and of all that should not be there."""
    return lambda after, keys: digests.between(after, keys[-1] if keys else None)


def _differing(glance: Glance, held: Mapping[Key, str]) -> Sequence[Key]:
    """Return the keys of a chunk that cannot be called right by what was made of them."""
    made = glance.made
    if made == held:
        return ()
    # What it does not tell is None, and equals nothing.
    return [key for key in glance.keys if made.get(key, "") != held.get(key, "")]
