"""What a query's nodes keep, as a table and by product."""

from __future__ import annotations

from joinery.app.state_sizes import StateSizes
from joinery.solutions.spark_state.node_state import NodeState

SIZES = StateSizes(
    query="shop",
    batch=7,
    nodes=(
        NodeState("Retract order", {"card": 0.25, "list": 0.75}, 1200, 0, 4000),
        NodeState("Fold card", {"card": 1.0}, 3, 2, 2000),
        NodeState("Fold gone", {}, 0, 0, 0),
        NodeState("", {}, 2, 0, 4000),
    ),
)


def test_what_products_have_in_common_is_divided_among_them() -> None:
    assert [("card", 3000), ("list", 3000)] == sorted(SIZES.products().items())
    assert 10_000 == SIZES.bytes


def test_its_text_is_a_table_of_nodes_and_one_of_products() -> None:
    assert [
        "shop after batch 7: 10 kB of state",
        "  node                           keys  pages  bytes  share",
        "  Retract order, of 2 products  1,200      0   4 kB    40%",
        "  Fold card                         3      2   2 kB    20%",
        "  (notes of the query itself)       2      0   4 kB    40%",
        "  product  bytes  share",
        "  card      3 kB    30%",
        "  list      3 kB    30%",
    ] == str(SIZES).splitlines()


def test_the_products_of_a_query_of_one_are_not_told_apart() -> None:
    alone = StateSizes("card", 0, (NodeState("Fold card", {"card": 1.0}, 1, 0, 10),))

    assert 3 == len(str(alone).splitlines())
