"""Whether the cost that a run tells of each product is what the product takes.

`python -m bench.fleet.costs [--changes 400000] [--products 20]` runs the products in one group,
then each of them alone over the same records. What the group tells of a product (`costs` of its
batch lines) is compared with the processor time of its own run, less that of a run that reads
nothing; and all that it tells, with the processor time of the group's processes.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from collections import Counter
from collections.abc import Sequence

from bench.fleet.run import Bench, Ran, emptied, say
from bench.fleet.shape import make_fleet


def costs_s(ran: Ran) -> dict[str, float]:
    """Return what a run tells of each product, in seconds of its tasks."""
    found: Counter[str] = Counter()
    for each in ran.batches:
        found.update({name: told["us"] for name, told in each["costs"].items()})
    return {name: us / 1e6 for name, us in found.items()}


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's coefficient.

    Example:
        >>> rank_correlation([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
        0.5
    """
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[int]:
    return [sorted(values).index(each) for each in values]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.costs", description=__doc__)
    parser.add_argument("--changes", type=int, default=400_000)
    parser.add_argument("--relations", type=int, default=40)
    parser.add_argument("--products", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def main() -> None:
    """Measure."""
    chosen = arguments()
    fleet = make_fleet(chosen.seed, relations=chosen.relations, products=chosen.products)
    with emptied(fleet, topics=False) as log:
        bench = Bench(fleet, log, changes=chosen.changes, settings=())
        nothing = bench.declare("nothing", fleet.alone(fleet.products[0]))
        idle_s = bench.once(nothing).measured.cpu_seconds
        bench.write()
        together = bench.once(bench.declare("together", fleet))
        told = costs_s(together)
        whole_s = together.measured.cpu_seconds
        say(
            f"together: {whole_s:.1f} s of processor time, {idle_s:.1f} s of a run that reads"
            f" nothing; {sum(told.values()):.1f} s told of products,"
            f" {sum(told.values()) / whole_s:.0%} of all,"
            f" {sum(told.values()) / (whole_s - idle_s):.0%} of what reading added"
        )
        took, own = {}, {}
        for product in fleet.products:
            folder = bench.declare("alone", fleet.alone(product))
            ran = bench.once(folder)
            took[product.name] = ran.measured.cpu_seconds - idle_s
            own[product.name] = sum(costs_s(ran).values())
            shutil.rmtree(folder)
            say(
                f"{product.name}: told {told[product.name]:.2f} s; alone {own[product.name]:.2f} s"
                f" told, {took[product.name]:.2f} s of processor time beyond {idle_s:.1f} s"
            )
        names = sorted(told)
        say(
            "rank correlation of what the group tells, with what each alone took:"
            f" {rank_correlation([told[x] for x in names], [took[x] for x in names]):.2f};"
            f" with what each alone tells:"
            f" {rank_correlation([told[x] for x in names], [own[x] for x in names]):.2f}"
        )


if __name__ == "__main__":
    main()
