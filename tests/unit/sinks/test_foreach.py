"""A user's function is called with each document, and no document takes the run down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from joinery.errors import SinkOptionError
from joinery.model.type import LONG, Field, Struct, parse_type
from joinery.sinks.foreach import ForeachSink
from joinery.sinks.protocol import SinkError, SinkUnavailableError, StagedBatch, make_sink

Stage = Callable[..., StagedBatch]

MODULE = """
import json, os, signal, sys, time
from pathlib import Path

def keep(documents):
    print("what a function prints is no answer")
    with Path("kept").open("a") as kept:
        for each in documents:
            kept.write(json.dumps([each.key, each.value, each.version], default=repr) + "\\n")

def picky(documents):
    keep([each for each in documents if each.value["n"] != 13])
    return [(each, "thirteen is not taken") for each in documents if each.value["n"] == 13]

def raises(documents):
    if any(each.value["n"] == 13 for each in documents):
        raise ValueError("n cannot be 13")
    keep(documents)

def crashes(documents):
    if any(each.value["n"] == 13 for each in documents):
        os.kill(os.getpid(), signal.SIGKILL)
    keep(documents)

def hangs(documents):
    if any(each.value["n"] == 13 for each in documents):
        time.sleep(3600)
    keep(documents)

def away(documents):
    raise ConnectionRefusedError("the server is not there")

def wrong(documents):
    return [1]

def leaves(documents):
    sys.exit(3)

async def later(documents):
    pass
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    def build(*numbers: int, lines: tuple[str, ...] = (), ddl: str = "n: int") -> StagedBatch:
        rows = (f'{{"key":{{"id":{n}}},"value":{{"n":{n}}},"version":{n}}}' for n in numbers)
        file = tmp_path / "part.jsonl"
        file.write_text("".join(f"{line}\n" for line in (*rows, *lines)))
        value = parse_type(f"struct<{ddl}>")
        assert isinstance(value, Struct)
        return StagedBatch(
            product="ticket",
            query="ticket",
            query_id="q",
            batch_id=0,
            files=(file,),
            key=Struct((Field("id", LONG),)),
            value=value,
        )

    return build


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., ForeachSink]]:
    (tmp_path / "my_hooks.py").write_text(MODULE)
    sinks: list[ForeachSink] = []

    def make(name: str, **options: Any) -> ForeachSink:
        options = {"function": f"my_hooks:{name}", **options}
        sink = make_sink("foreach", "ticket", options, tmp_path)
        assert isinstance(sink, ForeachSink)
        sinks.append(sink)
        sink.open()
        return sink

    yield make
    for each in sinks:
        each.close()


def kept(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "kept").read_text().splitlines()]


