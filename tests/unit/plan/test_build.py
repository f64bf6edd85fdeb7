"""From specs to plans: what is resolved, and every problem at the exact word."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.model.type import Array, Atomic, Map
from joinery.plan.build import examine
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.project.load import load_spec

RELATIONS = """\
relations:
  user:
    key: [id]
    fields: {id: long, name: string, boss_id: long, tags: array<string>, score: double}
    derive: {lower_name: lower(name), twice: "concat(lower_name, lower_name)"}
  star:
    key: [user_id, repo_id]
    fields: {user_id: int, repo_id: string, at: timestamp, n: int}
  repo: {key: [id], fields: {id: string, owner_id: long, text: string, first name: string}}
products:
  p:
    root: user
"""


def examined(folder: Path, product: str, text: str = RELATIONS) -> tuple[Product | None, list[str]]:
    """Build the product, and return it with its problems as `line:column code message`."""
    file = folder / "joinery.yaml"
    file.write_text(text + product, encoding="utf-8")
    plan, problems, warnings = examine(load_spec(file))
    found = [
        f"{each.location.line}:{each.location.column} {each.code} {each.message}"
        for each in (*problems, *warnings)
        if each.location
    ]
    return (plan.products[0] if plan else None), found


def built(folder: Path, product: str, text: str = RELATIONS) -> Node:
    """Build a product that has no problem, and return its root."""
    made, problems = examined(folder, product, text)
    assert [] == problems
    assert made is not None
    return made.root


def problems_of(folder: Path, product: str, text: str = RELATIONS) -> list[str]:
    """Build a product that has problems, and return them."""
    made, problems = examined(folder, product, text)
    assert made is None
    return problems


def hint_of(folder: Path, product: str) -> str:
    """Return the hint of the only problem."""
    file = folder / "joinery.yaml"
    file.write_text(RELATIONS + product, encoding="utf-8")
    _, problems, warnings = examine(load_spec(file))
    (only,) = (*problems, *warnings)
    return only.hint


def names(node: Node) -> list[str]:
    """Return the names of what a node shows."""
    return [field.name for field in node.output.fields]


def test_fields_left_out_are_all_columns_derived_ones_too(tmp_path: Path) -> None:
    root = built(tmp_path, "")

    expected = ["id", "name", "boss_id", "tags", "score", "lower_name", "twice"]
    assert expected == names(root)


def test_empty_fields_are_none(tmp_path: Path) -> None:
    assert ["n"] == names(built(tmp_path, "    fields: []\n    values: {n: '1'}\n"))


def test_an_embed_hides_the_column_of_its_name(tmp_path: Path) -> None:
    embed = "    embed: {name: {one: repo, on: {owner_id: id}, fields: [text]}}\n"

    root = built(tmp_path, embed)

    assert 1 == names(root).count("name")
    assert root.embeds[0].output == root.output.fields[-1].type


def test_nodes_have_stable_paths(tmp_path: Path) -> None:
    text = """\
    embed:
      stars:
        many: star
        on: {user_id: id}
        embed: {repo: {one: repo, on: {id: repo_id}}}
"""

    root = built(tmp_path, text)

    assert ["p", "p/stars", "p/stars/repo"] == [node.path for node in root.walk()]


def test_joined_columns_are_compared_as_the_wider_type(tmp_path: Path) -> None:
    root = built(tmp_path, "    embed: {stars: {many: star, on: {user_id: id}}}\n")

    assert Atomic("long") == root.embeds[0].on[0].type


def test_a_relation_may_stand_under_itself(tmp_path: Path) -> None:
    text = """\
    fields: [id]
    embed:
      boss: {one: user, on: {id: boss_id}, fields: [name], embed: {
        boss: {one: user, on: {id: boss_id}, fields: [name]}}}
      staff: {many: user, on: {boss_id: id}, fields: [id]}
"""

    root = built(tmp_path, text)

    assert ["id", "boss", "staff"] == names(root)
    assert ["name", "boss"] == names(root.embeds[0])


def test_values_see_fields_embeds_totals_aggregates_and_values_above(tmp_path: Path) -> None:
    text = """\
    fields: [id, {label: name}]
    embed:
      stars: {many: star, on: {user_id: id}, fields: [n], limit: 2, hidden: true}
    values:
      kept: size(stars)
      all: stars_total
      most: max(stars.n) + sum(stars.n)
      both: concat(label, cast(kept as string))
