"""What `joinery diff` costs: processor time a document, of ours and of PostgreSQL's.

`python -m bench.databases.diff [DOCUMENTS]` starts a server with customers of ten purchases each as
the source, fills a sink's table with their documents by hand-written SQL, and compares them once.
Nothing runs beside; every document is right, which is looked at too.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import psutil
import psycopg

import joinery as jn
from joinery.app.document_product import document_product
from joinery.audit.database import SourceDatabase
from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts
from joinery.audit.look import Comparison
from joinery.audit.truth import DatabaseTruth
from joinery.dev.postgres import postgres
from joinery.sinks.reader import make_reader

_PROJECT = """\
name: shop
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  purchase:
    key: [id]
    fields: {{id: long, customer_id: long, amount: "decimal(10,2)", at: timestamp}}
products:
  profile:
    root: customer
    embed:
      purchases: {{many: purchase, on: {{customer_id: id}}, fields: [id, amount, at]}}
    sink: {{postgres: {{url: "{url}"}}}}
"""
_CHILDREN = 10
_FILL = """
create table customer (id bigint primary key, name text);
create table purchase (
  id bigint primary key, customer_id bigint, amount numeric(10,2), at timestamptz
);
insert into customer select n, 'customer ' || n from generate_series(1, {documents}) as n;
insert into purchase select n, n % {documents} + 1, (n % 9999) / 100.0,
  '2026-01-01Z'::timestamptz + n * interval '1 s' from generate_series(1, {rows}) as n;
create index on purchase (customer_id);
create table profile (id bigint primary key, document jsonb, version bigint not null);
insert into profile select c.id, jsonb_build_object('id', c.id, 'name', c.name, 'purchases',
  (select jsonb_agg(jsonb_build_object('id', p.id, 'amount', p.amount, 'at',
    to_char(p.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) order by p.id)
   from purchase as p where p.customer_id = c.id)), 1 from customer as c;
analyze
"""


class _Everything:
    """A run that has applied all: nothing here is doubtful, so it is not asked."""

    def reach(self, place: int) -> bool:
        return True

    def heard(self) -> int:
        return 0


def compare(folder: Path, url: str) -> Found:
    """Compare all documents once."""
    (folder / "joinery.yaml").write_text(_PROJECT.format(url=url))
    spec = jn.load(folder / "joinery.yaml").spec
    product = document_product(spec, "profile")
    [sink] = product.sinks
    database = SourceDatabase(url, product.relations)
    database.open()
    truth = DatabaseTruth(
        product, database, max_document_bytes=spec.run.max_document_bytes, wait_s=1.0
    )
    reader = make_reader(
        sink.kind,
        dict(sink.options),
        product=product.name,
        folder=folder,
        key=product.key,
        value=product.output,
    )
    keys = KeyTexts(product.root.relation)
    with closing(database), closing(reader):
        return Comparison(keys, truth, reader, _Everything(), pace=Pace(), found=Found()).run()


def _server_s(process: psutil.Process) -> float:
    """Return the processor seconds of a server so far, those of ended connections included."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # Ended meanwhile, so it is counted of its parent.
            told = each.cpu_times()
            total += told.user + told.system
    ended = process.cpu_times()
    return total + ended.children_user + ended.children_system


def main(arguments: Sequence[str]) -> None:
    """Print what it costs."""
    documents = int(arguments[0]) if arguments else 100_000
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        with postgres(Path(scratch, "postgres")).started() as service:
            with closing(psycopg.connect(service.address, autocommit=True)) as link:
                link.execute(_FILL.format(documents=documents, rows=documents * _CHILDREN).encode())
                pid = link.execute("select pg_backend_pid()").fetchone()
                assert pid is not None
                server = psutil.Process(pid[0]).parent()
            assert server is not None
            before, ours, began = _server_s(server), time.process_time(), time.monotonic()
            found = compare(Path(scratch), service.address)
            wall = time.monotonic() - began
            ours, theirs = time.process_time() - ours, _server_s(server) - before
    assert (found.compared, found.differences, found.unsettled) == (documents, [], [])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{documents:,} documents, {found.again} looked at again: {ours:.1f} s of ours"
        f" ({ours / documents * 1e6:.0f} µs each), {theirs:.1f} s of PostgreSQL's,"
        f" {wall:.1f} s by the clock, {peak:.0f} MB"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
