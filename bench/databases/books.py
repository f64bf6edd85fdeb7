"""The tables of PGSync's example `book`: rows, changes, and the documents by SQL.

The names of tables, columns and fields are the example's. Left out are its columns of JSON, its
shelves, and what it does to texts before they are sent: concatenating, replacing, plug-ins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

Link = psycopg.Connection[tuple[Any, ...]]
Document = dict[str, Any]
TABLES = (
    "create table continent (id serial primary key, name varchar(256) not null unique)",
    "create table country (id serial primary key, name varchar(256) not null,"
    " continent_id integer references continent on delete cascade, unique (name, continent_id))",
    "create table city (id serial primary key, name varchar(256) not null,"
    " country_id integer references country on delete cascade, unique (name, country_id))",
    "create table publisher (id serial primary key, name varchar(256) not null unique,"
    " is_active boolean)",
    "create table author (id serial primary key, name varchar(256) not null unique,"
    " date_of_birth timestamp, city_id integer references city on delete cascade)",
    "create table subject (id serial primary key, name varchar(256) not null unique)",
    "create table language (id serial primary key, code varchar(256) not null unique)",
    "create table book (id serial primary key, isbn varchar(256) not null unique,"
    " title varchar(256) not null, description varchar(256), publish_date timestamp,"
    " publisher_id integer references publisher on delete cascade)",
    "create table rating (id serial primary key, value double precision,"
    " book_isbn varchar(256) unique references book (isbn) on delete cascade)",
    "create table book_author (id serial primary key,"
    " book_isbn varchar(256) references book (isbn) on delete cascade,"
    " author_id integer references author on delete cascade, unique (book_isbn, author_id))",
    "create table book_subject (id serial primary key,"
    " book_isbn varchar(256) references book (isbn) on delete cascade,"
    " subject_id integer references subject on delete cascade, unique (book_isbn, subject_id))",
    "create table book_language (id serial primary key,"
    " book_isbn varchar(256) references book (isbn) on delete cascade,"
    " language_id integer references language on delete cascade, unique (book_isbn, language_id))",
    # What `pgsync --analyze` asks for, beside what the tables have.
    "create index on book_author (author_id)",
    "create index on book (publisher_id)",
)
_CONTINENTS, _COUNTRIES, _CITIES, _LANGUAGES, _SUBJECTS = 7, 50, 200, 40, 100
_BOOKS_AN_AUTHOR, _BOOKS_A_PUBLISHER = 5, 100
_ROWS = """
insert into continent (name) select 'continent ' || i from generate_series(1, {continents}) i;
insert into country (name, continent_id)
select 'country ' || i, i % {continents} + 1 from generate_series(1, {countries}) i;
insert into city (name, country_id)
select 'city ' || i, i % {countries} + 1 from generate_series(1, {cities}) i;
insert into language (code) select 'l' || i from generate_series(1, {languages}) i;
insert into subject (name) select 'subject ' || i from generate_series(1, {subjects}) i;
insert into publisher (name, is_active)
select 'publisher ' || i, i % 3 > 0 from generate_series(1, {publishers}) i;
insert into author (name, date_of_birth, city_id)
select 'author ' || i, timestamp '1930-01-01' + i % 20000 * interval '1 day', i % {cities} + 1
from generate_series(1, {authors}) i;
insert into book (isbn, title, description, publish_date, publisher_id)
select 'isbn-' || i, 'title ' || i, repeat('about ' || i || ' ', 10),
  timestamp '1990-01-01' + i % 12000 * interval '1 day', i * 7919 % {publishers} + 1
from generate_series(1, {books}) i;
insert into rating (value, book_isbn)
select (i % 50) / 10.0, 'isbn-' || i from generate_series(1, {books}) i;
insert into book_author (book_isbn, author_id)
select 'isbn-' || i, (i * 7::bigint + j * {far}) % {authors} + 1
from generate_series(1, {books}) i, generate_series(0, 1) j;
insert into book_subject (book_isbn, subject_id)
select 'isbn-' || i, (i + j * 37) % {subjects} + 1
from generate_series(1, {books}) i, generate_series(0, 1) j;
insert into book_language (book_isbn, language_id)
select 'isbn-' || i, (i + j * 17) % {languages} + 1
from generate_series(1, {books}) i, generate_series(0, i % 2) j;
"""
_DOCUMENTS = """
select b.id, json_build_object(
  'book_id', b.id, 'book_isbn', b.isbn, 'book_title', b.title, 'description', b.description,
  'publish_date', b.publish_date,
  'publisher_label', (
    select json_build_object('publisher_id', id, 'publisher_name', name, 'is_active', is_active)
    from publisher where id = b.publisher_id),
  'book_languages', (
    select json_agg(json_build_object('book_isbn', book_isbn, 'language_id', language_id))
    from book_language where book_isbn = b.isbn),
  'authors', (
    select json_agg(json_build_object(
      'id', a.id, 'name', a.name, 'date_of_birth', a.date_of_birth,
      'city_label', json_build_object('id', y.id, 'name', y.name,
        'country_label', json_build_object('id', n.id, 'name', n.name,
          'continent_label', json_build_object('name', t.name)))))
    from book_author w join author a on a.id = w.author_id join city y on y.id = a.city_id
    join country n on n.id = y.country_id join continent t on t.id = n.continent_id
    where w.book_isbn = b.isbn),
  'languages', (
    select json_agg(l.code) from book_language w join language l on l.id = w.language_id
    where w.book_isbn = b.isbn),
  'subjects', (
    select json_agg(s.name) from book_subject w join subject s on s.id = w.subject_id
    where w.book_isbn = b.isbn),
  'rating', (select json_build_object('value', value) from rating where book_isbn = b.isbn))
