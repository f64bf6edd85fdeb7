"""A kernel program shows every node and every arrow, as text, as a picture and as a chart."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

import joinery as jn
from joinery.plan.product import Product
from joinery.project.declare_embed import many
from joinery.solutions.spark_state.explain import explain_query, program_mermaid, program_svg
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.program import KernelProgram
from joinery.solutions.spark_state.render import SINKS, arrows, keys

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def product() -> Product:
    """A document whose Fold hears of a Retract two levels before."""
    user = jn.relation("user", key=["id"], fields={"id": "long", "name": "string"})
    star = jn.relation("star", key=["id"], fields={"id": "long", "who": "string", "repo": "long"})
    repo = jn.relation("repo", key=["id"], fields={"id": "long", "title": "string"})
    stars = many(star, on={"who": "name"}, fields={"title": "r.title"})
    stars = stars.embed_one("r", repo, on={"id": "repo"}, hidden=True)
    made = jn.document("profile", user, where="name < '\"&'").embed_many("stars", stars)
    return jn.Project(products=[made]).products["profile"].plan


@pytest.fixture(scope="module")
def program(product: Product) -> KernelProgram:
    return lower([product])


def test_every_arrow_leads_to_a_later_level(program: KernelProgram) -> None:
    steps = [
        (node.level, program.nodes[arrow.target].level)
        for index, node in enumerate(program.nodes)
        for arrow in arrows(program, index)
        if arrow.target != SINKS
    ]

    assert steps
    assert all(source < target for source, target in steps)


def test_every_node_is_keyed_by_something(program: KernelProgram) -> None:
    assert len(program.nodes) == len([key for key in keys(program) if key])


def test_the_picture_has_a_box_for_each_relation_node_and_end(program: KernelProgram) -> None:
    picture = ET.fromstring(program_svg(program))

    boxes = picture.findall(f".//{SVG}rect")
    texts = [each.text for each in picture.findall(f".//{SVG}text")]
    assert len(program.relations) + len(program.nodes) + 1 == len(boxes)
    assert {"changes", "level 1", "documents", "Fold profile", "star"} <= set(texts)


def test_boxes_of_the_picture_do_not_overlap(program: KernelProgram) -> None:
    picture = ET.fromstring(program_svg(program))
    boxes = [
        [float(box.attrib[name]) for name in ("x", "y", "width", "height")]
        for box in picture.findall(f".//{SVG}rect")
    ]

    overlapping = [
        (one, other)
        for place, one in enumerate(boxes)
        for other in boxes[place + 1 :]
        if one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    ]

    assert [] == overlapping


def test_the_chart_has_a_level_a_subgraph(program: KernelProgram) -> None:
    lines = [line.strip() for line in program_mermaid(program)]

    assert program.levels == len([line for line in lines if line.startswith("subgraph level")])
    assert lines.count("end") == program.levels + 1
    boxes = [line for line in lines if line.startswith("k") and '["' in line]
    assert len(program.nodes) == len(boxes)


def test_another_solution_has_no_kernel_program(product: Product) -> None:
    assert () == explain_query([replace(product, solution="reference")])
