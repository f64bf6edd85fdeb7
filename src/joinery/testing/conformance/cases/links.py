"""Cases about links, two roles of one relation, a relation under itself, shared columns."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_LINK = """
relations:
  user: {key: [email], fields: {email: string, name: string}}
  star: {key: [name, repo], fields: {name: string, repo: string}}
  repo: {key: [id], fields: {id: string, about: string}}
products:
  p:
    root: user
    fields: [name]
    embed:
      starred:
        many: star
        on: [name]
        fields: [repo, {about: r.about}]
        embed:
          r: {one: repo, on: {id: repo}, fields: [about], hidden: true}
"""

_TWO_ROLES = """
relations:
  user: {key: [id], fields: {id: long}}
  transfer: {key: [id], fields: {id: long, payer: long, payee: long}}
products:
  p:
    root: user
    fields: []
    embed:
      sent: {many: transfer, on: {payer: id}, fields: [id]}
      received: {many: transfer, on: {payee: id}, fields: [id]}
"""

_REPORTS = """
relations:
  employee: {key: [id], fields: {id: long, name: string, manager_id: long}}
products:
  p:
    root: employee
    fields: [name]
    embed:
      manager: {one: employee, on: {id: manager_id}, fields: [name]}
      reports: {many: employee, on: {manager_id: id}, fields: [name]}
"""

_SHARED = """
relations:
  team: {key: [id], fields: {id: long, area: string, code: int}}
  member: {key: [name], fields: {name: string, area: string, team: long}}
  tool: {key: [id], fields: {id: long, place: string, team: long, cost: long}}
products:
  p:
    root: team
    fields: []
    embed:
      members: {many: member, on: {area: area, team: code}, fields: [name]}
      tools:
        {many: tool, on: {team: code, place: area}, fields: [id, cost], order: [-cost], limit: 1}
    values: {cost: sum(tools.cost)}
