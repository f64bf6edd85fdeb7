"""The queue of `rdbms-trigger` on a real PostgreSQL: writers, listeners, the command, the plans."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.services import triggered
from tests.services.captured import until
from tests.unit.solutions.trigger.shop import PROJECT, product

from joinery.delivery.outlet import SinkResult
from joinery.dev.service import Service
from joinery.plan.build import build_plan
from joinery.project.kinds import SOLUTIONS
from joinery.sinks.line import read_rows
from joinery.sinks.protocol import StagedBatch
from joinery.solutions.choose import SolutionPlace, open_solution
from joinery.solutions.stored.state import Batch, StoreError, StoreFencedError, StoreSolution
from joinery.solutions.trigger.explain import explain_statements
from joinery.solutions.trigger.listen import Listener
from joinery.solutions.trigger.open import open_listener
from joinery.solutions.trigger.options import TriggerOptions
from joinery.testing.changes import insert
from joinery.testing.conformance.project import load_text

pytestmark = pytest.mark.services
options = triggered.options


@dataclass
class Outlets:
    """Keeps what each write gives."""

    lines: list[tuple[int, Any, Any]] = field(default_factory=list)

    def open(self) -> None: ...

    def write(self, batch: StagedBatch) -> Sequence[SinkResult]:
        for row in read_rows(batch.files):
            self.lines.append((row.version, row.key_values()["id"], row.value))
        return ()

    def drain(self) -> Sequence[SinkResult]:
        return ()

    def close(self) -> None: ...

    def taken(self) -> dict[Any, Any]:
        """Return what came since the last call, by key."""
        found = {key: value for _, key, value in self.lines}
        self.lines.clear()
        return found


def typed(options: Mapping[str, object]) -> TriggerOptions:
    found: TriggerOptions = SOLUTIONS.read("rdbms-trigger", options)
    return found


@pytest.fixture
def queued(options: dict[str, object]) -> dict[str, object]:
    return {**options, "publish": "queue"}


@pytest.fixture
def outlets() -> Outlets:
    return Outlets()


@pytest.fixture
def ingester(queued: dict[str, object], tmp_path: Any) -> Iterator[StoreSolution]:
    opened = open_solution("rdbms-trigger", [product()], queued, SolutionPlace(tmp_path, "profile"))
    yield opened
    opened.close()


@pytest.fixture
def listener(
    ingester: StoreSolution, queued: Mapping[str, object], outlets: Outlets
) -> Iterator[Listener]:
    opened = open_listener([product()], typed(queued), {"profile": outlets})
    yield opened
    opened.close()


@pytest.fixture
def writer(
    ingester: StoreSolution, options: dict[str, object]
) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(str(options["database"]), autocommit=True) as connection:
        connection.execute(f'SET search_path = "{options["schema"]}"'.encode())
        yield connection


def ingest(ingester: StoreSolution, number: int, *told: Any) -> Mapping[str, Any]:
    relations = {each.name: each for each in product().relations}
    changes = [each.change(relations[each.relation]) for each in told]
    return ingester.apply(changes, Batch("run", number, 1, (number + 1) * 1_000_000)).emitted


def shown(name: str, *repos: str) -> str:
    stars = ",".join(f'{{"repo":"{each}"}}' for each in repos)
    return f'{{"id":1,"name":"{name}","stars":[{stars}]}}'


def test_the_ingester_sends_nothing_and_the_listener_all(
    ingester: StoreSolution, listener: Listener, outlets: Outlets
) -> None:
    emitted = ingest(ingester, 0, insert("user", id=1, name="ada"))

    told = listener.publish()

    assert not any(each.documents for each in emitted.values())
    assert told is not None
    assert {1: shown("ada")} == outlets.taken()


def test_another_writers_change_is_published(
    ingester: StoreSolution,
    listener: Listener,
    outlets: Outlets,
    writer: psycopg.Connection[Any],
) -> None:
    ingest(ingester, 0, insert("user", id=1, name="ada"), insert("repo", id=7, name="loom"))
    listener.publish()
    outlets.taken()

    writer.execute("INSERT INTO profile__star (user_id, repo_id) VALUES (1, 7)")
    listener.publish()
    starred = outlets.taken()
    writer.execute("UPDATE profile__repo SET name = 'mill'")
    listener.publish()
    renamed = outlets.taken()
    writer.execute("DELETE FROM profile__star")
    listener.publish()

    assert {1: shown("ada", "loom")} == starred
    assert {1: shown("ada", "mill")} == renamed
    assert {1: shown("ada")} == outlets.taken()


def test_another_writer_may_write_through_a_view(
    queued: dict[str, object], outlets: Outlets, tmp_path: Path
) -> None:
    views = {"user": {"name": "people", "columns": {"number": "id", "who": "name"}}}
    place = SolutionPlace(tmp_path, "profile")
    for _ in range(2):
        open_solution("rdbms-trigger", [product()], {**queued, "views": views}, place).close()
    listener = open_listener([product()], typed(queued), {"profile": outlets})

    with psycopg.connect(str(queued["database"])) as other:
        other.execute(f'SET search_path = "{queued["schema"]}"'.encode())
        other.execute("INSERT INTO people (number, who) VALUES (1, 'ada')")
    listener.publish()
    listener.close()

    assert {1: shown("ada")} == outlets.taken()


def test_a_queue_that_is_left_is_filled_no_more_once_all_of_it_is_published(
    ingester: StoreSolution,
    listener: Listener,
    options: dict[str, object],
    writer: psycopg.Connection[Any],
    tmp_path: Path,
) -> None:
    place = SolutionPlace(tmp_path, "profile")
    ingest(ingester, 0, insert("user", id=1, name="ada"))

    with pytest.raises(StoreError, match="are still in their queue"):
        open_solution("rdbms-trigger", [product()], options, place)
    ingest(ingester, 1, insert("user", id=2, name="eve"))
    listener.publish()
    open_solution("rdbms-trigger", [product()], options, place).close()
    writer.execute("UPDATE profile__user SET name = 'joe'")

    assert (0,) == writer.execute("SELECT count(*) FROM profile__queue").fetchone()


def test_a_queue_is_left_once_the_batch_of_a_listener_is_through(
    ingester: StoreSolution,
    options: dict[str, object],
    writer: psycopg.Connection[Any],
    tmp_path: Path,
) -> None:
    place = SolutionPlace(tmp_path, "profile")
    with (
        ThreadPoolExecutor(1) as other,
        psycopg.connect(str(options["database"])) as batch,
    ):
        batch.execute(f'SET search_path = "{options["schema"]}"'.encode())
        batch.execute("SELECT number FROM profile__queue_number FOR UPDATE")
        batch.execute("SELECT FROM profile__star")
        left = other.submit(open_solution, "rdbms-trigger", [product()], options, place)
        blocked = "SELECT FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
        while not (left.done() or writer.execute(blocked, (batch.info.backend_pid,)).fetchall()):
            time.sleep(0.01)

        batch.execute("SELECT FROM profile__user")
        batch.commit()

        left.result(timeout=60).close()


def test_a_relation_may_have_the_name_of_the_queue(
    options: dict[str, object], tmp_path: Path
) -> None:
    named = PROJECT.replace("  repo: {key", "  queue: {key").replace("one: repo", "one: queue")
    [queued] = build_plan(load_text(named)).products
    place = SolutionPlace(tmp_path, "profile")
    change = insert("queue", id=7, name="loom").change(
        next(each for each in queued.relations if each.name == "queue")
    )
    opened = open_solution("rdbms-trigger", [queued], options, place)
    opened.apply([change], Batch("run", 0, 1, 1_000_000))
    opened.close()

    open_solution("rdbms-trigger", [queued], options, place).close()


def test_those_who_start_at_once_do_not_hinder_each_other(
    queued: dict[str, object], outlets: Outlets, tmp_path: Path
) -> None:
    place = SolutionPlace(tmp_path, "profile")
    open_solution("rdbms-trigger", [product()], queued, place).close()

    def start(_: int) -> None:
        open_listener([product()], typed(queued), {"profile": outlets}).close()

    with ThreadPoolExecutor(8) as starting:
        assert [None] * 24 == list(starting.map(start, range(24)))


def test_an_empty_queue_publishes_nothing(ingester: StoreSolution, listener: Listener) -> None:
    assert listener.publish() is None


def test_versions_rise_from_one_listener_to_the_next(
    ingester: StoreSolution, queued: Mapping[str, object], writer: psycopg.Connection[Any]
) -> None:
    versions = []
    for name in ("ada", "eve", "joe"):
        kept = Outlets()
        opened = open_listener([product()], typed(queued), {"profile": kept})
        writer.execute(
            "INSERT INTO profile__user (id, name) VALUES (1, %s)"
            " ON CONFLICT (id) DO UPDATE SET name = excluded.name",
            (name,),
        )
        opened.publish()
        opened.close()
        versions += [version for version, *_ in kept.lines]

    assert sorted(set(versions)) == versions
    assert len(versions) == 3


def test_the_last_batch_is_given_again_after_a_restart(
    ingester: StoreSolution,
    listener: Listener,
    outlets: Outlets,
    queued: Mapping[str, object],
) -> None:
    ingest(ingester, 0, insert("user", id=1, name="ada"))
    listener.publish()
    again = Outlets()

    opened = open_listener([product()], typed(queued), {"profile": again})
    opened.repeat()
    opened.close()

    assert outlets.lines == again.lines


def test_a_listener_that_was_replaced_publishes_no_more(
    ingester: StoreSolution, listener: Listener, queued: Mapping[str, object], outlets: Outlets
) -> None:
    other = open_listener([product()], typed(queued), {"profile": Outlets()})
    ingest(ingester, 0, insert("user", id=1, name="ada"))

    with pytest.raises(StoreFencedError, match="another listener"):
        listener.publish()

    other.close()
    assert outlets.lines == []


def test_a_change_that_is_not_committed_is_not_published(
    ingester: StoreSolution,
    listener: Listener,
    outlets: Outlets,
    options: dict[str, object],
    writer: psycopg.Connection[Any],
) -> None:
    ingest(ingester, 0, insert("user", id=1, name="ada"), insert("repo", id=7, name="loom"))
    listener.publish()
    outlets.taken()
    with psycopg.connect(str(options["database"])) as slow:
        slow.execute(f'SET search_path = "{options["schema"]}"'.encode())
        slow.execute("UPDATE profile__repo SET name = 'mill'")
        writer.execute("INSERT INTO profile__star (user_id, repo_id) VALUES (1, 7)")
        listener.publish()
        between = outlets.taken()
    listener.publish()

    assert {1: shown("ada", "loom")} == between
    assert {1: shown("ada", "mill")} == outlets.taken()


def test_a_listener_wakes_when_rows_change(
    ingester: StoreSolution, listener: Listener, writer: psycopg.Connection[Any]
) -> None:
    writer.execute("INSERT INTO profile__user (id, name) VALUES (1, 'ada')")
    began = time.monotonic()

    listener.wait(120)

    assert time.monotonic() - began < 60
    assert listener.publish() is not None


LISTENING = """\
name: code
sources: {changes: {files: {path: in}}}
relations:
  user: {key: [id], fields: {id: long, name: string}}
