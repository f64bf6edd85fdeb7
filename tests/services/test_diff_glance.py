"""What a database makes of its own documents is what is assembled from its rows, or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.services.captured import Connection, new_database

import joinery as jn
from joinery.app.document_product import document_product
from joinery.audit.database import SourceDatabase
from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts
from joinery.audit.look import Comparison
from joinery.audit.protocol import Shown
from joinery.audit.truth import DatabaseTruth
from joinery.capture.bulk_row import json_of
from joinery.dev.service import Service
from joinery.model.change import Key
from joinery.model.type import DOUBLE, LONG, Field, Struct
from joinery.plan.product import Product
from joinery.sinks.postgres_reader import PostgresReader
from joinery.sinks.reader import DocumentReader, TellsDigests, make_reader

pytestmark = pytest.mark.services

PROJECT = """\
name: glanced
sources:
  db: {{postgres: {{url: "{url}"}}}}
relations:
  person:
    key: [id]
    fields:
      id: string
      number: long
      name: string
      code: string
      mood: string
      born: date
      seen: timestamp
      weight: double
      owed: "decimal(10,2)"
      tall: boolean
      photo: binary
      nicks: "array<string>"
    derive: {{initial: "left(name, 1)"}}
  note:
    key: [person, at]
    fields: {{person: string, at: timestamp, length: int, text: string}}
    where: length > 0
  town: {{key: [code], fields: {{code: string, name: string}}}}
  worded: {{key: [word], fields: {{word: string}}}}
  moment: {{key: [at], fields: {{at: timestamp, name: string}}}}
  seat: {{key: [name], fields: {{name: string, number: long}}}}
products:
  by_id:
    root: person
    where: number <> 13
    embed:
      notes: {{many: note, on: {{person: id}}, fields: [at, text, length], limit: 3}}
    values: {{total: sum(notes.length), few: "size(notes) < 2"}}
    sink: {{postgres: {{url: "{url}", table: by_id}}}}
  by_number:
    root: numbered
    fields: [number, name, owed]
    embed:
      notes: {{many: note, on: {{person: id}}, fields: [at, text], order: [-at]}}
    sink: {{postgres: {{url: "{url}", table: by_number}}}}
  by_key:
    root: numbered
    fields: [number]
    embed:
      notes: {{many: note, on: {{person: id}}, fields: [text], as: map}}
    sink: {{postgres: {{url: "{url}", table: by_key}}}}
  in_lines:
    root: numbered
    fields: [number, name, weight]
    sink: {{sqlite: {{path: lines.db}}}}
  by_moment:
    root: moment
    sink: {{sqlite: {{path: moments.db}}}}
  by_word:
    root: worded
    sink: {{postgres: {{url: "{url}", table: by_word}}}}
  of_town:
    root: person
    fields: [id]
    embed: {{town: {{one: town, on: {{code: code}}, fields: [name]}}}}
    sink: {{postgres: {{url: "{url}", table: of_town}}}}
  of_seat:
    root: numbered
    fields: [number]
    embed: {{seats: {{many: seat, on: {{number: number}}, fields: [name]}}}}
    sink: {{postgres: {{url: "{url}", table: of_seat}}}}
"""
NUMBERED = """\
  numbered:
    topic: public.numbered
    key: [number]
    fields: {number: long, id: string, name: string, weight: double, owed: "decimal(10,2)"}
"""
TABLES = """
create type mood as enum ('good', 'bad');
create table person (
  id uuid primary key, number bigint, name text, code char(4), mood mood, born date,
  seen timestamptz, weight float8, owed numeric, tall boolean, photo bytea, nicks text[]
);
create table numbered (
  number int primary key, id uuid, name text, weight float8, owed numeric(10,2)
);
create table note (person uuid, at timestamptz, length smallint, text text,
  primary key (person, at));
