"""Cases of products that search: which stored queries match which documents.

The first product of each project is the one that is looked at.
"""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import Case, case, when
from joinery.testing.driver import Emission, gone, upsert

_RELATIONS = """
relations:
  listing:
    key: [id]
    fields: {id: long, city: string, price: int, rooms: int, tags: "array<string>", at: timestamp}
  saved: {key: [id], fields: {id: long, city: string, condition: string, user: string}}
"""
_PLAIN = f"""
{_RELATIONS}
products:
  p: {{search: listing, queries: saved, query: condition}}
"""
_SHOWN = f"""
{_RELATIONS}
products:
  p:
    search: listing
    queries: saved
    query: condition
    fields: {{price: listing.price, who: saved.user, share: "100 / listing.rooms"}}
"""
_TENANTS = f"""
{_RELATIONS}
products:
  p: {{search: listing, queries: saved, query: condition, on: [city]}}
"""
_LATER = f"""
{_RELATIONS}
products:
  p: {{search: listing, queries: saved, query: condition, retroactive: false}}
"""
_LATER_OF_A_LOG = _LATER.replace("listing:", "listing:\n    append: true", 1)
_FILTERED = """
relations:
  listing:
    key: [id]
    fields: {id: long, price: int}
    derive: {dear: price > 100}
    where: price > 0
  saved: {key: [id], fields: {id: long, condition: string, active: boolean}, where: active}
products:
  p: {search: listing, queries: saved, query: condition}
"""
_DOCUMENTS = """
relations:
  docket: {key: [id], fields: {id: long, court: string}}
  filing: {key: [id], fields: {id: long, docket: long, title: string}}
  alert: {key: [court, number], fields: {court: string, number: int, condition: string}}
products:
  p:
    search: case_file
    queries: alert
    query: condition
    on: [court]
    fields: {filings: "size(case_file.filings)"}
  case_file:
    root: docket
    embed: {filings: {many: filing, on: {docket: id}, fields: [title]}}
"""
_TEXTS = """
relations:
  docket: {key: [id], fields: {id: long, court: string, caption: string, pages: int}}
  filing: {key: [id], fields: {id: long, docket: long, title: string, filed: date}}
  alert: {key: [id], fields: {id: long, court: string, text: string, user: string}}
products:
  p:
    search: case_file
    queries: alert
    query: text
    language: lucene
    on: [court]
    fields: {user: alert.user}
  case_file:
    root: docket
    fields: [court, caption, pages]
    embed: {filings: {many: filing, on: {docket: id}, fields: [title, filed]}}
"""
_GROUPS = """
relations:
  sale: {key: [id], fields: {id: long, shop: string, amount: int}}
  alarm: {key: [id], fields: {id: long, condition: string}}
products:
  p: {search: shops, queries: alarm, query: condition}
  shops: {aggregate: sale, by: [shop], values: {total: sum(amount), n: count(*)}}
"""


def _hit(query: int, document: int, **fields: Any) -> Emission:
    key = {"query": {"id": query}, "document": {"id": document}}
    return upsert(tuple(key.values()), {**key, **fields})


def _left(query: int, document: int) -> Emission:
    return gone(({"id": query}, {"id": document}))


def _broken(query: int) -> Any:
    return {"id": query}, None


