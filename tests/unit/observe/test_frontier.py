"""How far a product has come, by what Spark keeps of its batches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import joinery as jn
from joinery.capture.spool import SpoolFolder
from joinery.errors import RunError
from joinery.observe.frontier import (
    Frontier,
    WaitError,
    begun_offsets,
    seen_sizes,
)
from joinery.observe.wait import WaitTimeoutError

PROJECT = """\
name: shop
sources:
  data: {files: {path: data}}
  log: {kafka: {bootstrap: "127.0.0.1:9"}}
relations:
  customer: {source: data, key: [id], fields: {id: long}}
  orders: {source: log, key: [id], fields: {id: long, customer_id: long}}
  other: {source: log, key: [id], fields: {id: long}}
products:
  profile:
    root: customer
    embed: {orders: {many: orders, on: {customer_id: id}}}
    sink: {files: {path: out}}
  calm: {root: customer, emit: {settle: 2s}, sink: {files: {path: out}}}
  kept: {root: customer, sink: {files: {path: out, spool: true}}}
"""
FILES = {
    "format": 1,
    "topics": {"customer": {"done": "0-1", "open": [[2, 5, 90]], "lines": 9, "bytes": 9}},
}
SEEN = [{"topic": "customer", "number": n, "file": f"{n}.jsonl", "size": 90} for n in range(4)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "joinery.yaml"
    found.write_text(PROJECT, encoding="utf-8")
    return found


@pytest.fixture
def checkpoint(file: Path) -> Path:
    """A checkpoint with batch 4 committed, and batch 5 begun."""
    root = file.parent / ".joinery" / "checkpoint" / "profile"
    sources = [{"name": "data", "kind": "files"}, {"name": "log", "kind": "kafka"}]
    write(root / "joinery.sources.json", json.dumps(sources))
    for number, offset in ((4, 10), (5, 20)):
        lines = ["v1", "{}", json.dumps(FILES), json.dumps({"orders": {"0": offset, "1": 3}})]
        write(root / "offsets" / str(number), "\n".join(lines))
    write(root / "commits" / "4", "v2\n{}")
    labels = [{"format": 1, "all": False}, *SEEN]
    write(root / "sources" / "0" / "000000000.labels", "\n".join(map(json.dumps, labels)))
    return root


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def has(file: Path, *positions: str) -> bool:
    try:
        jn.wait(file, "profile", *positions, timeout="0s")
    except WaitTimeoutError:
        return False
    return True


@pytest.mark.usefixtures("checkpoint")
@pytest.mark.parametrize(
    "position",
    ["orders/0/9", "orders/1/2", "customer/1.jsonl", "customer/0.jsonl/999", "customer/2.jsonl/5"],
)
def test_what_a_committed_batch_read_is_passed(file: Path, position: str) -> None:
    assert has(file, position)


@pytest.mark.usefixtures("checkpoint")
@pytest.mark.parametrize(
    "position",
    [
        "orders/0/10",  # Batch 5 has read it, and is not committed.
        "orders/7/0",
        "customer/2.jsonl/6",
        "customer/2.jsonl",
        "customer/3.jsonl/1",
        "customer/4.jsonl/1",
    ],
)
def test_what_none_has_read_is_not(file: Path, position: str) -> None:
    assert not has(file, position)
    assert not has(file, "orders/0/9", position)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_that_a_file_did_not_have_when_it_was_read_is_refused(
    file: Path, checkpoint: Path, end: str
) -> None:
    told = json.dumps({"id": 1}) + "\n" + json.dumps({"id": 2}) + end
    write(file.parent / "data" / "customer" / "1.jsonl", f"{told}\n{{}}\n")
    note = {"topic": "customer", "number": 1, "file": "1.jsonl", "size": len(told)}
    labels = [{"format": 1, "all": False}, note]
    notes = checkpoint / "sources" / "0" / "000000000.labels"
    write(notes, "\n".join(map(json.dumps, labels)))

    assert has(file, "customer/1.jsonl/2")
    assert has(file, "customer/1.jsonl")
    with pytest.raises(WaitError, match=r"customer/1\.jsonl, which is read: it had 2 lines"):
        has(file, "customer/1.jsonl/3")


def test_nothing_is_passed_before_the_first_batch(file: Path) -> None:
    assert not has(file, "orders/0/0")
    assert not has(file, "customer/0.jsonl/1")


def test_a_batch_that_is_committed_meanwhile_is_waited_for(file: Path, checkpoint: Path) -> None:
    write(checkpoint / "commits" / "5", "v2\n{}")

    assert has(file, "orders/0/19")


@pytest.mark.parametrize(
    ("product", "position", "timeout", "problem"),
    [
        ("profle", "orders/0/1", "1s", 'no product or stream "profle".*Did you mean profile'),
        ("profile", "ordres/0/1", "1s", "not in a topic that the product reads.*mean orders"),
        ("profile", "other/0/1", "1s", "not in a topic that the product reads"),
        ("profile", "orders/0", "1s", "not name a record of a partition.*orders/0/1042"),
        ("profile", "orders/a/1", "1s", "not name a record of a partition"),
        ("profile", "customer/1.jsonl/0", "1s", "not name a line of a file"),
        ("profile", "orders/0/1", "soon", "is not a duration"),
        ("calm", "customer/1.jsonl", "1s", "holds documents back"),
        ("kept", "customer/1.jsonl", "1s", 'a sink of "kept" has a spool'),
    ],
)
def test_what_cannot_be_waited_for_is_told(
    file: Path, product: str, position: str, timeout: str, problem: str
) -> None:
    with pytest.raises(WaitError, match=f"(?s){problem}"):
        jn.wait(file, product, position, timeout=timeout)


def query(folder: Path, *segments: dict[str, int]) -> Path:
    """Write a checkpoint that has seen files of these sizes, a segment of notes each."""
    sources = [{"name": "log", "kind": "kafka"}, {"name": "data", "kind": "files"}]
    write(folder / "joinery.sources.json", json.dumps(sources))
    for number, sizes in enumerate(segments):
        notes = [{"topic": "customer", "file": name, "size": size} for name, size in sizes.items()]
        labels = [{"format": 1, "all": False}, *notes]
        text = "\n".join(map(json.dumps, labels))
        write(folder / "sources" / "1" / f"{number:09d}.labels", text)
    return folder


def test_so_much_of_a_file_is_read_as_it_had_when_it_was_seen(tmp_path: Path) -> None:
    checkpoint = query(tmp_path / "q", {"1.jsonl": 7}, {"2.jsonl": 8})

    seen = seen_sizes([checkpoint])

    assert {"data": {("customer", "1.jsonl"): 7, ("customer", "2.jsonl"): 8}} == seen


def test_a_file_that_one_query_has_not_seen_is_read_whole(tmp_path: Path) -> None:
    first = query(tmp_path / "q", {"1.jsonl": 7, "2.jsonl": 8})
    second = query(tmp_path / "r", {"1.jsonl": 9})

    assert {"data": {("customer", "1.jsonl"): 9}} == seen_sizes([first, second])
    assert {"data": {}} == seen_sizes([first, tmp_path / "never ran"])
    assert {} == seen_sizes([tmp_path / "never ran"])


def test_notes_that_vanish_again_and_again_can_be_read_later(tmp_path: Path) -> None:
    checkpoint = query(tmp_path / "q", {"1.jsonl": 7})
    (checkpoint / "sources" / "1" / "000000001.labels").symlink_to(tmp_path / "merged")

    with pytest.raises(RunError, match="could not read which files are in"):
        seen_sizes([checkpoint])


def test_topics_are_begun_where_spark_noted_it(checkpoint: Path, tmp_path: Path) -> None:
    noted = {"orders": {"0": 5, "1": 0, "2": 8}}
    write(checkpoint / "sources" / "1" / "0", "\0v1\n" + json.dumps(noted))
    other = tmp_path / "other"
    sources = [{"name": "log", "kind": "kafka"}]
    write(other / "joinery.sources.json", json.dumps(sources))
    write(other / "sources" / "0" / "0", "\0v1\n" + json.dumps({"orders": {"0": 3, "1": 1}}))

    assert {"log": noted} == begun_offsets([checkpoint])
    assert {"log": {"orders": {"0": 3, "1": 0}}} == begun_offsets([checkpoint, other])
    assert {} == begun_offsets([checkpoint, tmp_path / "none"])


def test_a_batch_that_was_marked_is_known_for_longer(checkpoint: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    shutil.copytree(checkpoint / "offsets", mark / "offsets")
    (checkpoint / "offsets" / "4").unlink()

    assert {} == Frontier.read(checkpoint, 4).told
    found = Frontier.read(checkpoint, 4, mark)

    assert {"orders": {"0": 10, "1": 3}} == found.told["log"]
    assert 3 == found.files["data"]["customer", "3.jsonl"]


def test_a_place_in_a_database_is_waited_for_only_where_something_tells_of_it(file: Path) -> None:
    told = "is a place in a database's log, and it is not known when"

    with pytest.raises(WaitError, match=f'"0/16B3748" {told} "profile" has reached it'):
        jn.wait(file, "profile", "0/16B3748", timeout="0s")
    file.write_text(PROJECT + "  order: {root: orders, sink: {files: {path: out}}}\n")
    with pytest.raises(WaitError, match=f'"0/16B3748" {told} "order" has reached it'):
        jn.wait(file, "order", "0/16B3748", timeout="0s")


CAPTURED = """\
name: shop
sources: {db: {postgres: {url: "postgresql://nobody@127.0.0.1:9/none"}}}
relations:
  customer: {key: [id], fields: {id: long}}
