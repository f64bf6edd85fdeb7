"""What a program leaves out is left out only where nothing needs it."""

from __future__ import annotations

from pathlib import Path

import joinery as jn
from joinery.solutions.spark_state.document_program import Match
from joinery.solutions.spark_state.lower import has_former, lower
from joinery.solutions.spark_state.program import KernelProgram
from joinery.solutions.spark_state.render import render_program

PROJECT = """\
name: teams
sources: {changes: {files: {path: data}}}
relations:
  team: {key: [id], fields: {id: long, area: string, code: int}}
  member: {key: [name], fields: {name: string, area: string, team: long}}
  tool: {key: [id], fields: {id: long, place: string, team: long}}
products:
  team:
    root: team
    embed:
      members: {many: member, on: {area: area, team: code}}
      tools: {many: tool, on: {team: code, place: area}}
    sink: {files: {path: out}}
"""


def program(tmp_path: Path, old: str = "", new: str = "") -> KernelProgram:
    """Return the program of the project with one text replaced."""
    assert old in PROJECT
    file = tmp_path / "joinery.yaml"
    file.write_text(PROJECT.replace(old, new) if old else PROJECT)
    return lower(jn.load(file).plan.products)


def matches(lowered: KernelProgram) -> list[list[str]]:
    """Return the embeds that each Match serves."""
    nodes = [node for node in lowered.nodes if isinstance(node, Match)]
    return [[arm.name for arm in node.arms] for node in nodes]


def test_embeds_on_the_same_columns_share_a_match_whatever_the_order_of_the_pairs(
    tmp_path: Path,
) -> None:
    assert [["team/members", "team/tools"]] == matches(program(tmp_path))


def test_embeds_on_other_columns_have_a_match_of_their_own(tmp_path: Path) -> None:
    lowered = program(tmp_path, "{team: code, place: area}", "{place: area}")

    assert [["team/members"], ["team/tools"]] == matches(lowered)


def test_embeds_compared_as_other_types_have_a_match_of_their_own(tmp_path: Path) -> None:
    lowered = program(tmp_path, "place: string, team: long", "place: string, team: int")

    assert [["team/members"], ["team/tools"]] == matches(lowered)


def test_a_match_serves_at_most_fifteen_embeds(tmp_path: Path) -> None:
    more = "".join(f"\n      e{n}: {{many: tool, on: {{place: area}}}}" for n in range(17))

    lowered = program(tmp_path, "tools: {many: tool, on: {team: code, place: area}}", more)

    assert [1, 15, 2] == [len(embeds) for embeds in matches(lowered)]