"""

    root = built(tmp_path, text)

    assert ["id", "label", "kept", "all", "most", "both"] == names(root)
    assert ["__agg_0", "__agg_1"] == [each.name for each in root.aggregates]
    assert "__agg_0 + __agg_1" == root.values[2].expression.sql


def test_the_aggregates_of_a_node_are_numbered_through(tmp_path: Path) -> None:
    text = """\
    embed: {stars: {many: star, on: {user_id: id}}}
    values: {a: sum(stars.n), b: count(stars)}
"""

    root = built(tmp_path, text)

    assert ["__agg_0", "__agg_1"] == [each.name for each in root.aggregates]


def test_a_map_embed_is_a_map_by_text(tmp_path: Path) -> None:
    root = built(tmp_path, "    embed: {s: {many: star, on: {user_id: id}, as: map}}\n")

    kind = root.embeds[0].type
    assert isinstance(kind, Map)
    assert Atomic("string") == kind.key


def test_a_many_embed_is_a_list(tmp_path: Path) -> None:
    root = built(tmp_path, "    embed: {s: {many: star, on: {user_id: id}}}\n")

    assert isinstance(root.embeds[0].type, Array)


def test_order_and_where_see_the_nodes_own_values(tmp_path: Path) -> None:
    text = """\
    embed:
      s:
        many: star
        on: {user_id: id}
        values: {m: n + 1}
        where: m > 2 and repo_id <> 'x'
        order: [-m, at]
"""

    embed = built(tmp_path, text).embeds[0]

    assert [("m", True), ("at", False)] == [(k.expression.sql, k.descending) for k in embed.order]


def test_a_where_over_a_one_embed_is_accepted(tmp_path: Path) -> None:
    text = """\
    where: r.text is not null
    embed: {r: {one: repo, on: {owner_id: id}, fields: [text], hidden: true}}
"""

    root = built(tmp_path, text)

    assert root.where is not None
    assert frozenset({"r"}) == root.where.references


def test_an_awkward_name_is_quoted(tmp_path: Path) -> None:
    embed = "    embed: {r: {one: repo, on: {owner_id: id}, fields: [first name]}}\n"

    root = built(tmp_path, embed)

    assert "`first name`" == root.embeds[0].fields[0].expression.sql


def test_a_name_with_a_letter_beyond_ascii_is_quoted(tmp_path: Path) -> None:
    text = RELATIONS.replace("first name", "größe")
    embed = "    embed: {r: {one: repo, on: {owner_id: id}}}\n"

    root = built(tmp_path, embed, text)

    assert "`größe`" == root.embeds[0].fields[-1].expression.sql


def test_relative_paths_of_sinks_begin_at_the_file(tmp_path: Path) -> None:
    made, _ = examined(tmp_path, "    sink: {files: {path: out}}\n")

    assert made is not None
    assert (("path", str(tmp_path / "out")),) == made.sinks[0].options


def test_a_named_sink_takes_the_options_beside_its_use(tmp_path: Path) -> None:
    text = """\
    sink: {use: lake, path: /there}