from book b
"""
_OF_AUTHORS = """
select b.id from book b join book_author w on w.book_isbn = b.isbn where w.author_id = any(%s)
"""
_LISTS: Mapping[str, Callable[[Any], Any]] = {
    "authors": lambda each: each["id"],
    "book_languages": lambda each: each["language_id"],
    "languages": str,
    "subjects": str,
}
_SECONDS = len("2001-01-01T00:00:00")


def fill(link: Link, books: int) -> int:
    """Make the tables and their rows; return how many rows."""
    for each in TABLES:
        link.execute(each.encode())
    sizes = {
        "continents": _CONTINENTS,
        "countries": _COUNTRIES,
        "cities": _CITIES,
        "languages": _LANGUAGES,
        "subjects": _SUBJECTS,
        "publishers": publishers(books),
        "authors": authors(books),
        "far": authors(books) // 3,
        "books": books,
    }
    for each in _ROWS.format(**sizes).split(";")[:-1]:
        link.execute(each.encode())
    link.execute("analyze")
    found = link.execute(
        "select sum(reltuples)::bigint from pg_class"
        " where relkind = 'r' and relnamespace = 'public'::regnamespace"
    ).fetchone()
    assert found is not None
    return int(found[0])


def authors(books: int) -> int:
    """Return how many authors a number of books have."""
    return max(4, books // _BOOKS_AN_AUTHOR)


def publishers(books: int) -> int:
    """Return how many publishers a number of books have."""
    return max(2, books // _BOOKS_A_PUBLISHER)


def documents(link: Link, ids: Collection[int] | None = None) -> dict[str, Document]:
    """Return the documents that SQL tells, of all books or of some, by their ids in an index."""
    some, given = ("", ()) if ids is None else (" where b.id = any(%s)", (list(ids),))
    found = link.execute((_DOCUMENTS + some).encode(), given)
    return {str(id): plain(document) for id, document in found}


def plain(document: Document) -> Document:
    """Return what a document says, however it is written.

    Its lists in one order, an empty one for none, and times in seconds without a zone. PGSync's own
    notes beside the fields are left out.
    """
    told = {name: each for name, each in document.items() if name != "_meta"}
    for name, order in _LISTS.items():
        told[name] = sorted(told.get(name) or [], key=order)
    told["publish_date"] = _time(told["publish_date"])
    told["authors"] = [
        {**each, "date_of_birth": _time(each["date_of_birth"])} for each in told["authors"]
    ]
    return told


def _time(text: str | None) -> str | None:
    return text and text[:_SECONDS]


@dataclass(slots=True)
class Changes:
    """Writes changes, and notes whose documents they alter.

    Attributes:
        link: To the database; each statement stands alone.
        books: How many there are.
        seed: Of the changes.
        touched: The books that were changed.
        renamed: The authors that were.
    """

    link: Link
    books: int
    seed: int = 7
    touched: set[int] = field(default_factory=set)
    renamed: set[int] = field(default_factory=set)
    _drawn: random.Random = field(init=False)
    _linked: dict[int, int] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self._drawn = random.Random(self.seed)

    def titles(self, changes: int, *, a_commit: int) -> None:
        """Give a number of books new titles, some per statement: only one table is written."""
        for first in range(1, changes + 1, a_commit):
            ids = [id % self.books + 1 for id in range(first, min(first + a_commit, changes + 1))]
            self.link.execute(
                "update book set title = 'another title ' || id where id = any(%s)", (ids,)
            )
            self.touched.update(ids)

    def mixed(self, changes: int, *, a_commit: int) -> None:
        """Change rows of all kinds, some a transaction."""
        for first in range(0, changes, a_commit):
            with self.link.transaction(), self.link.pipeline():
                for _ in range(min(a_commit, changes - first)):
                    self._one()

    def _one(self) -> None:
        """In ten changes: four titles, three ratings, two books' authors, one author's name."""
        self._count += 1
        kind, book = self._drawn.randrange(10), self._drawn.randrange(1, self.books + 1)
        if kind < 4:
            self.title(book, f"title {book} of {self._count}")
        elif kind < 7:
            self.rate(book, self._count)
        elif kind < 9:
            self._relink(book)
        else:
            self._rename(self._drawn.randrange(1, authors(self.books) + 1))

    def title(self, book: int, title: str) -> None:
        """Give a book a title."""
        self.link.execute("update book set title = %s where id = %s", (title, book))
        self.touched.add(book)

    def rate(self, book: int, value: float) -> None:
        """Rate a book."""
        self.link.execute(
            "update rating set value = %s where book_isbn = %s", (value, f"isbn-{book}")
        )
        self.touched.add(book)

    def _relink(self, book: int) -> None:
        """Give a book one more author, or take that one back."""
        author = self._linked.pop(book, None)
        if author is None:
            author = self._linked[book] = self._drawn.randrange(1, authors(self.books) + 1)
            self.link.execute(
                "insert into book_author (book_isbn, author_id) values (%s, %s)"
                " on conflict do nothing",
                (f"isbn-{book}", author),
            )
        else:
            self.link.execute(
                "delete from book_author where book_isbn = %s and author_id = %s",
                (f"isbn-{book}", author),
            )
        self.touched.add(book)

    def _rename(self, author: int) -> None:
        self.link.execute(
            "update author set name = %s where id = %s",
            (f"author {author} of {self._count}", author),
        )
        self.renamed.add(author)

    def altered(self) -> dict[str, Document]:
        """Return the documents that the changes altered, as they are to be; forget the changes."""
        found = self.link.execute(_OF_AUTHORS, (list(self.renamed),))
        ids = self.touched | {int(id) for (id,) in found}
        self.touched, self.renamed = set(), set()
        return documents(self.link, ids)