CASES = (
    case(
        "a stored query matches the documents of which its condition is true",
        _PLAIN,
        when(
            insert("saved", id=1, condition="price < 500 and rooms >= 2"),
            insert("saved", id=2, condition="city in ('Ulm', 'Bonn')"),
            insert("saved", id=3, condition="array_contains(tags, 'balcony')"),
            insert("listing", id=7, city="Ulm", price=400, rooms=2, tags=["balcony"]),
            insert("listing", id=8, city="Köln", price=600, rooms=3, tags=[]),
            insert("listing", id=9),
            then=[_hit(1, 7), _hit(2, 7), _hit(3, 7)],
        ),
    ),
    case(
        "a document that changes enters and leaves",
        _PLAIN,
        when(insert("saved", id=1, condition="price < 500"), insert("listing", id=7, price=600)),
        when(update("listing", id=7, price=400), then=[_hit(1, 7)]),
        when(update("listing", id=7, price=300)),
        when(update("listing", id=7, price=None), then=[_left(1, 7)]),
        when(update("listing", id=7, price=1), then=[_hit(1, 7)]),
        when(delete("listing", id=7), then=[_left(1, 7)]),
        when(insert("listing", id=7, price=2), then=[_hit(1, 7)]),
    ),
    case(
        "a query that is added finds what is there, and one that is removed takes back",
        _PLAIN,
        when(insert("listing", id=7, price=400), insert("listing", id=8, price=700)),
        when(insert("saved", id=1, condition="price > 500"), then=[_hit(1, 8)]),
        when(update("saved", id=1, condition="price > 300"), then=[_hit(1, 7)]),
        when(update("saved", id=1, condition="price < 500"), then=[_left(1, 8)]),
        when(delete("saved", id=1), then=[_left(1, 7)]),
        when(insert("saved", id=1, condition="price > 300"), then=[_hit(1, 7), _hit(1, 8)]),
    ),
    case(
        "a match that changes and a match that comes and goes within a batch",
        _PLAIN,
        when(
            insert("saved", id=1, condition="price < 500"),
            insert("listing", id=7, price=400),
            update("listing", id=7, price=600),
        ),
        when(
            update("saved", id=1, condition="price > 500"),
            update("listing", id=7, price=700),
            insert("saved", id=2, condition="price < 500"),
            delete("saved", id=2),
            then=[_hit(1, 7)],
        ),
    ),
    case(
        "a match shows fields of both rows, and is sent again where they change",
        _SHOWN,
        when(
            insert("saved", id=1, condition="price < 500", user="ann"),
            insert("listing", id=7, price=400, rooms=4),
            then=[_hit(1, 7, price=400, who="ann", share=25.0)],
        ),
        when(update("listing", id=7, price=300), then=[_hit(1, 7, price=300, who="ann", share=25)]),
        when(update("saved", id=1, user="bob"), then=[_hit(1, 7, price=300, who="bob", share=25)]),
        when(update("listing", id=7, city="Ulm")),
        when(
            update("listing", id=7, rooms=0),
            then=[_hit(1, 7, price=300, who="bob", share=None)],
            counts={"expression_errors": 1},
        ),
    ),
    case(
        "a query without a condition matches nothing and is no dead letter",
        _PLAIN,
        when(insert("listing", id=7, price=400), insert("saved", id=1, condition=None)),
        when(update("saved", id=1, condition="true"), then=[_hit(1, 7)]),
        when(update("saved", id=1, condition=None), then=[_left(1, 7)]),
    ),
    case(
        "a query that is broken is a dead letter, and takes its matches back",
        _PLAIN,
        when(
            insert("listing", id=7, price=400),
            insert("saved", id=1, condition="price < 500"),
            insert("saved", id=2, condition="pirce < 500"),
            insert("saved", id=3, condition=" "),
            insert("saved", id=4, condition="price <"),
            insert("saved", id=5, condition="price + 1"),
            insert("saved", id=6, condition="rand() < 0.5"),
            then=[_hit(1, 7)],
            dead=[_broken(each) for each in range(2, 7)],
        ),
        when(update("saved", id=1, condition="price < "), then=[_left(1, 7)], dead=[_broken(1)]),
        when(update("listing", id=7, price=100)),
        when(update("saved", id=2, condition="price < 500"), then=[_hit(2, 7)]),
    ),
    case(
        "a query that is broken is told once for each version of its row",
        _PLAIN,
        when(insert("saved", id=1, condition="(", user="ann"), dead=[_broken(1)]),
        when(insert("listing", id=7, price=400)),
        when(update("saved", id=1, user="bob"), dead=[_broken(1)]),
        when(update("saved", id=1, condition=")"), dead=[_broken(1)]),
        when(delete("saved", id=1)),
    ),
    case(
        "a condition sees no column of the query, and only functions of the portable subset",
        _PLAIN,
        when(
            insert("saved", id=1, condition="user = 'ann'"),
            insert("saved", id=2, condition="saved.id = 1"),
            insert("saved", id=3, condition="rlike(city, 'U.*')"),
            insert("saved", id=4, condition="exists(select 1)"),
            insert("saved", id=5, condition="sum(price) > 1"),
            insert("saved", id=6, condition="tags = 1"),
            dead=[_broken(each) for each in range(1, 7)],
        ),
    ),
    case(
        "a condition that could take long is a dead letter, and the others go on",
        _PLAIN,
        when(
            insert("listing", id=7, city="aaaa", price=400, tags=["a", "b"]),
            insert("saved", id=1, condition="city like city"),
            insert("saved", id=2, condition="repeat(city, 1000000000) = 'a'"),
            insert("saved", id=3, condition="size(split(city, '(a+)+b')) = 1"),
            insert("saved", id=4, condition="replace(city, 'a', city) = 'a'"),
            insert(
                "saved",
                id=5,
                condition="exists(tags, x -> exists(tags, y -> exists(tags, z -> x = z)))",
            ),
            insert("saved", id=6, condition=f"{' ' * 8192}true"),
            insert("saved", id=7, condition="city like '%a%a%b%' or city like 'a%a%a'"),
            then=[_hit(7, 7)],
            dead=[_broken(each) for each in range(1, 7)],
        ),
        when(update("saved", id=1, condition="city like 'a%'"), then=[_hit(1, 7)]),
    ),
    case(
        "a condition that fails of a document does not match it",
        _PLAIN,
        when(
            insert("saved", id=1, condition="100 / rooms > 10"),
            insert("listing", id=7, rooms=0),
            insert("listing", id=8, rooms=5),
            insert("listing", id=9),
            then=[_hit(1, 8)],
        ),
        when(update("listing", id=7, rooms=1), then=[_hit(1, 7)]),
        when(update("listing", id=8, rooms=0), then=[_left(1, 8)]),
    ),
    case(
        "where columns must be equal a query looks at no other document, and null equals nothing",
        _TENANTS,
        when(
            insert("saved", id=1, city="Ulm", condition="price < 500"),
            insert("saved", id=2, city=None, condition="true"),
            insert("listing", id=7, city="Ulm", price=400),
            insert("listing", id=8, city="Bonn", price=400),
            insert("listing", id=9, price=400),
            then=[_hit(1, 7)],
        ),
        when(
            update("listing", id=7, city="Bonn"),
            update("listing", id=8, city="Ulm"),
            then=[_left(1, 7), _hit(1, 8)],
        ),
        when(update("saved", id=1, city="Bonn"), then=[_left(1, 8), _hit(1, 7)]),
        when(update("saved", id=1, city=None), then=[_left(1, 7)]),
        when(
            update("saved", id=1, city="Ulm"),
            update("listing", id=7, city="Ulm"),
            then=[_hit(1, 7), _hit(1, 8)],
        ),
        when(update("listing", id=7, city=None), then=[_left(1, 7)]),
    ),
    case(
        "rows that a relation leaves out are neither queries nor documents",
        _FILTERED,
        when(
            insert("saved", id=1, condition="dear", active=True),
            insert("saved", id=2, condition="true", active=False),
            insert("saved", id=3, condition="(", active=False),
            insert("listing", id=7, price=200),
            insert("listing", id=8, price=-1),
            then=[_hit(1, 7)],
        ),
        when(update("saved", id=2, active=True), then=[_hit(2, 7)]),
        when(update("saved", id=3, active=True), dead=[_broken(3)]),
        when(update("listing", id=7, price=0), then=[_left(1, 7), _left(2, 7)]),
    ),
)


