"""Explanations: text with sections, Mermaid, and a page that needs nothing beside itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import joinery as jn
from joinery.plan.explain.page import Explanation, Section, explain
from joinery.plan.explain.picture import svg
from joinery.plan.product import Product


def product() -> Product:
    """Return a product with a filter that page and chart must escape."""
    user = jn.relation("user", key=["id"], fields={"id": "long", "name": "string"})
    star = jn.relation("star", key=["id"], fields={"id": "long", "user_id": "long"})
    made = jn.document("p", user, where="name < '\"&'").embed_many(
        "stars", star, on={"user_id": "id"}, order=["-id"], limit=2
    )
    return jn.Project(products=[made]).products["p"].plan


def explained() -> Explanation:
    """Return the explanation with one more section."""
    return explain(product(), [Section("kernel", "level 0 <Fold>\n", mermaid=("k0 --> k1",))])


def test_the_text_shows_the_plan_and_the_sections() -> None:
    expected = """\
-- logical
Emit p by id
  Filter name < '"&'
  Nest stars <- star on user_id = id; order by id desc; limit 2, total kept in stars_total
    Project id, user_id
    Scan star [id, user_id]
  Project id, name
  Scan user [id, name]

-- kernel
level 0 <Fold>"""

    assert expected == str(explained())


def test_the_chart_has_a_node_and_an_edge_for_each_embed() -> None:
    lines = explained().to_mermaid().splitlines()

    assert "flowchart RL" == lines[0]
    assert '  n0(["p<br/>user<br/>id, name, stars, stars_total"])' in lines
    assert (
        '  n1 -->|"many on user_id = id; order by id desc; limit 2, total kept in stars_total"| n0'
        in lines
    )
    assert "  k0 --> k1" == lines[-1]


def test_the_page_needs_nothing_beside_itself() -> None:
    page = explained().to_html()

    assert not re.search(r'(src|href)="|@import|url\(', page)
    assert "level 0 &lt;Fold&gt;" in page


def test_the_picture_is_well_formed_and_shows_every_node() -> None:
    page = explained().to_html()

    picture = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])

    name = "{http://www.w3.org/2000/svg}"
    assert 2 == len(picture.findall(f"{name}g/{name}rect"))
    assert {"p", "stars"} <= {each.text for each in picture.findall(f"{name}g/{name}text")}


def test_the_picture_cuts_nothing_and_stays_within_its_edges() -> None:
    columns = {f"a_column_with_quite_a_long_name_{number}": "decimal(20,4)" for number in range(9)}
    wide = jn.relation("wide", key=["id"], fields={"id": "long", **columns})
    made = jn.document("p", wide).embed_many("w", wide, on={"id": "id"})
    picture = ET.fromstring(svg(jn.Project(products=[made]).products["p"].plan))

    name = "{http://www.w3.org/2000/svg}"
    texts = " ".join(str(each.text).strip() for each in picture.iter(f"{name}text"))
    assert "…" not in texts
    assert "fields: id long, " + ", ".join(f"{c} {t}" for c, t in columns.items()) in texts
    width, height = int(picture.get("width", 0)), int(picture.get("height", 0))
    for box in picture.iter(f"{name}rect"):
        x, y, wide_, high = (int(box.get(each, 0)) for each in ("x", "y", "width", "height"))
        assert x + wide_ <= width
        assert y + high <= height


def test_the_page_closes_what_it_opens() -> None:
    class Balance(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "path", "rect"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in ("path", "rect"):
                assert tag == self.open.pop()

    parser = Balance()
    parser.feed(explained().to_html())

    assert [] == parser.open


def test_an_interval_whose_relation_is_a_timeline_too_says_that_all_is_kept() -> None:
    at = {"id": "long", "of": "long", "at": "timestamp"}
    user, post = (jn.relation(name, key=["id"], fields=at, time="at") for name in ("user", "post"))
    follow = jn.relation("follow", key=["a", "b"], fields={"a": "long", "b": "long"})
    made = (
        jn.document("p", user)
        .embed_many("near", post, on={"of": "id"}, within=("0s", "1m"))
        .embed_many("feed", post, through={follow: {"a": "id"}}, on={"of": "follow.b"})
    )

    plan = jn.Project(products=[made]).products["p"].plan

    assert "  Keep forever, late rows correct" in str(explain(plan)).splitlines()


def test_what_goes_by_the_clock_says_so() -> None:
    view = jn.relation(
        "view",
        append=True,
        fields={"at": "timestamp"},
        time="at",
        watermark={"delay": "10s", "idle": "1m"},
    )
    made = jn.aggregate("hours", view, window={"tumbling": "1h"}, values={"n": "count(*)"})

    told = str(explain(jn.Project(products=[made]).products["hours"].plan, ()))

    watermark = "late rows correct, kept 7d, without partitions silent for 1m by the clock"
    assert f"  Watermark of view: {watermark}\n" in told
