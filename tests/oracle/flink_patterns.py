"""Random patterns in Flink SQL beside the small plain matcher: `make flink-patterns`.

They are of what both can say: a sequence of different variables, strict or relaxed, with
quantifiers, `within` and both ways to go on after a match. Each runs over the logs of many keys.

Patterns where Flink is known to find something else are told apart. It gives back no row that a
quantifier has taken, so it misses matches where a row that is repeated may also be what follows;
and it may pass over more rows than need be. A relaxed pattern has `within`, since Flink holds back
what begins behind a row that may still begin a match.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.oracle.plain_matcher import Chain, Often, One, Row, Search, Taken, Tree, matches, written
from tests.oracle.test_matches import Test, own, rows_of

from bench.compare.contenders import FLINK, Flink

START = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = "ABCD"
QUANTIFIERS = {
    "": (1, 1),
    "+": (1, None),
    "*": (0, None),
    "?": (0, 1),
    "{2}": (2, 2),
    "{1,3}": (1, 3),
    "{2,}": (2, None),
    "{0,2}": (0, 2),
}
Found = dict[tuple[int, int], set[tuple[int, ...]]]
"""The matches by query and key: the rows of each variable, as bits."""


@dataclass(frozen=True, slots=True)
class Query:
    """A pattern as both have it."""

    search: Search
    sql: str
    told: str
    kind: str
    """Of what it is asked for: see `_kind`."""


def _test(
    pick: random.Random, name: str, kinds: Sequence[str], earlier: Sequence[str]
) -> tuple[str, Test]:
    """Return what a row must be, in Flink's SQL and as a function."""
    listed = ", ".join(f"'{each}'" for each in kinds)
    plain = f"{name}.kind IN ({listed})", lambda rows, taken: own(rows, taken)["kind"] in kinds
    if pick.random() < 0.6:
        return plain
    least = pick.randrange(1, 7)
    reading: list[tuple[str, Test]] = [
        (f"SUM({name}.x) <= {least}", lambda rows, taken: _sum(rows, taken, name) <= least),
        (f"{name}.x >= FIRST({name}.x)", lambda rows, taken: _at_least(rows, taken, name, 0)),
    ]
    if earlier:
        other = pick.choice(earlier)
        reading += [
            (f"{name}.x > LAST({other}.x)", lambda rows, taken: _above(rows, taken, other, -1)),
            (f"{name}.x > FIRST({other}.x)", lambda rows, taken: _above(rows, taken, other, 0)),
            (f"SUM({other}.x) > {least}", lambda rows, taken: _sum(rows, taken, other) > least),
        ]
    read = pick.choice(reading)
    return (
        f"{plain[0]} AND {read[0]}",
        lambda rows, taken: plain[1](rows, taken) and read[1](rows, taken),
    )


def _sum(rows: Sequence[Row], taken: Taken, name: str) -> int:
    return sum(each["x"] for each in rows_of(rows, taken, name))


def _above(rows: Sequence[Row], taken: Taken, name: str, at: int) -> bool:
    found = rows_of(rows, taken, name)
    return bool(found) and bool(own(rows, taken)["x"] > found[at]["x"])


def _at_least(rows: Sequence[Row], taken: Taken, name: str, at: int) -> bool:
    return bool(own(rows, taken)["x"] >= rows_of(rows, taken, name)[at]["x"])


def random_query(seed: int) -> Query:
    """Return a pattern of one to four variables."""
    pick = random.Random(f"flink {seed}")
    names = NAMES[: pick.choice([2, 2, 3, 3, 4])]
    parts: list[Tree] = []
    skips: list[bool] = []
    texts: list[str] = []
    greedy = False
    repeated: list[tuple[str, str]] = []
    for place, name in enumerate(names):
        # Flink takes nothing that may be empty after what is greedy, such as rows that are passed
        # over, and nothing greedy at the end. A relaxed part takes a row, and so does the first.
        skip = place > 0 and not greedy and pick.random() < 0.4
        known = [
            each
            for each, (least, most) in QUANTIFIERS.items()
            if (least > 0 or not (skip or greedy or place == 0))
            and (least == most or place < len(names) - 1)
        ]
        quantifier = pick.choice(known)
        if skip:
            texts.append(f"X{place}*?")
        texts.append(name + quantifier)
        one, bounds = One(name), QUANTIFIERS[quantifier]
        greedy = bounds[0] != bounds[1]
        repeated += [(name, names[place + 1])] if greedy else []
        parts.append(one if bounds == (1, 1) else Often(one, *bounds))
        skips += [skip] if place else []
    kinds = {name: sorted(pick.sample("abc", pick.choice([1, 1, 2]))) for name in names}
    tests = {name: _test(pick, name, kinds[name], names[:at]) for at, name in enumerate(names)}
    within = pick.choice([4, 9, 15] if any(skips) else [None, None, 4, 9])
    past_last = pick.random() < 0.5
    functions = {name: test for name, (_, test) in tests.items()}
    tree = Chain(tuple(parts), tuple(skips))
    search = Search(
        tree,
        lambda rows, taken: functions[taken[-1][0]](rows, taken),
        within=within,
        past_last=past_last,
    )
    # Flink's interval leaves out the end that ours has.
    interval = f" WITHIN INTERVAL '{within}.001' SECOND" if within is not None else ""
    skipped = "PAST LAST ROW" if past_last else "TO NEXT ROW"
    measured = [f"SUM({each}.mask) AS {each.lower()}" for each in names]
    missing = [f"CAST(NULL AS BIGINT) AS {each.lower()}" for each in NAMES[len(names) :]]
    columns = ", ".join(["who", *(each.lower() for each in NAMES[: len(names)]), *missing])
    defined = ", ".join(f"{name} AS {text}" for name, (text, _) in tests.items())
    sql = (
        f"SELECT {columns} FROM e MATCH_RECOGNIZE (PARTITION BY who ORDER BY `at`"
        f" MEASURES {', '.join(measured)} ONE ROW PER MATCH AFTER MATCH SKIP {skipped}"
        f" PATTERN ({' '.join(texts)}){interval} DEFINE {defined})"
    )
    after = "past_last" if past_last else "next_row"
    told = f"{written(tree)} within {within} {after}: {defined}"
    overlapping = any(not set(kinds[one]).isdisjoint(kinds[other]) for one, other in repeated)
    return Query(search, sql, told, _kind(overlapping=overlapping, relaxed=any(skips)))