def _filed(number: int, document: int, filings: int) -> Emission:
    key = {"query": {"court": "nd", "number": number}, "document": {"id": document}}
    return upsert(tuple(key.values()), {**key, "filings": filings})


READING_CASES = (
    case(
        "a query spans a document and what is embedded in it",
        _DOCUMENTS,
        when(
            insert("alert", court="nd", number=1, condition="size(filings) >= 2"),
            insert(
                "alert",
                court="nd",
                number=2,
                condition="exists(filings, f -> contains(f.title, 'motion'))",
            ),
            insert("alert", court="sd", number=1, condition="true"),
            insert("docket", id=1, court="nd"),
            insert("filing", id=10, docket=1, title="order"),
        ),
        when(
            insert("filing", id=11, docket=1, title="motion to dismiss"),
            then=[_filed(1, 1, 2), _filed(2, 1, 2)],
        ),
        when(
            delete("filing", id=10),
            then=[
                gone(({"court": "nd", "number": 1}, {"id": 1})),
                _filed(2, 1, 1),
            ],
        ),
        when(delete("docket", id=1), then=[gone(({"court": "nd", "number": 2}, {"id": 1}))]),
    ),
    case(
        "a query watches groups",
        _GROUPS,
        when(
            insert("alarm", id=1, condition="total > 100"),
            insert("sale", id=1, shop="a", amount=60),
            insert("sale", id=2, shop="b", amount=200),
            then=[
                upsert(({"id": 1}, {"shop": "b"}), {"query": {"id": 1}, "document": {"shop": "b"}})
            ],
        ),
        when(
            insert("sale", id=3, shop="a", amount=60),
            delete("sale", id=2),
            then=[
                upsert(({"id": 1}, {"shop": "a"}), {"query": {"id": 1}, "document": {"shop": "a"}}),
                gone(({"id": 1}, {"shop": "b"})),
            ],
        ),
    ),
)
LATER_CASES = (
    case(
        "a query that does not look back matches documents that change after it",
        _LATER,
        when(insert("listing", id=7, price=400)),
        when(insert("saved", id=1, condition="price < 500")),
        when(insert("listing", id=8, price=300), then=[_hit(1, 8)]),
        when(update("listing", id=7, price=450), then=[_hit(1, 7)]),
        when(update("listing", id=7, price=600), then=[_left(1, 7)]),
        when(update("saved", id=1, user="ada")),  # which no match shows
        when(update("saved", id=1, condition="price < 900"), then=[_left(1, 8)]),
        when(update("listing", id=8, price=800), then=[_hit(1, 8)]),
        when(delete("saved", id=1), then=[_left(1, 8)]),
    ),
    case(
        "a row of a log that comes again is not later than a query that does not look back",
        _LATER_OF_A_LOG,
        when(insert("listing", id=7, price=400)),
        when(insert("saved", id=1, condition="price < 500")),
        when(insert("listing", id=7, price=400)),
        when(insert("listing", id=8, price=300), then=[_hit(1, 8)]),
        when(insert("listing", id=8, price=300)),
    ),
)