products:
  profile: {root: customer, sink: {files: {path: out}}}
"""


def test_a_place_is_shown_once_it_is_captured_and_its_files_are_read(tmp_path: Path) -> None:
    file, root = tmp_path / "joinery.yaml", tmp_path / ".joinery" / "checkpoint" / "profile"
    write(file, CAPTURED)
    spool = SpoolFolder.claim(tmp_path / ".joinery/spool/db", slot="s", tables=("public.customer",))
    spool.note_begins(("public.customer",))
    write(root / "joinery.sources.json", json.dumps([{"name": "db", "kind": "files"}]))
    write(root / "commits" / "0", "v2\n{}")
    seen = [{"topic": "public.customer", "number": 0, "file": "1.jsonl", "size": 9}]
    write(root / "sources/0/000000000.labels", "\n".join(map(json.dumps, [{"format": 1}, *seen])))
    read = {"public.customer": {"done": "0", "open": [], "lines": 9, "bytes": 9}}
    write(root / "offsets" / "0", "\n".join(["v1", "{}", json.dumps({"topics": read})]))
    write(spool.path / "files" / "public.customer" / "1.jsonl", "{}")
    found = []

    spool.note_read("s", 0x10, 1)
    found.append(has(file, "0/10"))  # its rows were never read: its changes are held
    spool.note_joined("public.customer")
    found += [has(file, "0/10"), has(file, "0/11")]
    spool.note_read("s", 0x20, 2)
    write(spool.path / "files" / "public.customer" / "2.jsonl", "{}")
    found.append(has(file, "0/11"))

    assert [False, True, False, False] == found