def _kind(*, overlapping: bool, relaxed: bool) -> str:
    if overlapping:
        return "repeat rows that may be the next variable"
    return "pass over rows" if relaxed else "are strict"


def random_rows(keys: int, seed: int) -> dict[int, list[Row]]:
    """Return the rows of each key, whose times rise."""
    pick = random.Random(f"flink rows {seed}")
    found: dict[int, list[Row]] = {}
    for who in range(keys):
        at = 0
        found[who] = []
        for id in range(pick.randrange(3, 13)):
            at += pick.choice([1, 1, 2, 3])
            row = {"kind": pick.choice("abc"), "x": pick.randrange(4), "at": at, "id": id}
            found[who].append(row)
    return found


def _write(folder: Path, logs: dict[int, list[Row]]) -> None:
    folder.mkdir()
    rows = [({"who": who, **row}, row["at"]) for who, log in logs.items() for row in log]
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row, at in sorted(rows, key=lambda each: each[1]):
            time = (START + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ")
            file.write(json.dumps(row | {"at": time, "mask": 1 << row["id"]}) + "\n")


def expected(queries: Sequence[Query], logs: dict[int, list[Row]]) -> Found:
    """Return what the plain matcher finds."""
    found: Found = {}
    for number, query in enumerate(queries):
        for who, rows in logs.items():
            for taken in matches(rows, query.search):
                bits = [sum(1 << row["id"] for row in rows_of(rows, taken, n)) for n in NAMES]
                found.setdefault((number, who), set()).add(tuple(bits))
    return found


_PRINTED = re.compile(r"^(?:\d+> )?\+I\[(.*)\]$")


def printed(log: Path) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """Yield the matches that Flink printed."""
    for line in log.read_text(encoding="utf-8").splitlines():
        if told := _PRINTED.match(line.strip()):
            numbers = [0 if each == "null" else int(each) for each in told[1].split(", ")]
            yield (numbers[0], numbers[1]), tuple(numbers[2:])


def main() -> None:
    """Compare, and print each pattern on which they differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.flink_patterns")
    parser.add_argument("--patterns", type=int, default=100)
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    queries = [random_query(chosen.seed + each) for each in range(chosen.patterns)]
    logs = random_rows(chosen.keys, chosen.seed)
    flink = Flink("flink", *FLINK, ())
    flink.install()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _write(work / "rows", logs)
        (work / "queries.json").write_text(json.dumps([each.sql for each in queries]))
        peer = Flink("flink", FLINK[0], "flink_patterns.py", ())
        more = ("--work", folder, "--queries", str(work / "queries.json"))
        _, facts = peer.start(work / "rows", work, *more)
        found: Found = {}
        for place, match in printed(work / "flink.log"):
            found.setdefault(place, set()).add(match)
    refused = {int(number): reason for number, reason in facts["refused"].items()}
    wanted = {at: each for at, each in expected(queries, logs).items() if at[0] not in refused}
    differing = {at for at in wanted | found if wanted.get(at) != found.get(at)}
    for number, keys in Counter(number for number, _ in differing).items():
        who = min(each for query, each in differing if query == number)
        told = [f"{row['id']}{row['kind']}{row['x']}@{row['at']}" for row in logs[who]]
        print(f"{keys} keys differ: {queries[number].told}\n  {queries[number].sql}")
        print(f"  such as {' '.join(told)}")
        print(f"  plain {sorted(wanted.get((number, who), ()))}")
        print(f"  flink {sorted(found.get((number, who), ()))}")
    for number, reason in refused.items():
        print(f"refused: {queries[number].sql}\n  {reason}")
    for kind in sorted({each.kind for each in queries}):
        of = {at for at, each in enumerate(queries) if each.kind == kind} - refused.keys()
        total = sum(len(each) for at, each in wanted.items() if at[0] in of)
        unlike = sum(
            len(wanted.get(at, set()) ^ found.get(at, set())) for at in differing if at[0] in of
        )
        print(f"{len(of)} patterns that {kind}: {total:,} matches, {unlike:,} differ")


if __name__ == "__main__":
    main()