def _told(query: int, document: int, user: str | None = None) -> Emission:
    return _hit(query, document, user=user)


_DOCKET = {"id": 1, "court": "nd", "caption": "Smith v. O'Neil Corp.", "pages": 12}
TEXT_CASES = (
    case(
        "a text query finds words, phrases, beginnings and values in a document and its embeds",
        _TEXTS,
        when(
            insert("alert", id=1, court="nd", text='smith AND "motion to dismiss"', user="ann"),
            insert("alert", id=2, court="nd", text="caption:o'neil -filings.title:order"),
            insert("alert", id=3, court="nd", text="dism* AND pages:[10 TO 20}"),
            insert("alert", id=4, court="nd", text="filings.filed:[2026-01-01 TO *]"),
            insert("alert", id=5, court="nd", text='"motion order"'),
            insert("alert", id=6, court="sd", text="smith"),
            insert("alert", id=7, court="nd", text="*:* -smith"),
            insert("docket", **_DOCKET),
            insert("filing", id=10, docket=1, title="Motion to Dismiss", filed="2025-12-30"),
            then=[_told(1, 1, "ann"), _told(2, 1), _told(3, 1)],
        ),
        when(
            insert("filing", id=11, docket=1, title="Order", filed="2026-01-02"),
            then=[_left(2, 1), _told(4, 1)],
        ),
        when(
            update("docket", id=1, caption="Doe v. Roe", pages=20),
            then=[_left(1, 1), _left(3, 1), _told(7, 1)],
        ),
        when(delete("docket", id=1), then=[_left(4, 1), _left(7, 1)]),
    ),
    case(
        "a text query that is added finds what is there, and one that is broken takes back",
        _TEXTS,
        when(insert("docket", **_DOCKET), insert("docket", **{**_DOCKET, "id": 2})),
        when(insert("alert", id=1, court="nd", text="SMITH"), then=[_told(1, 1), _told(1, 2)]),
        when(
            update("alert", id=1, text="smith~2"),
            insert("alert", id=2, court="nd", text="caption:(smith"),
            insert("alert", id=3, court="nd", text="captoin:smith"),
            insert("alert", id=4, court="nd", text="pages:many"),
            insert("alert", id=5, court="nd", text="/sm.th/"),
            insert("alert", id=6, court="nd", text="*mith"),
            insert("alert", id=7, court="nd", text=" "),
            insert("alert", id=8, court="nd", text=None),
            then=[_left(1, 1), _left(1, 2)],
            dead=[_broken(each) for each in range(1, 8)],
        ),
        when(update("alert", id=1, text="sm?th^2"), then=[_told(1, 1), _told(1, 2)]),
    ),
)


def search_cases() -> tuple[Case, ...]:
    """Return the cases of stored queries that match documents."""
    return (*CASES, *READING_CASES, *LATER_CASES, *TEXT_CASES)