"""


def _team(members: list[str], tool: tuple[int, int] | None, *costs: int) -> dict[str, object]:
    """A document of `_SHARED`: the dearest tool, by id and cost, and the costs of all."""
    return {
        "members": [{"name": each} for each in members],
        "tools": [{"id": tool[0], "cost": tool[1]}] if tool else [],
        "tools_total": len(costs),
        "cost": sum(costs) if costs else None,
    }


CASES = (
    case(
        "a link embeds the linked row's fields, and null while the row is not there",
        _LINK,
        when(insert("star", name="a", repo="r")),
        when(
            insert("user", email="e", name="a"),
            then=[upsert("e", {"name": "a", "starred": [{"repo": "r", "about": None}]})],
        ),
        when(
            insert("repo", id="r", about="x"),
            then=[upsert("e", {"name": "a", "starred": [{"repo": "r", "about": "x"}]})],
        ),
        when(
            delete("repo", id="r"),
            then=[upsert("e", {"name": "a", "starred": [{"repo": "r", "about": None}]})],
        ),
    ),
    case(
        "a linked row's change reaches every document that links to it",
        _LINK,
        when(
            insert("user", email="e", name="a"),
            insert("user", email="f", name="b"),
            insert("star", name="a", repo="r"),
            insert("star", name="b", repo="r"),
            insert("star", name="b", repo="q"),
            insert("repo", id="r", about="x"),
            then=[
                upsert("e", {"name": "a", "starred": [{"repo": "r", "about": "x"}]}),
                upsert(
                    "f",
                    {
                        "name": "b",
                        "starred": [{"repo": "q", "about": None}, {"repo": "r", "about": "x"}],
                    },
                ),
            ],
        ),
        when(
            update("repo", id="r", about="y"),
            then=[
                upsert("e", {"name": "a", "starred": [{"repo": "r", "about": "y"}]}),
                upsert(
                    "f",
                    {
                        "name": "b",
                        "starred": [{"repo": "q", "about": None}, {"repo": "r", "about": "y"}],
                    },
                ),
            ],
        ),
    ),
    case(
        "a link that is removed takes its row out of one document alone",
        _LINK,
        when(
            insert("repo", id="r", about="x"),
            insert("user", email="e", name="a"),
            insert("user", email="f", name="b"),
            insert("star", name="a", repo="r"),
            insert("star", name="b", repo="r"),
            then=[
                upsert("e", {"name": "a", "starred": [{"repo": "r", "about": "x"}]}),
                upsert("f", {"name": "b", "starred": [{"repo": "r", "about": "x"}]}),
            ],
        ),
        when(delete("star", name="a", repo="r"), then=[upsert("e", {"name": "a", "starred": []})]),
        when(
            update("repo", id="r", about="y"),
            then=[upsert("f", {"name": "b", "starred": [{"repo": "r", "about": "y"}]})],
        ),
    ),
    case(
        "one relation in two roles of one document",
        _TWO_ROLES,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("transfer", id=10, payer=1, payee=2),
            insert("transfer", id=11, payer=1, payee=1),
            then=[
                upsert(1, {"sent": [{"id": 10}, {"id": 11}], "received": [{"id": 11}]}),
                upsert(2, {"sent": [], "received": [{"id": 10}]}),
            ],
        ),
        when(
            update("transfer", id=10, payer=2, payee=1),
            then=[
                upsert(1, {"sent": [{"id": 11}], "received": [{"id": 10}, {"id": 11}]}),
                upsert(2, {"sent": [{"id": 10}], "received": []}),
            ],
        ),
    ),
    case(
        "a relation embeds itself, upwards and downwards",
        _REPORTS,
        when(
            insert("employee", id=2, name="b", manager_id=1),
            then=[upsert(2, {"name": "b", "manager": None, "reports": []})],
        ),
        when(
            insert("employee", id=1, name="a", manager_id=1),
            then=[
                upsert(
                    1,
                    {
                        "name": "a",
                        "manager": {"name": "a"},
                        "reports": [{"name": "a"}, {"name": "b"}],
                    },
                ),
                upsert(2, {"name": "b", "manager": {"name": "a"}, "reports": []}),
            ],
        ),
        when(
            update("employee", id=2, name="c"),
            then=[
                upsert(
                    1,
                    {
                        "name": "a",
                        "manager": {"name": "a"},
                        "reports": [{"name": "a"}, {"name": "c"}],
                    },
                ),
                upsert(2, {"name": "c", "manager": {"name": "a"}, "reports": []}),
            ],
        ),
        when(
            delete("employee", id=1),
            then=[gone(1), upsert(2, {"name": "c", "manager": None, "reports": []})],
        ),
    ),
    case(
        "embeds on the same columns each keep their own children, whatever the order of the pairs",
        _SHARED,
        when(
            insert("tool", id=1, place="x", team=7, cost=5),
            insert("member", name="ann", area="x", team=7),
            insert("team", id=1, area="x", code=7),
            insert("team", id=2, area="x", code=7),
            then=[
                upsert(1, _team(["ann"], (1, 5), 5)),
                upsert(2, _team(["ann"], (1, 5), 5)),
            ],
        ),
        when(
            insert("tool", id=2, place="x", team=7, cost=3),
            then=[
                upsert(1, _team(["ann"], (1, 5), 5, 3)),
                upsert(2, _team(["ann"], (1, 5), 5, 3)),
            ],
        ),
        when(
            delete("tool", id=1),
            insert("member", name="bob", area="x", team=7),
            then=[
                upsert(1, _team(["ann", "bob"], (2, 3), 3)),
                upsert(2, _team(["ann", "bob"], (2, 3), 3)),
            ],
        ),
        when(
            update("team", id=2, area="y", code=7),
            insert("member", name="eve", area="y", team=7),
            then=[upsert(2, _team(["eve"], None))],
        ),
        when(
            update("team", id=1, area=None, code=7),
            then=[upsert(1, _team([], None))],
        ),
        when(
            update("team", id=1, area="x", code=7),
            delete("member", name="ann"),
            then=[upsert(1, _team(["bob"], (2, 3), 3))],
        ),
    ),
)