sinks: {lake: {sqlite: {path: /here, table: t}}}
"""

    made, _ = examined(tmp_path, text)

    assert made is not None
    assert ("sqlite", (("path", "/there"), ("table", "t"))) == (
        made.sinks[0].kind,
        made.sinks[0].options,
    )


@pytest.mark.parametrize(
    ("product", "problem"),
    [
        (
            "    fields: [nam]\n",
            '13:14 PLAN_UNKNOWN_FIELD relation "user" has no field "nam"',
        ),
        (
            "    fields: {x: upper(nam)}\n",
            '13:23 PLAN_UNKNOWN_COLUMN there is no column "nam" here',
        ),
        (
            "    where: name\n",
            '13:12 PLAN_TYPE_MISMATCH "where" needs a boolean, and "name" is string',
        ),
        (
            "    embed: {s: {many: stars, on: [id]}}\n",
            '13:23 PLAN_UNKNOWN_RELATION there is no relation "stars"',
        ),
        (
            "    embed: {s: {many: star, on: {usr_id: id}}}\n",
            '13:34 PLAN_UNKNOWN_FIELD relation "star" has no field "usr_id"',
        ),
        (
            "    embed: {s: {many: star, on: {user_id: idd}}}\n",
            '13:43 PLAN_UNKNOWN_FIELD relation "user" has no field "idd"',
        ),
        (
            "    embed: {s: {many: star, on: {id: user_id}}}\n",
            '13:34 PLAN_ON_SWAPPED the sides of "on" of embed "s" look swapped',
        ),
        (
            "    embed: {s: {many: star, on: {repo_id: id}}}\n",
            '13:34 PLAN_TYPE_MISMATCH "repo_id" of "star" (string) cannot equal'
            ' "id" of "user" (long)',
        ),
        (
            "    embed: {t: {many: user, on: {id: score}}}\n",
            '13:34 PLAN_TYPE_MISMATCH "id" of "user" (long) cannot equal'
            ' "score" of "user" (double)',
        ),
        (
            "    embed: {s: {many: user, on: [tags]}}\n",
            '13:34 PLAN_TYPE_MISMATCH "tags" of "user" (array<string>) cannot equal'
            ' "tags" of "user" (array<string>)',
        ),
        (
            "    embed: {s: {many: user, on: {boss_id: id}, order: [id, -tags]}}\n",
            '13:60 PLAN_ORDER "tags" of type array<string> has no order',
        ),
        (
            "    fields: [id, {id: name}]\n",
            '13:19 PLAN_DUPLICATE_OUTPUT field "id" has the name of another output',
        ),
        (
            "    fields: [id]\n    values: {id: name}\n",
            '14:14 PLAN_DUPLICATE_OUTPUT value "id" has the name of another output',
        ),
        (
            "    fields: [{s_total: id}]\n"
            "    embed: {s: {many: star, on: {user_id: id}, limit: 1, hidden: true}}\n",
            '14:13 PLAN_DUPLICATE_OUTPUT total "s_total" has the name of another output',
        ),
        (
            "    embed: {s: {many: star, on: {user_id: id}}}\n    values: {v: rate(count(s))}\n",
            '14:17 PLAN_NOT_PORTABLE_UNCHECKED the function "rate" is outside',
        ),
        ("    values: {v: rate()}\n", '13:17 PLAN_NOT_PORTABLE_UNCHECKED the function "rate" is'),
        ("    values: {v: 'null'}\n", '13:17 PLAN_TYPE_MISMATCH "v" has no type'),
        ("    sink: lake\n", '13:11 PLAN_UNKNOWN_SINK there is no sink "lake"'),
        ("    ready: [star]\n", '13:13 PLAN_UNKNOWN_RELATION product "p" does not read'),
        ("    ready: [usr]\n", '13:13 PLAN_UNKNOWN_RELATION there is no relation "usr"'),
        (
            "    group: q\n  q: {root: user}\n",
            '13:12 PLAN_GROUP group "q" has the name of a product outside it',
        ),
    ],
)
def test_a_problem_stands_at_the_exact_word(tmp_path: Path, product: str, problem: str) -> None:
    found = problems_of(tmp_path, product)

    assert any(each.startswith(problem) for each in found), found


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "key: [id]",
            "key: [id, nme]",
            '3:15 PLAN_UNKNOWN_FIELD relation "user" has no field "nme"',
        ),
        ("key: [id]", "key: [tags]", '3:11 PLAN_KEY "key" of relation "user" names "tags"'),
        ("key: [id]", "key: [id, id]", '3:10 PLAN_KEY "key" of relation "user" names "id" twice'),
        (
            "key: [id]",
            "key: [lower_name]",
            '3:11 PLAN_KEY "key" of relation "user" names the derived column "lower_name"',
        ),
        ("lower(name)", "lower(nam)", '5:32 PLAN_UNKNOWN_COLUMN there is no column "nam" here'),
        ("{lower_name:", "{name:", '5:14 PLAN_DUPLICATE_OUTPUT relation "user" has a field "name"'),
    ],
)
def test_a_relations_problem_stands_at_the_exact_word(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    found = problems_of(tmp_path, "", RELATIONS.replace(old, new, 1))

    assert any(each.startswith(problem) for each in found), found


def test_a_name_under_ready_is_not_likened_to_one_that_is_no_relation(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    product = "    embed: {s: {many: stars, on: {user_id: id}}}\n    ready: [stras]\n"
    file.write_text(RELATIONS + product, encoding="utf-8")

    _, problems, _ = examine(load_spec(file))

    assert ['Use "star".', ""] == [each.hint for each in problems]


def test_what_uses_a_broken_name_is_not_blamed(tmp_path: Path) -> None:
    text = """\
    fields: {a: upper(nam)}
    embed: {r: {one: repo, on: {owner_id: id}, fields: [txt]}}
    values: {b: length(a), c: r.txt, d: 'concat(b, c)'}
    where: c is not null