create table town (code varchar(9) primary key, name text);
create table worded (word text collate "C" primary key);
create table seat (name text primary key, number bigint);
create table moment (at timestamptz primary key, name text)
"""
ROWS = r"""
insert into person select
  md5(n::text)::uuid, n,
  (array['Ada', 'Zoë', E'a "quote" \\ \n\t\x01 \x7f', '', '€ 🐢 </script>', null])[n % 6 + 1],
  (array['c1', 'c 22', null])[n % 3 + 1], (array['good', 'bad', null]::mood[])[n % 3 + 1],
  case when n % 7 > 0 then date '1899-12-31' + n * 37 end,
  case when n % 5 > 0 then '1999-12-31 23:59:59+02'::timestamptz + n * interval '0.25 s' end,
  (array[0, -0.0, 1, 1.5, 1e15, 1e16, 123456789012345680, 1e22, 1e-5, 1e-7, 0.1, 5e-324,
    -1e308, 2.5, null]::float8[])[n % 15 + 1],
  (array[0, 1, 1.5, -2.25, 99999999.99, null])[n % 6 + 1], (array[true, false, null])[n % 3 + 1],
  (array['\x', '\x00ff10', null]::bytea[])[n % 3 + 1],
  (array['{}', '{a,"b c",NULL,"\"q\""}', null]::text[])[n % 3 + 1]::text[]
  from generate_series(1, 60) n;
insert into numbered select number, id, name, weight, owed from person;
insert into note select md5((n % 60 + 1)::text)::uuid, '2026-01-01'::timestamptz + n * interval
  '1.1 h', n % 4, case when n % 9 > 0 then 'note ' || n end from generate_series(1, 200) n;
insert into worded select (array['a', 'A'])[n % 2 + 1] || n from generate_series(1, 1200) n;
insert into town select 'c1', 'One';
insert into seat select 'seat ' || n, n % 60 from generate_series(1, 90) n;
insert into moment values ('-infinity', 'never'), ('0044-03-15 BC', 'ides'), ('2026-01-01', 'now'),
  ('9999-12-31 23:59:59.999999+00', 'last'), ('10000-01-01', 'far'), ('infinity', 'forever')