def test_windows_that_are_sent_once_closed_have_a_closing_before_them(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text("""\
name: web
sources: {log: {files: {path: data}}}
relations:
  view:
    append: true
    fields: {page: string, at: timestamp}
    time: at
    watermark: {delay: 30s}
products:
  pages:
    aggregate: view
    by: [page]
    window: {tumbling: 1m}
    values: {n: count(*)}
    emit: {when: closed, allowed: 5s}
    sink: {files: {path: out}}
""")

    told = render_program(lower(jn.load(file).plan.products))

    assert [
        "level 1",
        "  Closing pages by a share of Group pages",
        "    notifies its addresses once the watermark (30 s behind) is 5 s past its end",
        "    that they are closed -> Group pages",
        "level 2",
        "  Group pages by c0, window",
    ] == told.splitlines()[2:8]


APPENDED = """\
name: shop
sources: {log: {files: {path: data}}}
relations:
  shop: {key: [name], fields: {name: string, city: string}}
  payment: {append: true, key: [id], fields: {id: long, shop: string, sum: long}%s}
products:
  p:
    root: payment
    fields: [id, sum]
    embed: {at: {one: shop, on: {name: shop}, fields: [city]}}
    sink: {files: {path: out}}
%s"""


def appended(folder: Path, *, more: str = "", run: str = "") -> str:
    file = folder / "joinery.yaml"
    file.write_text(APPENDED % (more, run))
    return render_program(lower(jn.load(file).plan.products))


def test_rows_of_an_append_relation_are_sent_where_they_are_decoded(tmp_path: Path) -> None:
    told = appended(tmp_path)

    assert (
        "changes\n"
        "  shop -> ToOne p/at by name\n"
        "  payment: own row -> ToOne p/at by shop\n"
        "level 1\n"
        "  ToOne p/at by name\n"
        "    keeps the rows of shop\n"
        "    assembled rows -> Root p by id\n"
        "level 2\n"
        "  Root p by id\n"
        "    keeps the document\n"
        "    documents -> sinks\n"
    ) in told
    assert "payment: no Retract, since rows of an append relation never change" in told


SEARCHED = """\
name: alerts
sources: {log: {files: {path: data}}}
relations:
  notice: {append: true, key: [id], fields: {id: long, price: int}}
  saved: {key: [id], fields: {id: long, condition: string}}
products:
  alert: {search: notice, queries: saved, query: condition, sink: {files: {path: out}}}
"""


def test_documents_of_an_append_relation_go_to_the_search_where_they_are_decoded(
    tmp_path: Path,
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(SEARCHED)
    products = jn.load(file).plan.products

    told = render_program(lower(products))

    assert "  notice: documents -> Search alert\n" in told
    assert "Retract notice" not in told
    former = lower(products, former=True)
    assert has_former(lower(products)), "checkpoints of before have a Retract"
    assert "Retract notice by id" in render_program(former)


def test_an_append_relation_with_personal_columns_is_kept_for_erasures(tmp_path: Path) -> None:
    personal = ", personal: {subject: shop, fields: [sum]}"
    vault = f"vault: {{sqlite: {{path: vault.db}}, master: {'k' * 32}}}\n"

    told = appended(tmp_path, more=personal, run=vault)

    assert "Retract payment by id" in told


ORDERS = """\
name: shop
sources: {log: {files: {path: data}}}
relations:
  shop: {key: [name], fields: {name: string, city: string}}
  payment: {key: [id], fields: {id: long, shop: string, sum: long}}
products:
  p:
    root: payment
    fields: [id, sum]
    embed: {at: {one: shop, on: {name: shop}, fields: [city]}}
    sink: {files: {path: out}}
"""


def test_a_to_one_assembles_roots_that_change_where_a_condition_leaves_documents_out(
    tmp_path: Path,
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(f"{ORDERS}    where: at.city = 'Rome'\n")
    products = jn.load(file).plan.products

    told = render_program(lower(products))

    assert (
        "level 1\n"
        "  Retract payment by id\n"
        "    keeps id, shop, sum\n"
        "    own row -> ToOne p/at by shop\n"
        "level 2\n"
        "  ToOne p/at by name\n"
        "    keeps the rows of shop\n"
        "    assembled rows -> Root p by id\n"
        "level 3\n"
        "  Root p by id\n"
    ) in told
    assert "Fold p by id" in render_program(lower(products, former=True))


def test_all_documents_of_roots_that_change_stand_in_folds(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(ORDERS)

    assert "Fold p by id" in render_program(lower(jn.load(file).plan.products))


NEAR = """\
name: shop
sources: {log: {files: {path: data}}}
relations:
  search: {append: true, key: [id], time: at, fields: {id: long, at: timestamp}}
  click: {append: true, key: [id], time: at, fields: {id: long, search: long, at: timestamp}}
products:
  p:
    root: search
    embed: {clicks: {many: click, on: {search: id}, within: [0s, 30m], fields: [id]}}
    emit: {when: closed}
    sink: {files: {path: out}}
"""


def test_rows_of_logs_in_an_interval_are_kept_where_they_meet_alone(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(NEAR)
    products = jn.load(file).plan.products

    told = render_program(lower(products))

    assert "click: rows -> Fold p by search\n" in told
    assert "Retract" not in told.partition("left out")[0]
    assert "Retract click" in render_program(lower(products, former=True))


LED = """\
name: shop
sources: {log: {files: {path: data}}}
relations:
  user: {key: [id], fields: {id: long}}
  follow: {append: true, key: [id], fields: {id: long, who: long, whom: long}}
  post: {key: [id], fields: {id: long, author: long}}
products:
  p:
    root: user
    embed:
      posts: {many: post, through: {follow: {who: id}}, on: {author: follow.whom}, limit: 8%s}
    sink: {files: {path: out}}
"""


def test_a_fold_gathers_what_rows_lead_to_from_its_key(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(LED % "")
    products = jn.load(file).plan.products

    told = render_program(lower(products))

    assert "holds posts: list, the first 8 of all that it is led to\n" in told
    assert "posts: no Gather, since follow leads there from the key of" in told
    assert "Gather p/posts" in render_program(lower(products, keeps_gathers=True))


def test_a_list_without_a_limit_is_gathered_before_its_fold(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text((LED % "").replace(", limit: 8", ""))

    told = render_program(lower(jn.load(file).plan.products))

    assert "Gather p/posts" in told


def test_rows_of_a_log_that_lead_to_others_are_kept_only_where_they_are_counted(
    tmp_path: Path,
) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(LED % "")
    products = jn.load(file).plan.products

    told = render_program(lower(products))

    assert "follow: whom it leads (who) -> FanOut p/posts by whom\n" in told
    assert "Retract follow" not in told
    assert "Retract follow" in render_program(lower(products, former=True))
    file.write_text(LED % ", hot: {above: 9}")
    assert "Retract follow" in render_program(lower(jn.load(file).plan.products))
