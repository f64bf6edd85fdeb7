"""`solution: auto`: which solution a query gets, and why, in a sentence.

A checkpoint that has begun decides; else real-time mode; else what `joinery solutions` last
measured, by the price of a million changes; else `spark-state`. Invariant: a query keeps its
solution for as long as it keeps its checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from joinery.files import write_whole
from joinery.place.place import Place
from joinery.project.kind import SolutionSpec
from joinery.project.kinds import AUTO
from joinery.project.option import options
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.solutions.spark_state.fingerprint import SPARK_STATE, standing_solution

FILE_NAME = "_solutions.json"


@options
class AutoOptions:
    """`auto`; what is chosen takes the options that `run.solutions` has for it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one solution cost when it was measured.

    Attributes:
        solution: Its name.
        rate: Changes a second.
        dollars: Of a million changes.
        at: When, in ISO 8601.
    """

    solution: str
    rate: float
    dollars: float
    at: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The solution of a query, and why."""

    query: str
    solution: str
    reason: str

    def __str__(self) -> str:
        return f'"{self.query}" runs on {self.solution}: {self.reason}'


def keep_figures(checkpoint: Place, figures: Sequence[Figures]) -> None:
    """Remember what was measured, for the next choice."""
    text = json.dumps([asdict(each) for each in figures])
    write_whole(checkpoint / FILE_NAME, f"{text}\n", synced=False)


def choose(spec: ProjectSpec) -> tuple[ProjectSpec, tuple[Choice, ...]]:
    """Return the project with a solution in place of each `auto`, and the choices made."""
    queries = dict.fromkeys(_query(each) for each in spec.products if each.solution.name == AUTO)
    choices = {query: _choice(spec, query) for query in queries}
    products = tuple(_chosen(each, choices) for each in spec.products)
    return replace(spec, products=products), tuple(choices.values())


def _chosen(product: ProductSpec, choices: Mapping[str, Choice]) -> ProductSpec:
    if product.solution.name != AUTO:
        return product
    return replace(product, solution=SolutionSpec(choices[_query(product)].solution))


def _query(product: ProductSpec) -> str:
    return product.group or product.name


def _choice(spec: ProjectSpec, query: str) -> Choice:
    root = spec.checkpoint
    standing = standing_solution(root / query)
    if standing is not None:
        return Choice(query, standing, "its checkpoint was created with it")
    if spec.run.real_time:
        return Choice(query, SPARK_STATE, "no other has real-time mode")
    figures = sorted(_figures(root / FILE_NAME), key=lambda each: each.dollars)
    if not figures:
        reason = "nothing has been measured yet; `joinery solutions` measures the others"
        return Choice(query, SPARK_STATE, reason)
    return Choice(query, figures[0].solution, _told(figures))


def _told(figures: Sequence[Figures]) -> str:
    prices = ", ".join(
        f"{each.solution} ${each.dollars:.3f} at {each.rate:,.0f} changes/s" for each in figures
    )
    return f"the cheapest of what was measured at {figures[0].at} for a million changes: {prices}"


def _figures(file: Place) -> list[Figures]:
    try:
        return [Figures(**each) for each in json.loads(file.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []
