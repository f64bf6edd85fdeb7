"""Changes in a file of the kernel are those that are read from it at once, however lines stand."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from joinery.plan.build import build_plan
from joinery.plan.relation import Relation
from joinery.provenance.live_rows import Record
from joinery.semantics.read_change import read_changes
from joinery.spark.source.change_log import ChangeLog
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  user: {key: [id], fields: {id: long, name: string, price: "decimal(8,2)"}}
  post: {key: [id], fields: {id: long, user_id: long, note: string}}
products:
  profile: {root: user, embed: {posts: {many: post, on: {user_id: id}}}}
"""


@pytest.fixture
def relations() -> tuple[Relation, ...]:
    return build_plan(load_text(PROJECT)).products[0].relations


def written(file: Path, seed: int, count: int = 2_500) -> list[bytes]:
    """Write lines as a kernel does: relation, what it does, position, place, absent, row."""
    random = Random(seed)
    lines = []
    for place in range(count):
        relation, op = random.randrange(2), random.randrange(3)
        row = {"id": random.randrange(50), "name": 'ä,[1,"x"]\n', "price": "1.50"}
        if relation:
            row = {"id": row["id"], "user_id": 1, "note": None}
        position = random.choice([None, place])
        absent = [1] if not op and random.random() < 0.2 else None
        line = [relation, op, position, place % 3, place, absent, row]
        lines.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    random.shuffle(lines)
    file.write_bytes(b"".join(lines))
    return lines


@pytest.mark.parametrize("seed", range(3))
def test_it_has_what_is_read_at_once(
    seed: int, relations: tuple[Relation, ...], tmp_path: Path
) -> None:
    lines = written(tmp_path / "changes", seed)

    found = ChangeLog.of([tmp_path / "changes"], relations)
    (tmp_path / "changes").unlink()

    wanted = read_changes(lines, relations)
    assert wanted == [*found] == [*found]
    assert [Record.of(each) for each in wanted] == [*found.records()]
    assert (len(wanted), wanted[-1], wanted[7:9]) == (len(found), found[-1], [*found[7:9]])
    assert wanted[::-1] == [*found.reordered(range(len(wanted) - 1, -1, -1))]


def test_nothing_written_is_no_change(relations: tuple[Relation, ...], tmp_path: Path) -> None:
    (tmp_path / "changes").touch()

    assert [] == [*ChangeLog.of([tmp_path / "changes"], relations)]
    assert [] == [*ChangeLog.of([], relations)]


@pytest.mark.parametrize("many", [False, True])
def test_a_search_finds_what_tells_a_value(
    many: bool, relations: tuple[Relation, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinery.spark.source.line_search._PART", 10_000)
    written(tmp_path / "changes", 7)
    log = ChangeLog.of([tmp_path / "changes"], relations)
    search, values = log.search(), {*range(7, 30 if many else 9)}

    for relation in relations:
        ids = search.holding(relation, ["id"], [(each,) for each in values])
        wanted = [each for each in log if each.relation == relation.name]
        assert [*log.among(ids)] == [each for each in wanted if each.key["id"] in values]
        assert {each.key["id"] for each in search.changes(ids).values()} == values

    user, post = (next(e for e in relations if e.name == name) for name in ("user", "post"))
    named = [('ä,[1,"x"]\n',), *((str(each),) for each in range(9 * many))]
    texts = search.holding(user, ["name"], named)
    assert texts == search.holding(user, ["id"], [(each,) for each in range(50)])
    assert search.holding(user, ["id", "name"], [(7, named[0][0])]) == search.holding(
        user, ["id"], [(7,)]
    )
    others = [2, *range(10, 20 * many)]
    assert not search.holding(post, ["user_id"], [(each,) for each in others])
    assert not search.holding(user, ["name"], [("x",)])


def test_parts_may_come_in_any_order(relations: tuple[Relation, ...], tmp_path: Path) -> None:
    rows = [(0, {"id": 1, "name": "a", "price": None}), (1, {"id": 9, "user_id": 1, "note": None})]
    parts = []
    for relation, row in rows:
        part = tmp_path / f"part-{relation}"
        part.write_text(
            json.dumps([relation, 0, None, 0, 1, None, row], separators=(",", ":")) + "\n"
        )
        parts.append(part)

    assert [*ChangeLog.of(parts, relations)] == [*ChangeLog.of(parts[::-1], relations)]
