"""The events of the rows `interval` and `pattern-…`, what is asked of them, the plain answers."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.compare.form_events import (
    STEP_MS,
    Answers,
    Kind,
    Lines,
    Printed,
    clock,
    in_blocks,
    in_files,
    last_told,
)

HALF_AN_HOUR_MS, TEN_MINUTES_MS = 1_800_000, 600_000
MADE_FOR, ROWS_PER_CARD = 4, 200


@dataclass(frozen=True, slots=True)
class Row:
    """An event; times are milliseconds from the start, none of them twice.

    Attributes:
        about: The search that a click is of; the card that an event is of.
        kind: One letter.
    """

    id: int
    about: int
    kind: str
    at: int

    def line(self) -> str:
        """Return it as JSON."""
        told = f'"about":{self.about},"kind":"{self.kind}","at":"{clock(self.at)}"'
        return f'{{"id":{self.id},{told}}}\n'


def clicks_of(rows: Sequence[Row]) -> Answers:
    """Count the clicks of each search within half an hour."""
    found = {each.id: 0 for each in rows if each.kind == "s"}
    times = {each.id: each.at for each in rows if each.kind == "s"}
    for each in rows:
        if each.kind == "c" and 0 <= each.at - times[each.about] <= HALF_AN_HOUR_MS:
            found[each.about] += 1
    return found


def _cards(rows: Sequence[Row]) -> Iterator[list[Row]]:
    cards: dict[int, list[Row]] = {}
    for each in sorted(rows, key=lambda row: row.at):
        cards.setdefault(each.about, []).append(each)
    yield from cards.values()


def runs_of(pattern: str) -> Callable[[Sequence[Row]], Answers]:
    """Return what finds adjacent rows whose letters are those of a regular expression."""
    asked = re.compile(pattern)

    def find(rows: Sequence[Row]) -> Answers:
        return {
            card[one.start()].id: card[one.end() - 1].id
            for card in _cards(rows)
            for one in asked.finditer("".join(each.kind for each in card))
        }

    return find


def in_order(rows: Sequence[Row]) -> Answers:
    """Find an a, the first b after it and the first c after that, within ten minutes."""
    found: Answers = {}
    for card in _cards(rows):
        begin = 0
        while begin < len(card):
            last = _last(card, begin)
            if last is not None:
                found[card[begin].id] = card[last].id
            begin = begin + 1 if last is None else last + 1
    return found


def _last(card: Sequence[Row], begin: int) -> int | None:
    wanted = "abc"
    for place in range(begin, len(card)):
        if card[place].at - card[begin].at > TEN_MINUTES_MS:
            return None
        if card[place].kind == wanted[0]:
            wanted = wanted[1:]
        elif place == begin:
            return None
        if not wanted:
            return place
    return None


def _printed_pairs(printed: Iterable[Printed]) -> Answers:
    """Count the pairs of each search; one without a click stands alone."""
    found: Answers = {}
    for _, search, click in printed:
        found[search] = found.get(search, 0) + (click is not None)
    return found


DEFINE = "define: {A: \"kind = 'a'\", B: \"kind = 'b'\", C: \"kind = 'c'\"}"
PATTERN = f"pattern: event, by: [about], {DEFINE}, fields: {{last: C.id}}"
CLICKS = (
    "root: search, fields: [id], values: {n: count(clicks)}, embed: {clicks: {many: click,"
    " on: {about: id}, within: [0s, 30m], fields: [id], hidden: true}}, emit: {when: closed}"
)
RELATION = """\
  {name}:
    append: true
    key: [id]
    fields: {{id: long, about: long, kind: string, at: timestamp}}
    time: at
    watermark: {{delay: 1m}}
"""


@functools.cache
def events(name: str, rows: int, seed: int = 11) -> list[Row]:
    """Return the events in the order of their files: of their times, but for ten seconds."""
    dice = random.Random(seed)
    made: list[Row] = []
    for number in range(rows):
        if name != "interval":
            row = Row(
                number,
                dice.randrange(rows // ROWS_PER_CARD),
                dice.choice("abbcxx"),
                number * STEP_MS,
            )
        elif number % 5 < 3 or number < MADE_FOR * 5:
            row = Row(number, number, "s", number * STEP_MS)
        else:  # A click is of one of the searches before it: in five, one is too late.
            ago = dice.randrange(1, min(number, 225_000))
            about = number - ago
            about -= 2 if about % 5 >= 3 else 0
            row = Row(number, about, "c", number * STEP_MS)
        made.append(row)
    return in_blocks(made, dice)


def _searches_and_clicks(rows: int) -> list[Lines]:
    names = {"s": "search", "c": "click"}
    return in_files([(names[each.kind], each.line()) for each in events("interval", rows)])


def _rows_of_cards(rows: int) -> list[Lines]:
    return in_files([("event", each.line()) for each in events("pattern", rows)])


def _matches(pattern: str, find: Callable[[Sequence[Row]], Answers]) -> Kind:
    return Kind(
        f"{PATTERN}, {pattern}",
        RELATION.format(name="event"),
        _rows_of_cards,
        lambda rows: find(events("pattern", rows)),
        lambda value: (value["start"]["id"], value["last"]),
        last_told,
    )


KINDS = {
    "interval": Kind(
        CLICKS,
        RELATION.format(name="search") + RELATION.format(name="click"),
        _searches_and_clicks,
        lambda rows: clicks_of(events("interval", rows)),
        lambda value: (value["id"], value["n"]),
        _printed_pairs,
    ),
    "strict": _matches("match: A B C", runs_of("abc")),
    "relaxed": _matches('match: "A -> B -> C", within: 10m', in_order),
    "kleene": _matches("match: A B+ C", runs_of("ab+c")),
}