"""

OWED = 'is a dead letter: column "owed" is not of type decimal(10,2)'
BEYOND = 'has a column "{}" that is infinite, or not in the years 1 to 9999'


class Counting:
    """A truth that counts the documents which it assembles."""

    def __init__(self, truth: DatabaseTruth) -> None:
        self._truth, self.assembled = truth, list[Key]()
        self.roots, self.present = truth.roots, truth.present
        self.glances, self.glance = truth.glances, truth.glance
        self.leave = truth.leave

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        self.assembled += keys
        return self._truth.documents(keys, at_least=at_least, noting=noting)


class Still:
    """A run that has applied all."""

    def reach(self, place: int) -> bool:
        return True

    def heard(self) -> int:
        return 0


@pytest.fixture
def database(postgres: Service) -> Iterator[str]:
    with new_database(postgres, "glanced", TABLES, ROWS) as url:
        yield url


@pytest.fixture
def project(database: str, tmp_path: Path) -> jn.Project:
    text = PROJECT.format(url=database).replace("  note:\n", f"{NUMBERED}  note:\n", 1)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    return jn.load(tmp_path)


@contextmanager
def truth_of(project: jn.Project, name: str, url: str) -> Iterator[tuple[Product, DatabaseTruth]]:
    product = document_product(project.spec, name)
    database = SourceDatabase(url, product.relations)
    database.open()
    with closing(database):
        yield product, DatabaseTruth(product, database, max_document_bytes=100_000, wait_s=1.0)


def assembled(truth: DatabaseTruth) -> Mapping[Key, str]:
    shown = truth.documents(truth.roots(None, 2_000), noting=False)
    assert shown is not None
    return {key: text for key, text in shown.documents.items() if text is not None}


def sink_of(project: jn.Project, product: Product, documents: Mapping[Key, str]) -> DocumentReader:
    """Return what reads a table that has the documents of a product."""
    [sink] = product.sinks
    options = dict(sink.options)
    [key] = product.key.fields
    values = [(*each, text) for each, text in documents.items()]
    if sink.kind == "postgres":
        kind = 'text collate "C"' if str(key.type) == "string" else "bigint"
        with closing(psycopg.connect(str(options["url"]), autocommit=True)) as link:
            link.execute(
                f'create table {product.name} ("{key.name}" {kind} primary key,'
                " document jsonb, version bigint not null)".encode()
            )
            link.cursor().executemany(
                f"insert into {product.name} values (%s, %s, 1)".encode(), values
            )
    return make_reader(
        sink.kind,
        options,
        product=product.name,
        folder=project.spec.path_of("."),
        key=product.key,
        value=product.output,
    )


@pytest.mark.parametrize("name", ["by_id", "by_number", "by_key", "in_lines"])
def test_what_is_made_is_what_is_assembled(name: str, project: jn.Project, database: str) -> None:
    with truth_of(project, name, database) as (_, truth):
        expected = assembled(truth)
        assert truth.glances("text")
        glance = truth.glance(None, 1_000, "text")

    assert len(expected) > 50
    assert expected == glance.made
    assert set(expected) <= set(glance.keys)


@pytest.mark.parametrize("name", ["by_id", "by_number", "by_key"])
def test_right_documents_are_found_right_without_being_assembled(
    name: str, project: jn.Project, database: str
) -> None:
    with truth_of(project, name, database) as (product, truth):
        reader = sink_of(project, product, assembled(truth))
        counting = Counting(truth)
        with closing(reader):
            found = compare(product, counting, reader)

    assert (60, [], 0) == (found.compared, found.differences, found.again)
    assert [] == counting.assembled


def test_a_database_that_rounds_what_it_writes_tells_all_digits(
    project: jn.Project, database: str, link: Connection
) -> None:
    link.execute("update numbered set weight = 0.1::float8 + 0.2::float8 where number = 1")
    rounding = f"{database}?options=-c%20extra_float_digits%3D0"

    with truth_of(project, "in_lines", rounding) as (_, truth):
        made = truth.glance(None, 1, "text").made[(1,)]

    assert made is not None
    assert '"weight":0.30000000000000004' in made


def test_a_sink_that_rounds_what_it_writes_tells_all_digits_of_its_columns(
    database: str, link: Connection
) -> None:
    link.execute("create table kept as select 1::bigint id, 0.1::float8 + 0.2::float8 weight")
    link.execute("alter table kept add joinery_version bigint default 1")
    key, value = Struct((Field("id", LONG),)), Struct((Field("id", LONG), Field("weight", DOUBLE)))
    rounding = f"{database}?options=-c%20extra_float_digits%3D0"

    with closing(PostgresReader(rounding, "kept", "", key, value)) as reader:
        held = reader.read(['{"id":1}'])

    assert '{"id":1,"weight":0.30000000000000004}' == held['{"id":1}'].value


def test_what_differs_is_assembled_and_what_is_extra_is_found(
    project: jn.Project, database: str, link: Connection
) -> None:
    with truth_of(project, "by_number", database) as (product, truth):
        reader = sink_of(project, product, assembled(truth))
        spoil(link)
        counting = Counting(truth)
        with closing(reader):
            found = compare(product, counting, reader)

    wrong = {each.key: each.kind for each in found.differences}
    assert {
        '{"number":-5}': "extra",
        '{"number":7}': "differs",
        '{"number":9}': "missing",
        '{"number":70}': "extra",
    } == wrong
    # Of the first look, and two of the second; another way of writing is no difference.
    assert [(7,), (8,), (9,)] == sorted({*counting.assembled} - {(-5,), (70,)})
    assert 62 == found.compared


def test_a_numeric_that_is_no_number_has_the_words_of_the_connector(link: Connection) -> None:
    made = json_of("n", "numeric")
    values = "unnest('{NaN,Infinity,-Infinity,1.50,NULL}'::numeric[]) with ordinality as t(n, at)"

    found = link.execute(f"select {made} from {values} order by at".encode()).fetchall()

    words = ["NAN", "POSITIVE_INFINITY", "NEGATIVE_INFINITY", "1.50", None]
    assert words == [text for (text,) in found]


def test_a_timestamp_that_no_number_counts_is_a_text(link: Connection) -> None:
    made = json_of("t", "timestamp without time zone")
    given = "{2026-01-01,294276-01-01,infinity,-infinity}"

    found = link.execute(f"select {made} from unnest('{given}'::timestamp[]) as t".encode())

    told = [1_767_225_600_000_000, "294276-01-01T00:00:00", "infinity", "-infinity"]
    assert told == [value for (value,) in found.fetchall()]


@pytest.mark.parametrize(
    ("name", "odd", "why"),
    [
        ("by_id", "owed = 'NaN'", OWED),
        (
            "by_id",
            "weight = '-Infinity'",
            'is a dead letter: column "weight" is not of type double',
        ),
        ("by_number", "owed = 'Infinity'", OWED),
        ("by_number", "owed = 0.005", OWED),
        ("by_id", "born = 'infinity'", BEYOND.format("born")),
        ("by_id", "born = '0044-03-15 BC'", BEYOND.format("born")),
        ("by_id", "seen = '-infinity'", BEYOND.format("seen")),
        ("by_id", "seen = '12026-01-01'", BEYOND.format("seen")),
    ],
)
def test_a_document_is_not_judged_behind_which_a_row_may_be_a_dead_letter(
    name: str, project: jn.Project, database: str, link: Connection, odd: str, why: str
) -> None:
    table = "person" if name == "by_id" else "numbered"
    with truth_of(project, name, database) as (product, truth):
        reader = sink_of(project, product, assembled(truth))
        link.execute("alter table numbered alter column owed type numeric")
        link.execute(f"update {table} set {odd} where number in (6, 41)".encode())
        with closing(reader):
            found = compare(product, Counting(truth), reader)

    told = f'a row of "{table}" behind it {why}'
    assert ([], [told, told]) == (found.differences, [each.why for each in found.unreadable])
    assert 60 == found.compared


def test_rows_whose_key_is_no_time_that_can_be_compared_leave_the_others_compared(
    project: jn.Project, database: str
) -> None:
    with truth_of(project, "by_moment", database) as (_, truth):
        documents = assembled(truth)
        glance = truth.glance(None, 1_000, "text")

    assert ["last", "now"] == sorted(json.loads(each)["name"] for each in documents.values())
    assert {*documents} == {*glance.keys}


def test_texts_are_asked_for_in_the_order_of_the_sink(
    project: jn.Project, database: str, link: Connection
) -> None:
    with truth_of(project, "by_word", database) as (product, truth):
        reader = sink_of(project, product, assembled(truth))
        link.execute("insert into by_word values ('a5x', '{}', 1)")
        counting = Counting(truth)
        with closing(reader):
            found = compare(product, counting, reader)
            assert isinstance(reader, TellsDigests)
            assert reader.digests is not None
            backward = reader.digests.between(("b",), ("a",))

    assert [('{"word":"a5x"}', "extra")] == [(each.key, each.kind) for each in found.differences]
    assert 1201 == found.compared
    assert {("a5x",)} == {*counting.assembled}
    assert backward is None


def spoil(link: Connection) -> None:
    for each in (
        "delete from by_number where number = 9",
        "update by_number set document = jsonb_set(document, '{name}', '1') where number = 7",
        "update by_number set document = jsonb_set(document, '{owed}', '1.500') where number = 8",
        "insert into by_number select n, '{}', 1 from unnest(array[-5, 70]) n",
    ):
        link.execute(each.encode())


def compare(product: Product, truth: Counting, reader: DocumentReader) -> Found:
    keys = KeyTexts(product.root.relation)
    pace = Pace(pause=lambda seconds: None)
    return Comparison(keys, truth, reader, Still(), pace=pace, found=Found()).run()


@pytest.mark.parametrize("name", ["of_town", "of_seat"])
def test_nothing_is_made_where_equality_is_another_or_no_index_finds_rows(
    name: str, project: jn.Project, database: str
) -> None:
    with truth_of(project, name, database) as (_, truth):
        assert not any(truth.glances(form) for form in ("text", "digest"))