"""

    found = problems_of(tmp_path, text)

    assert [
        "13:23 PLAN_UNKNOWN_COLUMN",
        "14:57 PLAN_UNKNOWN_FIELD",
    ] == [" ".join(each.split()[:2]) for each in found]


def test_swapped_sides_are_told_the_right_way_round(tmp_path: Path) -> None:
    hint = hint_of(tmp_path, "    embed: {s: {many: star, on: {id: user_id}}}\n")

    assert "Write on: {user_id: id}." == hint


def test_a_list_over_the_childs_whole_key_is_warned_of(tmp_path: Path) -> None:
    made, warnings = examined(
        tmp_path,
        "    fields: [id]\n    embed: {s: {many: user, on: {id: boss_id}, fields: [id]}}\n",
    )

    assert made is not None
    assert ['14:34 PLAN_ON_SWAPPED the sides of "on" of embed "s" may be swapped'] == warnings


def test_a_nearest_name_is_hinted(tmp_path: Path) -> None:
    assert 'Use "star".' == hint_of(tmp_path, "    embed: {s: {many: stars, on: [id]}}\n")


def test_a_function_that_only_spark_knows_waits_for_an_analyser(tmp_path: Path) -> None:
    found = problems_of(tmp_path, "    fields: {x: soundex(name)}\n")

    assert ["13:17 PLAN_NOT_PORTABLE_UNCHECKED"] == [" ".join(each.split()[:2]) for each in found]


class EverythingIsText:
    """An analyser that gives every expression the type string."""

    def type_of(self, sql: str, scope: object) -> Atomic:
        return Atomic("string")


@pytest.mark.parametrize(
    ("solution", "warned", "refused"),
    [("spark-state", ["PLAN_NOT_PORTABLE"], []), ("kv", [], ["PLAN_NOT_PORTABLE"])],
)
def test_what_only_spark_evaluates_is_a_warning_in_spark_state_alone(
    tmp_path: Path, solution: str, warned: list[str], refused: list[str]
) -> None:
    file = tmp_path / "joinery.yaml"
    text = RELATIONS + f"    fields: {{x: soundex(name)}}\n    solution: {solution}\n"
    file.write_text(text, encoding="utf-8")

    _, problems, warnings = examine(load_spec(file), EverythingIsText())

    assert (refused, warned) == ([e.code for e in problems], [e.code for e in warnings])


def test_a_warning_of_an_aggregate_names_what_only_spark_evaluates(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    product = "    values: {x: count(*), y: max(soundex(name))}\n"
    text = RELATIONS.replace("root: user", "aggregate: user") + product
    file.write_text(text, encoding="utf-8")

    _, _, warnings = examine(load_spec(file), EverythingIsText())

    assert ['"soundex(name)" runs only in the solution spark-state'] == [
        each.message for each in warnings
    ]


def test_sources_are_named_defaulted_or_alone(tmp_path: Path) -> None:
    relations = """\
sources: {a: {files: {path: a}}, b: {files: {path: b}}}
relations:
  x: {key: [id], fields: {id: long}, source: c}
  y: {key: [id], fields: {id: long}}
products: {p: {root: x}}
"""

    found = problems_of(tmp_path, "", relations)

    assert [
        '3:46 PLAN_UNKNOWN_SOURCE there is no source "c"',
        '4:3 PLAN_UNKNOWN_SOURCE relation "y" names no source',
    ] == found
    alone = relations.replace(", b: {files: {path: b}}", "").replace(", source: c", "")
    assert "a" == built(tmp_path, "", alone).relation.source


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("n", []),
        ("at", []),
        ("undeclared", []),
        (
            "repo_id",
            [
                '9:15 PLAN_TYPE_MISMATCH "position" of relation "star" needs a whole number or a'
                " timestamp, not string"
            ],
        ),
        (
            "later",
            ['9:15 PLAN_KEY "position" of relation "star" names the derived column "later"'],
        ),
    ],
)
def test_a_position_is_a_column_of_the_messages(
    tmp_path: Path, position: str, expected: list[str]
) -> None:
    star = f"at: timestamp, n: int}}\n    position: {position}\n    derive: {{later: n + 1}}\n"
    text = RELATIONS.replace("at: timestamp, n: int}\n", star)

    assert expected == examined(tmp_path, "", text)[1]
