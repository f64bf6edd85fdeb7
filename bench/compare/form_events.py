"""What is asked of a form, and of what: `timeline`, `temporal-join` and `fold`, the plain answers.

Kinds of intervals and patterns stand in `interval_events`.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, Literal, TypeVar

from bench.compare.contenders import ContenderError

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)
STEP_MS, BLOCK = 10, 1_000
FILES = 5
NEWEST, EVENTS_PER_ACCOUNT, VERSIONS = 8, 20, 200
Answers = dict[int, Any]
"""What is right, by the number of the row that is asked of."""
Printed = tuple[str, int, int | None]
"""A row of Flink's changelog: `+I`, `-U`, `+U` or `-D`, then its two columns."""
Lines = Mapping[str, Sequence[str]]
"""JSON lines, by relation."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked.

    Attributes:
        product: The product of the project file.
        relations: The relations of the project file.
        made: Makes a number of rows, file by file.
        expected: Computes the answers over a number of rows plainly.
        told: Reads the answer off a document; an empty one is none.
        printed: Reads the answers off Flink's changelog.
        batches: How Joinery's are cut; a rate once warm needs several of one size.
    """

    product: str
    relations: str
    made: Callable[[int], Sequence[Lines]]
    expected: Callable[[int], Answers]
    told: Callable[[Mapping[str, Any]], tuple[int, Any]]
    printed: Callable[[Iterable[Printed]], Answers]
    batches: Literal["auto", "by file"] = "auto"


def clock(milliseconds: int) -> str:
    """Return a time so long after the start, as JSON has it."""
    at = START + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_blocks(rows: Sequence[T], dice: random.Random) -> list[T]:
    """Return rows in the order of a log: of their times, but for ten seconds."""
    out: list[T] = []
    for begin in range(0, len(rows), BLOCK):
        block = [*rows[begin : begin + BLOCK]]
        dice.shuffle(block)
        out += block
    return out


