"""Real-time mode from a PostgreSQL database into OpenSearch, which the run's driver writes to."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.services.captured import Connection, new_database
from tests.services.live_run import live_run
from tests.services.live_shop import TABLES, go_live

from joinery.dev.http import ask
from joinery.dev.service import Service
from joinery.spark.real_time.uncommitted import last_commit

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: shop
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  purchase: {{key: [id], fields: {{id: long, customer_id: long, item: string}}}}
products:
  profile:
    root: customer
    embed: {{items: {{many: purchase, on: {{customer_id: id}}, fields: [id, item]}}}}
    sink: {{opensearch: {{url: "{search}", index: "{index}"}}}}
run: {{checkpoint_interval: 10s}}
"""


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    with new_database(postgres, "live_search", *TABLES) as url:
        yield url


@dataclass(frozen=True)
class Index:
    home: str

    def documents(self) -> Mapping[int, Any]:
        try:
            ask(f"{self.home}/_refresh", method="POST")
            told: Any = ask(f"{self.home}/_search?size=1000")
        except OSError:
            return {}
        return {int(each["_id"]): each["_source"] for each in told["hits"]["hits"]}


def truth(link: Connection) -> Mapping[int, Any]:
    rows = link.execute(
        "select c.id, jsonb_build_object('id', c.id, 'name', c.name, 'items', coalesce((select"
        " jsonb_agg(jsonb_build_object('id', p.id, 'item', p.item) order by p.id)"
        " from purchase as p where p.customer_id = c.id), '[]')) from customer as c"
    )
    return dict(rows.fetchall())


def change(link: Connection, chance: Random, first: int) -> None:
    one, other = chance.sample(range(1, 20), 2)
    with link.transaction():
        link.execute("insert into purchase values (%s, %s, 'new')", (first, one))
        link.execute("update purchase set customer_id = %s where id = %s", (other, first - 3))
        link.execute("delete from purchase where id = %s", (first - 9,))
        link.execute("update customer set name = %s where id = %s", (f"n{first}", one))


@dataclass(frozen=True)
class Project:
    """A project of the test's own, its index, and changes of its database."""

    folder: Path
    index: Index
    link: Connection
    chance: Random
    numbers: Iterator[int]

    @property
    def checkpoint(self) -> Path:
        return self.folder / ".joinery" / "checkpoint" / "profile"

    def same(self) -> bool:
        """Return whether the index holds what the database says."""
        return self.index.documents() == truth(self.link)

    def change(self, count: int) -> None:
        for _ in range(count):
            change(self.link, self.chance, next(self.numbers))


@pytest.fixture
def project(tmp_path: Path, database: str, link: Connection, opensearch: Service) -> Project:
    # Else a node that is killed recovers the indexes of all tests before it is ready.
    ask(f"{opensearch.address}/_all", method="DELETE")
    name = f"live-{uuid.uuid4().hex[:8]}"
    text = PROJECT.format(url=database, search=opensearch.address, index=name)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    index = Index(f"{opensearch.address}/{name}")
    return Project(tmp_path, index, link, Random(5), iter(range(1000, 9000, 3)))


def test_commits_become_documents_and_an_outage_is_waited_out(
    project: Project, link: Connection, opensearch: Service
) -> None:
    with live_run(project.folder, "--real-time") as run:
        go_live(run)
        project.change(10)
        run.until(project.same, "the first changes")
        link.execute("delete from customer where id = 20")
        link.execute("insert into customer values (21, 'Zoe')")
        run.until(project.same, "a delete and an insert")
        begun, _ = last_commit(project.checkpoint)
        run.until(lambda: last_commit(project.checkpoint)[0] > begun, "an interval to be committed")
        project.change(5)
        run.until(project.same, "changes after a commit")
        opensearch.kill()
        project.change(5)
        run.until(lambda: '"waiting"' in run.said(), "word of the outage")
        opensearch.start()
        run.until(project.same, "all after an outage")
        link.execute("truncate purchase")
        letters = project.folder / ".joinery" / "dead_letters"
        run.until(lambda: any(letters.rglob("*.jsonl")), "the letter of a truncate")
        assert 0 == run.stop(), run.said()


@pytest.mark.exhaustive  # test_real_time_database.py kills a run of a database, too
def test_no_document_is_wrong_after_a_kill(project: Project, link: Connection) -> None:
    with live_run(project.folder, "--real-time") as run:
        go_live(run)
        project.change(15)
        run.until(project.same, "the first changes")
        before = project.index.documents()
        project.change(20)
        run.until(lambda: project.index.documents() != before, "some documents")
        run.kill()
    link.execute("delete from customer where id = 20")
    project.change(5)
    with live_run(project.folder, "--real-time") as run:
        go_live(run)
        project.change(5)
        run.until(project.same, "all after a kill")
        assert 0 == run.stop(), run.said()


@pytest.mark.exhaustive  # test_commits_become_documents waits an outage out, too
@pytest.mark.parametrize("killed", [False, True])
def test_a_run_that_ends_in_an_outage_loses_nothing(
    project: Project, link: Connection, opensearch: Service, killed: bool
) -> None:
    with live_run(project.folder, "--real-time") as run:
        go_live(run)
        project.change(10)
        run.until(project.same, "the first changes")
        opensearch.kill()
        project.change(10)
        run.until(lambda: '"waiting"' in run.said(), "word of the outage")
        if killed:
            run.kill()
        else:
            assert 1 == run.stop(), run.said()
    link.execute("delete from customer where id = 20")
    opensearch.start()
    with live_run(project.folder, "--real-time") as run:
        go_live(run)
        project.change(5)
        run.until(project.same, "all after the outage")
        assert 0 == run.stop(), run.said()
