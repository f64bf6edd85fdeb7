"""The dead letters of a project: found, put back, dropped.

Invariant: a letter is marked only after what was asked for is durable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from itertools import groupby

from joinery.dead_letters.dead_letter import (
    REASONS,
    DeadLetter,
    Resolution,
    State,
    moment,
    newest_marks,
    sorted_out,
)
from joinery.dead_letters.open import alone, dead_letter_reader, source_brokers
from joinery.dead_letters.replay import ReplayError, replay_documents, replay_files, why_unfit
from joinery.delivery.action_log import ActionLog
from joinery.delivery.control import who
from joinery.errors import JoineryError, SpecError
from joinery.plan.product import Plan, Product
from joinery.plan.stream import outputs_of
from joinery.project.captured import as_files, sealed_tables, topics_of
from joinery.project.kafka import is_named, pattern_of
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.sinks.protocol import Sink, make_sink
from joinery.text.figure import counted_text
from joinery.vault.lines import line_sealer
from joinery.vault.sink import opening_sink


class DeadLetterSelectionError(SpecError):
    """A command names dead letters that are not there, or none at all."""

    code = "SPEC_LETTERS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which letters are meant; all conditions must hold.

    Attributes:
        ids: Beginnings of ids; empty means any.
        reason: Empty means any.
        of: A topic or a product; empty means any.
        closed: Also those that were replayed or dropped.
    """

    ids: tuple[str, ...] = ()
    reason: str = ""
    of: str = ""
    closed: bool = False

    def takes(self, letter: DeadLetter) -> bool:
        """Return whether a letter is meant."""
        return (
            (self.closed or bool(self.ids) or letter.state == "open")
            and (not self.ids or letter.id.startswith(self.ids))
            and self.reason in ("", letter.reason)
            and self.of in ("", letter.of)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterGroup:
    """Letters of one reason and one topic or product.

    Attributes:
        first: The time of the oldest.
        last: The time of the newest.
        states: How many are open, replayed, dropped.
        newest: Stands for the others.
    """

    reason: str
    of: str
    count: int
    first: str
    last: str
    states: Counter[str]
    newest: DeadLetter


@dataclass(frozen=True, slots=True)
class NotReplayed:
    """A letter that was not put back, and why."""

    letter: DeadLetter
    why: str


class DeadLetterQueue:
    """The dead letters of one project.

    Args:
        spec: The project.
        plan: Its plan, which sending documents again needs; None where it is not known.
    """

    def __init__(self, spec: ProjectSpec, plan: Plan | None) -> None:
        self._spec, self._plan = spec, plan
        self._reader = dead_letter_reader(spec)

    @property
    def target(self) -> str:
        """Where the letters are kept."""
        return self._reader.target

    def find(self, selection: Selection) -> list[DeadLetter]:
        """Return the letters that are meant, in the order of their places.

        Raises:
            DeadLetterSelectionError: An id is not there, or stands for several letters; or the
                reason is none, or nothing has the name.
        """
        letters = list(sorted_out(self._reader.lines(), self._reader.marks()))
        _check_reason(selection.reason, letters)
        _check_of(selection.of, letters, self._spec)
        for begin in selection.ids:
            named = [each.id for each in letters if each.id.startswith(begin)]
            if len(named) != 1:
                raise DeadLetterSelectionError(
                    f'there is no dead letter "{begin}"'
                    if not named
                    else f'"{begin}" is the beginning of {len(named)} dead letters',
                    hint=f"Name one of {', '.join(named[:3])}."
                    if named
                    else "See joinery dlq list.",
                )
        return [each for each in letters if selection.takes(each)]

    def drop(self, letters: Sequence[DeadLetter], *, by: str = "") -> None:
        """Mark letters as not needed any more.

        Args:
            letters: Which.
            by: Who drops them; the user of this process where nobody is named.
        """
        self._mark(letters, "dropped", by)
        self._log("dlq drop", letters, by)

    def replay(self, letters: Sequence[DeadLetter], *, by: str = "") -> list[NotReplayed]:
        """Put letters back, and return those that were not.

        Records go back to where they are read, documents to the sink that refused them.

        Args:
            letters: Which.
            by: Who puts them back; the user of this process where nobody is named.
        """
        with alone(self._spec):
            kept = self._handled_meanwhile(letters)
            left = {each.letter.id for each in kept}
            open_still = [each for each in letters if each.id not in left]
            for (kind, of, where), group in groupby(sorted(open_still, key=_way), _way):
                some = list(group)
                kept += self._attempt(partial(self._ways[kind], of, where), some, by)
        left = {each.letter.id for each in kept}
        self._log("dlq replay", [each for each in letters if each.id not in left], by)
        return kept

    def _handled_meanwhile(self, letters: Sequence[DeadLetter]) -> list[NotReplayed]:
        """Return the letters that were open when they were found, and are not any more."""
        done = newest_marks(self._reader.marks())
        now = [each.marked(done.get(each.id)) for each in letters if each.state == "open"]
        return [
            NotReplayed(each, f"it was {each.state} meanwhile, at {each.at} by {each.by}")
            for each in now
            if each.state != "open"
        ]

    def _attempt(
        self,
        way: Callable[[list[DeadLetter]], list[NotReplayed]],
        letters: list[DeadLetter],
        by: str,
    ) -> list[NotReplayed]:
        try:
            kept = way(letters)
        except JoineryError as error:
            parts = (f"{error.message}.", error.detail, error.hint)
            why = " ".join(part for part in parts if part)
            return [NotReplayed(each, why) for each in letters]
        left = {each.letter.id for each in kept}
        self._mark([each for each in letters if each.id not in left], "replayed", by)
        return kept

    @property
    def _ways(self) -> dict[str, Callable[[str, str, list[DeadLetter]], list[NotReplayed]]]:
        return {
            "record": self._records,
            "document": self._documents,
            "held": self._held,
            "event": self._events,
        }

    def _records(self, topic: str, source: str, letters: list[DeadLetter]) -> list[NotReplayed]:
        found = next((each for each in self._spec.sources if each.name == source), None)
        if found is None:
            raise ReplayError(f'the project has no source "{source}"')
        put_back = partial(_REPLAYS[found.kind], self._spec, found)
        put_back([each for each in letters if not each.cut])
        kept = []
        for letter in letters:
            try:
                put_back([letter] if letter.cut else [])
            except ReplayError as error:
                kept.append(NotReplayed(letter, f"{error.message}. {error.detail} {error.hint}"))
        return kept

    def _documents(self, name: str, target: str, letters: list[DeadLetter]) -> list[NotReplayed]:
        product, sink = self._refuser(name, target)
        unfit = [NotReplayed(each, told) for each in letters if (told := why_unfit(each))]
        left = {each.letter.id for each in unfit}
        whole = [each for each in letters if each.id not in left]
        if not whole:
            return unfit
        deletes_ms = self._spec.run.tombstone_retention_ms
        why = replay_documents(sink, product, whole, deletes_ms=deletes_ms)
        reasons = ((each, why.get(str(each.facts["key"]))) for each in whole)
        return unfit + [NotReplayed(each, reason) for each, reason in reasons if reason is not None]

    def _refuser(self, name: str, target: str) -> tuple[Product, Sink]:
        """Return a product and its sink that refused documents, not yet opened."""
        if self._plan is None:
            raise ReplayError(
                "documents are sent again by their plan, which needs Spark",
                hint="Use joinery dlq replay.",
            )
        known = outputs_of(self._plan)
        product = next((each for each in known if each.name == name), None)
        if product is None:
            raise ReplayError(f'the project has no product "{name}"')
        if product.outbox is not None:
            raise ReplayError(
                f'product "{name}" is an outbox, whose refused events are not replayed',
                hint="Insert the event into the outbox once more, then drop the letter.",
            )
        folder = self._spec.path_of(".")
        made = (
            (each, make_sink(each.kind, name, dict(each.options), folder)) for each in product.sinks
        )
        sinks = (opening_sink(self._spec, product, each, sink) for each, sink in made)
        sink = next((each for each in sinks if each.target == target), None)
        if sink is None:
            raise ReplayError(f'product "{name}" has no sink "{target}" any more')
        return product, sink

    def _held(self, name: str, _: str, letters: list[DeadLetter]) -> list[NotReplayed]:
        why = "the document is sent by itself once it is back within its limits"
        return [NotReplayed(each, why) for each in letters]

    def _events(self, name: str, _: str, letters: list[DeadLetter]) -> list[NotReplayed]:
        why = f'stream "{name}" looks it up again once it is back in its topic'
        return [NotReplayed(each, why) for each in letters]

    def _log(self, verb: str, letters: Sequence[DeadLetter], by: str) -> None:
        """Write down who did what to letters."""
        if letters:
            about = sorted({each.of for each in letters})
            told = counted_text(len(letters), "dead letter")
            ActionLog(self._spec.checkpoint).note(verb, about, told, by=by)

    def _mark(self, letters: Sequence[DeadLetter], state: State, by: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if letters:
            who_did = by or who()
            marks = [Resolution(each.id, state, each.time, now, who_did) for each in letters]
            self._reader.mark(marks)


def _check_reason(reason: str, letters: Sequence[DeadLetter]) -> None:
    """Refuse a reason that no letter can have: a slip must not look like an empty box."""
    there = dict.fromkeys(each.reason for each in letters)
    known = dict.fromkeys((*there, *REASONS))
    if reason and reason not in known:
        near = get_close_matches(reason, known, n=1)
        named = f"Here: {', '.join(there)}." if there else f"Known: {', '.join(known)}."
        raise DeadLetterSelectionError(
            f'no dead letter has the reason "{reason}"',
            detail=named,
            hint=f'Use "{near[0]}".' if near else "See joinery dlq list.",
        )


def _check_of(of: str, letters: Sequence[DeadLetter], spec: ProjectSpec) -> None:
    """Refuse a name that no dead letter can have, such as a relation's where its topic has them.

    A slip must not look like an empty box.
    """
    there = dict.fromkeys(each.of for each in letters)
    topics = topics_of(spec)
    if not of or of in there:
        return
    names = (*topics, *(each.name for each in spec.products), *(each.name for each in spec.streams))
    is_known = of in names or any(is_named(each, of) for each in topics.values())
    if is_known and topics.get(of) not in there:
        return
    plain = (each for each in topics.values() if pattern_of(each) is None)
    near = [topics[of]] if of in topics else get_close_matches(of, (*there, *plain, *names), n=1)
    raise DeadLetterSelectionError(
        f'there is no topic, product or stream "{of}"',
        detail=f"There are dead letters of {', '.join(there)}." if there else "",
        hint=f'Use "{near[0]}".' if near else "See joinery dlq list.",
    )


def grouped(letters: Iterable[DeadLetter]) -> list[DeadLetterGroup]:
    """Return letters by reason and by topic or product, the largest group first."""
    ordered = sorted(letters, key=_group)
    groups = (list(some) for _, some in groupby(ordered, _group))
    found = [
        DeadLetterGroup(
            reason=some[0].reason,
            of=some[0].of,
            count=len(some),
            first=min((each.time for each in some), key=moment),
            last=max((each.time for each in some), key=moment),
            states=Counter(each.state for each in some),
            newest=max(some, key=lambda each: moment(each.time)),
        )
        for some in groups
    ]
    return sorted(found, key=lambda each: -each.count)


def _group(letter: DeadLetter) -> tuple[str, str]:
    return (letter.reason, letter.of)


def _way(letter: DeadLetter) -> tuple[str, str, str]:
    where = letter.facts.get("source" if letter.kind == "record" else "sink", "")
    return (letter.kind, letter.of, str(where))


def _into_files(spec: ProjectSpec, source: SourceSpec, letters: list[DeadLetter]) -> None:
    replay_files(spec.path_of(str(dict(source.options)["path"])), letters)


def _into_spool(spec: ProjectSpec, source: SourceSpec, letters: list[DeadLetter]) -> None:
    files = as_files(spec, source)
    personal = sealed_tables(spec, source)
    some = [each for each in letters if each.facts["topic"] in personal]
    _into_files(spec, files, [each for each in letters if each not in some])
    if some:
        # What a letter was given in place of its record is in clear.
        root = spec.path_of(str(dict(files.options)["path"]))
        replay_files(root, some, sealed=line_sealer(spec, source))


def _into_kafka(spec: ProjectSpec, source: SourceSpec, letters: list[DeadLetter]) -> None:
    from joinery.dead_letters.replay_kafka import replay_kafka

    replay_kafka(source_brokers(source), letters)


_REPLAYS: dict[str, Callable[[ProjectSpec, SourceSpec, list[DeadLetter]], None]] = {
    "files": _into_files,
    "kafka": _into_kafka,
    "postgres": _into_spool,
    "mysql": _into_spool,
}