products:
  profile:
    root: user
    solution: {rdbms-trigger: {database: "DATABASE", schema: "SCHEMA", publish: queue}}
    sink: {files: {path: out}}
"""


def test_the_command_publishes_what_another_writer_wrote(
    options: dict[str, object], tmp_path: Path
) -> None:
    text = LISTENING.replace("DATABASE", str(options["database"]))
    (tmp_path / "joinery.yaml").write_text(text.replace("SCHEMA", str(options["schema"])))
    command = [sys.executable, "-m", "joinery.cli.main", "listen", "--once"]

    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    with psycopg.connect(str(options["database"])) as other:
        other.execute(
            f"INSERT INTO \"{options['schema']}\".profile__user VALUES (1, 'ada')".encode()
        )
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (0, "") == (first.returncode, first.stdout), first.stderr
    assert (0, "profile: 1 documents\n") == (done.returncode, done.stdout), done.stderr
    (line,) = [
        json.loads(each)
        for file in (tmp_path / "out/profile").glob("*.jsonl")
        for each in file.read_text().splitlines()
    ]
    assert {"id": 1, "name": "ada"} == line["value"]


def test_the_command_waits_for_its_database(
    postgres: Service, options: dict[str, object], tmp_path: Path
) -> None:
    text = LISTENING.replace("DATABASE", str(options["database"]))
    (tmp_path / "joinery.yaml").write_text(text.replace("SCHEMA", str(options["schema"])))
    database, table = str(options["database"]), f'"{options["schema"]}".profile__user'
    command = [sys.executable, "-m", "joinery.cli.main", "listen"]

    postgres.kill()
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as listening:
        for id in (1, 2):
            read_until("waiting for a store", listening)
            postgres.start()
            until(lambda: is_queued(database, table))
            with psycopg.connect(database) as other:
                other.execute(f"INSERT INTO {table} VALUES ({id}, 'ada')".encode())
            read_until("profile: 1 documents", listening)
            postgres.kill()
        postgres.start()
        read_until("a store is back", listening)
        listening.terminate()

    assert 0 == listening.returncode


def read_until(words: str, process: subprocess.Popen[str]) -> None:
    """Read what a process says, until it says this."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if words in line:
            return
    raise AssertionError("".join(said))