def in_files(rows: Sequence[tuple[str, str]]) -> list[Lines]:
    """Cut a log of relations with their lines into files of one size."""
    each = -(-len(rows) // FILES)
    files: list[Lines] = []
    for begin in range(0, len(rows), each):
        lines: dict[str, list[str]] = {name: [] for name, _ in rows}
        for name, line in rows[begin : begin + each]:
            lines[name].append(line)
        files.append(lines)
    return files


# Timelines: an eighth of the rows are users, five are follows, two are posts


@functools.cache
def _follows_and_posts(rows: int) -> tuple[int, list[tuple[int, int]], list[int]]:
    """Return how many users there are, who follows whom, and the authors of the posts.

    The n-th user is followed in proportion to 1/n.
    """
    dice = random.Random(11)
    users = rows // 8
    weights = [*accumulate(1 / (number + 1) for number in range(users))]
    follows: dict[tuple[int, int], None] = {}
    while len(follows) < users * 5:
        followed = dice.choices(range(users), cum_weights=weights, k=users)
        pairs = ((dice.randrange(users), each) for each in followed)
        follows.update(dict.fromkeys(pairs))
    return users, [*follows][: users * 5], [dice.randrange(users) for _ in range(users * 2)]


def timeline_rows(rows: int) -> list[Lines]:
    """Return users, then follows and posts side by side."""
    users, follows, posts = _follows_and_posts(rows)
    made = [("user", f'{{"id":{each}}}\n') for each in range(users)]
    for number, (follower, followee) in enumerate(follows):
        line = f'{{"id":{number},"follower_id":{follower},"followee_id":{followee}}}\n'
        made.append(("follow", line))
        if number % 5 in (1, 3):
            post = number // 5 * 2 + (number % 5 == 3)
            made.append(("post", f'{{"id":{post},"author_id":{posts[post]}}}\n'))
    return in_files(made)


def timelines(rows: int) -> Answers:
    """Return the newest posts of all whom a user follows, for those who see any."""
    _, follows, authors = _follows_and_posts(rows)
    posts: dict[int, list[int]] = {}
    for number, author in enumerate(authors):
        posts.setdefault(author, []).append(number)
    seen: dict[int, list[int]] = {}
    for follower, followee in follows:
        seen.setdefault(follower, []).extend(posts.get(followee, []))
    return {
        user: tuple(sorted(found, reverse=True)[:NEWEST]) for user, found in seen.items() if found
    }


def _rows_that_stand(printed: Iterable[Printed]) -> Answers:
    standing: dict[int, set[int]] = {}
    for sign, user, post in printed:
        if post is None:
            continue
        posts = standing.setdefault(user, set())
        if sign[0] == "+":
            posts.add(post)
        else:
            posts.discard(post)
    return {user: tuple(sorted(posts, reverse=True)) for user, posts in standing.items() if posts}


# Temporal joins: a fifth of the rows are versions of rates, the others sales


@functools.cache
def _sales_and_rates(rows: int) -> tuple[int, list[tuple[int, int, int]]]:
    """Return how many currencies there are, and for each row its currency, percent and time."""
    dice = random.Random(13)
    currencies = max(1, rows // 5 // VERSIONS)
    return currencies, [
        (dice.randrange(currencies), dice.randrange(1_000), number * STEP_MS)
        for number in range(rows)
    ]


def temporal_rows(rows: int) -> list[Lines]:
    """Return sales among new rates."""
    _, made = _sales_and_rates(rows)
    log = []
    for number, (currency, percent, at) in enumerate(made):
        told = f'"currency":{currency},"at":"{clock(at)}"}}\n'
        if number % 5 == 0:
            log.append(("rate", f'{{"percent":{percent},{told}'))
        else:
            log.append(("sale", f'{{"id":{number},{told}'))
    return in_files(in_blocks(log, random.Random(17)))


def rates_of_sales(rows: int) -> Answers:
    """Return the percent that was valid when something was sold; null before the first."""
    _, made = _sales_and_rates(rows)
    newest: dict[int, int] = {}
    found: Answers = {}
    for number, (currency, percent, _) in enumerate(made):
        if number % 5 == 0:
            newest[currency] = percent
        else:
            found[number] = newest.get(currency)
    return found


def last_told(printed: Iterable[Printed]) -> Answers:
    return {one: other for sign, one, other in printed if sign[0] == "+"}


# Folds: accounts of 20 events each, one in a hundred told twice


@functools.cache
def _events(rows: int) -> list[tuple[int, int, int]]:
    """Return the account, number and amount of each event, account by account side by side."""
    dice = random.Random(19)
    accounts = max(1, rows // EVENTS_PER_ACCOUNT)
    return [
        (number % accounts, number // accounts + 1, dice.randrange(-500, 1_000))
        for number in range(rows)
    ]


def fold_rows(rows: int) -> list[Lines]:
    """Return the events, in no order within blocks."""
    dice = random.Random(23)
    log = [
        (
            "entry",
            f'{{"account":{account},"number":{number},"amount":{amount},'
            f'"type":"{"Deposited" if amount >= 0 else "Withdrawn"}",'
            f'"at":"{clock(place * STEP_MS)}"}}\n',
        )
        for place, (account, number, amount) in enumerate(_events(rows))
    ]
    told = in_blocks([*log, *(log[each] for each in range(0, rows, 100))], dice)
    return in_files(told)


def balances(rows: int) -> Answers:
    """Return each account's balance and its last amount, by a loop over its events."""
    found: Answers = {}
    for account, _, amount in _events(rows):
        found[account] = (found.get(account, (0, 0))[0] + amount, amount)
    return found


def _unsaid(printed: Iterable[Printed]) -> Answers:
    raise ContenderError("Flink SQL has no folds")


KINDS = {
    "timeline": Kind(
        "root: user, fields: [id], embed: {posts: {many: post, through: {follow: {follower_id:"
        f" id}}}}, on: {{author_id: follow.followee_id}}, fields: [id], order: [-id],"
        f" limit: {NEWEST}}}}}",
        """\
  user: {append: true, key: [id], fields: {id: long}}
  follow: {append: true, key: [id], fields: {id: long, follower_id: long, followee_id: long}}
  post: {append: true, key: [id], fields: {id: long, author_id: long}}
""",
        timeline_rows,
        timelines,
        lambda value: (value["id"], tuple(each["id"] for each in value["posts"])),
        _rows_that_stand,
    ),
    "temporal": Kind(
        "root: sale, fields: [id], embed: {rate: {one: rate, on: {currency: currency},"
        " as_of: at, fields: [percent]}}",
        """\
  sale: {key: [id], fields: {id: long, currency: long, at: timestamp}}
  rate:
    key: [currency]
    fields: {currency: long, percent: long, at: timestamp}
    time: at
""",
        temporal_rows,
        rates_of_sales,
        lambda value: (value["id"], value["rate"] and value["rate"]["percent"]),
        last_told,
    ),
    "fold": Kind(
        "fold: entry, by: [account], sequence: number, state: {balance: long = 0, last: long},"
        " when: {Deposited: {balance: balance + event.amount, last: event.amount},"
        " Withdrawn: {balance: balance + event.amount, last: event.amount}}",
        """\
  entry:
    append: true
    fields: {account: long, number: long, amount: long, type: string, at: timestamp}
    time: at
    watermark: {delay: 1m}
""",
        fold_rows,
        balances,
        lambda value: (value["account"], (value["balance"], value["last"])),
        _unsaid,
        batches="by file",
    ),
}