def test_a_function_gets_documents_and_tombstones_with_key_and_version(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    gone = '{"key":{"id":2},"value":null,"version":7}'

    opened("keep").write(stage(1, lines=(gone,)))

    assert [[{"id": 1}, {"n": 1}, 1], [{"id": 2}, None, 7]] == kept(tmp_path)


def test_decimals_arrive_with_their_digits(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    line = '{"key":{"id":1},"value":{"n":12345678901234567.80,"d":0.5},"version":1}'

    opened("keep").write(stage(lines=(line,), ddl="n: decimal(20,2), d: double"))

    amount = repr(Decimal("12345678901234567.80"))
    assert [[{"id": 1}, {"n": amount, "d": 0.5}, 1]] == kept(tmp_path)


def line(key: int, n: int, version: int) -> str:
    return f'{{"key":{{"id":{key}}},"value":{{"n":{n}}},"version":{version}}}'


def test_what_a_function_was_told_before_it_is_not_told_again(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    gone = '{"key":{"id":3},"value":null,"version":%d}'
    opened("keep", remember="told.db").write(stage(1, 2, lines=(gone % 3,)))

    rebuilt = opened("keep", remember="told.db")
    rebuilt.write(stage(lines=(line(1, 1, 9), line(2, 5, 9), gone % 9, line(4, 4, 9))))

    assert [1, 2, 3, 2, 4] == [key["id"] for key, _, _ in kept(tmp_path)]


def test_a_document_that_is_as_it_was_once_more_is_told(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    sink = opened("keep", remember="told.db")
    sink.write(stage(lines=(line(1, 1, 1),)))

    sink.write(stage(lines=(line(1, 2, 2), line(1, 1, 3), line(1, 1, 4))))

    assert [1, 2, 1] == [value["n"] for _, value, _ in kept(tmp_path)]


@pytest.mark.parametrize(("name", "again"), [("picky", [13]), ("raises", [13]), ("away", [1, 13])])
def test_only_what_was_taken_is_remembered(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path, name: str, again: list[int]
) -> None:
    sink = opened(name, remember="told.db")
    with suppress(SinkUnavailableError):
        sink.write(stage(1, 13))
    (tmp_path / "kept").unlink(missing_ok=True)
    (tmp_path / "my_hooks.py").write_text(f"{MODULE}\n{name} = keep\n")

    opened(name, remember="told.db").write(stage(1, 13))

    assert again == [value["n"] for _, value, _ in kept(tmp_path)]


def test_what_one_function_was_told_another_one_is_told_too(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    opened("keep", remember="told.db").write(stage(1, 2))

    opened("picky", remember="told.db").write(stage(1, 2))

    assert [1, 2, 1, 2] == [value["n"] for _, value, _ in kept(tmp_path)]


def test_a_file_that_remembers_nothing_is_named(
    opened: Callable[..., ForeachSink], tmp_path: Path
) -> None:
    (tmp_path / "told.db").write_text("not a database, though it is long enough for its head " * 9)

    with pytest.raises(SinkError, match=r"could not remember in .*told\.db"):
        opened("keep", remember="told.db")


def test_a_long_batch_is_several_calls(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    opened("keep", batch=2).write(stage(1, 2, 3, 4, 5))

    assert [1, 2, 3, 4, 5] == [version for _, _, version in kept(tmp_path)]


def test_what_a_function_refuses_is_told_with_its_reason(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    written = opened("picky").write(stage(12, 13, 14))

    assert [("document_refused", "thirteen is not taken", 13)] == [
        (each.reason, each.detail, each.row.version) for each in written.refused
    ]
    assert [12, 14] == [version for _, _, version in kept(tmp_path)]


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("raises", "ValueError: n cannot be 13"),
        ("crashes", "its process was ended by signal 9"),
    ],
)
def test_a_document_that_breaks_the_function_is_singled_out(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path, name: str, detail: str
) -> None:
    written = opened(name).write(stage(*range(10, 18)))

    assert [("poison", 13)] == [(each.reason, each.row.version) for each in written.refused]
    assert written.refused[0].detail.startswith(detail)
    assert {10, 11, 12, 14, 15, 16, 17} == {version for _, _, version in kept(tmp_path)}


def test_a_document_that_makes_the_function_hang_is_singled_out(
    opened: Callable[..., ForeachSink], stage: Stage, tmp_path: Path
) -> None:
    written = opened("hangs", timeout="1s").write(stage(13, 14))

    assert [("poison", "it took longer than 1 s", 13)] == [
        (each.reason, each.detail, each.row.version) for each in written.refused
    ]
    assert [14] == [version for _, _, version in kept(tmp_path)]


def test_a_target_that_is_away_is_waited_for(
    opened: Callable[..., ForeachSink], stage: Stage
) -> None:
    with pytest.raises(SinkUnavailableError) as waited:
        opened("away").write(stage(1, 2))

    assert "ConnectionRefusedError: the server is not there" in waited.value.detail


def test_a_function_that_breaks_on_everything_stops_the_run(
    opened: Callable[..., ForeachSink], stage: Stage
) -> None:
    with pytest.raises(SinkError, match="fails on too many documents") as failed:
        opened("wrong", batch=150).write(stage(*range(150)))

    assert "did not return pairs of its own documents and reasons" in failed.value.detail


def test_a_function_that_leaves_its_process_is_called_in_a_fresh_one(
    opened: Callable[..., ForeachSink], stage: Stage
) -> None:
    written = opened("leaves").write(stage(1))

    assert ["it exited with 3"] == [each.detail for each in written.refused]


@pytest.mark.parametrize(
    ("function", "detail"),
    [
        ("my_hooks:missing", "has no attribute 'missing'"),
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("my_hooks:json", "my_hooks:json cannot be called"),
        ("my_hooks:later", "my_hooks:later is async, and nothing awaits it"),
    ],
)
def test_a_function_that_cannot_be_imported_is_told_at_once(
    opened: Callable[..., ForeachSink], function: str, detail: str
) -> None:
    with pytest.raises(SinkError, match="cannot be used") as failed:
        opened("", function=function)

    assert detail in failed.value.detail


@pytest.mark.parametrize("function", ["deliver", "a:b:c", "", "../x:y"])
def test_what_is_no_name_of_a_function_is_refused(function: str, tmp_path: Path) -> None:
    with pytest.raises(SinkOptionError):
        make_sink("foreach", "ticket", {"function": function}, tmp_path)