def is_queued(database: str, table: str) -> bool:
    """Return whether the database is there, and notes the changes of a table."""
    triggers = "SELECT count(*) > 0 FROM pg_trigger WHERE tgrelid = to_regclass(%s)"
    with suppress(psycopg.OperationalError), psycopg.connect(database) as server:
        return server.execute(triggers, (table,)).fetchone() == (True,)
    return False


def test_it_shows_plans_and_warns_of_a_missing_index(
    options: dict[str, object], writer: psycopg.Connection[Any]
) -> None:
    triggered = replace(
        product(), solution="rdbms-trigger", solution_options=tuple(options.items())
    )
    database = str(options["database"])
    whole = "\n".join(each.text for each in explain_statements([triggered], database))
    dropped = writer.execute(
        "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexdef LIKE %s",
        (options["schema"], "%(repo_id)"),
    ).fetchone()
    assert dropped is not None
    writer.execute(f'DROP INDEX "{dropped[0]}"'.encode())

    text = "\n".join(each.text for each in explain_statements([triggered], database))
    made = next(line for line in text.splitlines() if "CREATE INDEX" in line)
    writer.execute(made.encode())

    assert "Every join has its index." in whole
    assert "--   " in whole
    assert "no plan" not in whole
    assert "warning: star (repo_id) has no index" in text
    again = "\n".join(each.text for each in explain_statements([triggered], database))
    assert "Every join has its index." in again
